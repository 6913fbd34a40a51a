"""The monitor for human eyes: everything where it belongs, the gaze marked where it falls."""

import re

import numpy as np
import pytest
import torch

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import FRAME_COLOUR, MONITOR_HALF_ANGLE, OpticsConfig
from gnomon.lab.tasks import Bisection, ReadySetGo
from gnomon.lab.view import MARGIN, View, draw_monitor, gaze_points, mark_gaze

PIXELS = 600  # of the view; the monitor is then 500 wide, with a margin of 50


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory(ReadySetGo(), OpticsConfig(retina=(4, 4)))


def at(view: np.ndarray, x: float, y: float) -> tuple[int, ...]:
    """The colour of a view at a point in monitor units."""
    column, row = (int((value + MARGIN) / (1 + 2 * MARGIN) * len(view)) for value in (x, y))
    return tuple(view[row, column].tolist())


def test_monitor_is_drawn_with_a_margin():
    task = ReadySetGo()
    view = draw_monitor(task.pictures()[15], task.background, PIXELS)
    assert view.shape == (PIXELS, PIXELS, 3)
    assert at(view, 0.4, 0.25) == task.ready_colour
    assert at(view, 0.5, 0.25) == task.set_colour
    assert at(view, 0.6, 0.25) == task.go_colour
    assert at(view, 0.5, 0.5) == task.fixation_colour
    assert at(view, 0.1, 0.9) == task.background
    assert at(view, -0.05, 0.5) == at(view, 0.5, 1.05) == FRAME_COLOUR


def test_gaze_points_agree_with_the_lattice_and_go_on_beyond_the_monitor(laboratory: Laboratory):
    lattice = laboratory.lattice
    points = gaze_points(lattice, torch.arange(lattice.count))
    on = lattice.on_monitor.numpy()
    np.testing.assert_allclose(points[on], lattice.points.numpy()[on], atol=1e-12)
    assert (np.abs(points[~on] - 0.5).max(1) > 0.5).all()
    edge = np.tan(np.radians(lattice.reach * lattice.step_angle)) / np.tan(np.radians(MONITOR_HALF_ANGLE)) / 2
    np.testing.assert_allclose(points[lattice.index(lattice.reach, 0)], [0.5 + edge, 0.5])
    assert points[lattice.index(0, lattice.reach)][1] < 0, "up is towards y = 0"


@pytest.mark.parametrize(("x", "y"), [(0.2, 0.7), (0.9, 0.1)])
def test_the_gaze_is_marked_where_it_falls(x: float, y: float):
    view = draw_monitor((), (0, 0, 0), PIXELS)
    mark_gaze(view, np.array([x, y]))
    assert at(view, x, y) == (255, 255, 255), "a dot"
    assert at(view, x + 0.068, y) == at(view, x, y - 0.068) == (255, 255, 255), "within a ring"
    assert at(view, x + 0.035, y) == (0, 0, 0), "that leaves what is looked at in sight"
    bright = np.argwhere(view.sum(2) > 3 * 200).mean(0)
    np.testing.assert_allclose(bright / PIXELS * (1 + 2 * MARGIN) - MARGIN, [y, x], atol=0.005)


def test_a_gaze_beyond_the_margin_is_marked_at_its_edge():
    view = draw_monitor((), (0, 0, 0), PIXELS)
    mark_gaze(view, np.array([3.0, 0.5]))
    assert (view[295:305, -16:] == 255).all(2).any()


def test_view_shows_what_the_observation_says(laboratory: Laboratory):
    view = View(laboratory)
    laboratory.trials.picture[:] = 3  # the cross and Go
    laboratory.gaze[:] = laboratory.lattice.index(-2, 5)
    observation = int(laboratory.observation)
    image = view.image(observation, PIXELS)
    assert at(image, 0.63, 0.22) == ReadySetGo().go_colour
    x, y = laboratory.lattice.points[laboratory.gaze][0].tolist()
    assert at(image, x, y) == (255, 255, 255)
    assert view.words(observation) == "fixation, go; gaze 4.2 deg left, 10.6 deg up"


def test_text_is_the_picture_in_half_lines(laboratory: Laboratory):
    laboratory.trials.picture[:] = 3
    laboratory.gaze[:] = laboratory.lattice.index(0, -8)
    *lines, words = View(laboratory).text(int(laboratory.observation)).split("\n")
    plain = [re.sub(r"\033\[[0-9;]*m", "", line) for line in lines]
    assert plain == ["▀" * 60] * 30
    assert words.startswith("fixation, go; gaze 0.0 deg right, 16.9 deg down")
    # Go's centre is (0.6, 0.25): column 60 * (0.6 + 0.1) / 1.2 = 35, row 17.5, so the lower half of line 8.
    assert re.findall(r"\033\[([0-9;]*)m▀", lines[8])[35].endswith("48;2;10;200;10")


def test_words_do_not_give_the_answer_away():
    laboratory = Laboratory(Bisection(), OpticsConfig(retina=(4, 4)))
    laboratory.trials.picture[:] = 10
    assert View(laboratory).words(int(laboratory.observation)).startswith("target, target; gaze")
