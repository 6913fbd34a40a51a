import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.lab.screen import Box, Widget, check_picture, hexadecimal, paint

FIXATION = Widget("fixation", Box.around(0.5, 0.5, 0.1), (50, 50, 50), "cross")
READY = Widget("ready", Box(0.35, 0.2, 0.1, 0.1), (255, 10, 10))
SET = Widget("set", Box(0.45, 0.2, 0.1, 0.1), (255, 255, 10))
GO = Widget("go", Box(0.55, 0.2, 0.1, 0.1), (10, 200, 10))

quarters = st.integers(0, 8).map(lambda k: k / 4)
boxes = st.builds(Box, quarters, quarters, quarters.map(lambda w: w + 0.25), quarters.map(lambda h: h + 0.25))


def test_corners_of_a_box():
    box = Box(0.25, 0.5, 0.125, 0.25)
    assert (box.right, box.bottom) == (0.375, 0.75)
    assert Box.around(0.5, 0.25, 0.25) == Box(0.375, 0.125, 0.25, 0.25)


@pytest.mark.parametrize(
    ("x", "y", "inside"),
    [
        (0.3, 0.6, True),
        (0.25, 0.5, True),
        (0.375, 0.75, True),
        (0.2499, 0.6, False),
        (0.3751, 0.6, False),
        (0.3, 0.4999, False),
        (0.3, 0.7501, False),
    ],
)
def test_edges_count_as_inside_for_floats_and_tensors(x: float, y: float, inside: bool):
    box = Box(0.25, 0.5, 0.125, 0.25)
    assert box.contains(x, y) is inside
    two = box.contains(torch.tensor([x, 9.0]).double(), torch.tensor([y, 9.0]).double())
    assert two.tolist() == [inside, False]


@settings(deadline=None, derandomize=True)
@given(boxes, boxes)
def test_boxes_overlap_when_they_share_the_centre_of_a_grid_cell(one: Box, other: Box):
    cells = [(i / 4 + 0.125, j / 4 + 0.125) for i in range(17) for j in range(17)]
    shared = any(one.contains(x, y) and other.contains(x, y) for x, y in cells)
    assert one.overlaps(other) is shared
    assert other.overlaps(one) is shared


def test_touching_edges_do_not_overlap_whatever_the_last_bits():
    for gap in (-1e-10, 0.0, 1e-10):
        assert not Box(0.35, 0.2, 0.1, 0.1).overlaps(Box(0.45 + gap, 0.2, 0.1, 0.1))
        assert not Box(0.2, 0.35, 0.1, 0.1).overlaps(Box(0.2, 0.45 + gap, 0.1, 0.1))
    assert Box(0.35, 0.2, 0.1, 0.1).overlaps(Box(0.45 - 1e-6, 0.2, 0.1, 0.1))


def test_a_box_without_area_is_refused():
    with pytest.raises(ValueError, match="positive width and height"):
        Box(0.1, 0.1, 0.0, 0.1)


def test_colours_are_written_as_on_web_pages():
    assert hexadecimal((255, 10, 0)) == "#ff0a00"


def test_the_pictures_of_ready_set_go_are_legal():
    check_picture((FIXATION, READY, SET, GO))
    check_picture((Widget("all", Box(0.0, 0.0, 1.0, 1.0), (0, 0, 255)),))


def test_overlap_is_refused_by_name_and_box():
    late = Widget("late", Box(0.5, 0.25, 0.1, 0.1), (1, 2, 3))
    with pytest.raises(ValueError, match=r"'go' at Box\(left=0.55.*'late' at Box\(left=0.5,.*overlap"):
        check_picture((FIXATION, GO, late))


@pytest.mark.parametrize("box", [Box(0.95, 0, 0.1, 0.1), Box(0, 0.95, 0.1, 0.1), Box(-0.01, 0, 0.1, 0.1)])
def test_a_widget_off_the_monitor_is_refused(box: Box):
    with pytest.raises(ValueError, match=r"'stray' at Box.*leaves the monitor"):
        check_picture((Widget("stray", box, (1, 2, 3)),))


@pytest.mark.parametrize("colour", [(256, 0, 0), (0, -1, 0), (0, 0, 0.5), (True, 0, 0), (1, 2)])
def test_a_colour_out_of_range_is_refused(colour: tuple):
    with pytest.raises(ValueError, match="colour of widget 'odd'"):
        check_picture((Widget("odd", Box(0.1, 0.1, 0.1, 0.1), colour),))


def test_paint_draws_patch_and_cross_where_they_belong():
    image = paint((FIXATION, GO), (1, 2, 3), 100)
    assert image.shape == (100, 100, 3)
    assert image.dtype == np.uint8
    expected = np.empty_like(image)
    expected[:] = (1, 2, 3)
    expected[20:30, 55:65] = (10, 200, 10)
    expected[45:55, 49:51] = 50
    expected[49:51, 45:55] = 50
    np.testing.assert_array_equal(image, expected)
