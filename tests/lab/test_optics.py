import dataclasses
import math
from typing import Any

import pytest
import torch

from gnomon.lab.optics import (
    MONITOR_HALF_ANGLE,
    GazeLattice,
    Optics,
    OpticsConfig,
    monitor_points,
    wall_colour,
)
from gnomon.lab.screen import Box, Picture, Widget

FIXATION = Widget("fixation", Box.around(0.5, 0.5, 0.1), (50, 50, 50), "cross")
READY = Widget("ready", Box(0.35, 0.2, 0.1, 0.1), (255, 10, 10))
SET = Widget("set", Box(0.45, 0.2, 0.1, 0.1), (255, 255, 10))
GO = Widget("go", Box(0.55, 0.2, 0.1, 0.1), (10, 200, 10))
BLANK: Picture = ()
PICTURES: list[Picture] = [BLANK, (FIXATION,), (FIXATION, READY, SET, GO), (GO,)]

LATTICE = GazeLattice(OpticsConfig())


# The lattice


def test_default_lattice_reaches_36_degrees_in_steps_of_20_engine_pixels():
    assert (LATTICE.side, LATTICE.count) == (35, 1225)  # 17 steps of 2.112 deg are 35.904 deg
    assert GazeLattice(OpticsConfig(gaze_limit=10 * 20 * 0.1056)).side == 21


def test_index_grows_to_the_right_and_upwards():
    yaw, pitch = LATTICE.angles(torch.tensor([0, 1, 35, 612, 1224]))
    torch.testing.assert_close(yaw, torch.tensor([-17, -16, -17, 0, 17]).double() * 2.112)
    torch.testing.assert_close(pitch, torch.tensor([-17, -17, -16, 0, 17]).double() * 2.112)
    assert [LATTICE.index(-17, -17), LATTICE.index(-16, -17), LATTICE.index(-17, -16)] == [0, 1, 35]
    everything = torch.arange(LATTICE.count)
    i, j = (torch.round(angle / 2.112).long() for angle in LATTICE.angles(everything))
    assert torch.equal(LATTICE.index(i, j), everything)


def test_gaze_falls_where_trigonometry_says():
    half = math.tan(math.radians(31.7))
    for i, j in [(0, 0), (3, 0), (0, 4), (-5, 6), (14, -9)]:
        yaw, pitch = math.radians(2.112 * i), math.radians(2.112 * j)
        forward = math.cos(yaw) * math.cos(pitch)
        x = 0.5 + 0.5 * math.sin(yaw) * math.cos(pitch) / forward / half
        y = 0.5 - 0.5 * math.sin(pitch) / forward / half
        assert LATTICE.points[LATTICE.index(i, j)].tolist() == pytest.approx([x, y], abs=1e-12)
    assert LATTICE.points[LATTICE.index(0, 0)].tolist() == [0.5, 0.5]


def test_the_edge_of_the_monitor_is_at_31_7_degrees():
    angle = torch.tensor(math.radians(MONITOR_HALF_ANGLE), dtype=torch.float64)
    zero = torch.zeros_like(angle)
    assert [float(v) for v in monitor_points(angle.sin(), zero, angle.cos())] == pytest.approx([1.0, 0.5])
    assert [float(v) for v in monitor_points(zero, angle.sin(), angle.cos())] == pytest.approx([0.5, 0.0])
    assert all(v.isnan() for v in monitor_points(zero, zero, -angle))

    # 15 steps are 31.68 deg, 16 are 33.79 deg; off the axis the edge is reached sooner in pitch.
    on = [bool(LATTICE.on_monitor[LATTICE.index(i, j)]) for i, j in [(15, 0), (16, 0), (0, -15), (0, -16)]]
    assert on == [True, False, True, False]
    assert not LATTICE.on_monitor[LATTICE.index(15, 15)]
    assert LATTICE.points[LATTICE.index(-16, 0)].tolist() == [-1.0, -1.0]
    assert torch.equal(LATTICE.on_monitor, LATTICE.points[:, 0] >= 0)


def test_inside_agrees_with_the_box_for_every_gaze():
    for box in (GO.box, Box.around(0.5, 0.5, 0.05), Box(0.0, 0.0, 1.0, 1.0), Box(-2.0, -2.0, 4.0, 4.0)):
        expected = [x >= 0 and box.contains(x, y) for x, y in LATTICE.points.tolist()]
        assert LATTICE.inside(box).tolist() == expected
    assert int(LATTICE.inside(GO.box).sum()) > 3


def test_nearest_gaze_is_the_nearest_on_the_monitor():
    for x, y in [(0.5, 0.5), (0.6, 0.25), (0.01, 0.99), (1.0, 0.0), (0.333, 0.777)]:
        distance = [math.hypot(x - u, y - v) if u >= 0 else math.inf for u, v in LATTICE.points.tolist()]
        assert distance[LATTICE.nearest(x, y)] == min(distance)
    assert LATTICE.inside(GO.box)[LATTICE.nearest(0.6, 0.25)]
    with pytest.raises(ValueError, match=r"\(1.2, 0.5\) is off the monitor"):
        LATTICE.nearest(1.2, 0.5)


def test_episodes_start_within_22_5_degrees():
    assert LATTICE.start_columns.tolist() == list(range(-10, 11))  # 21.12 deg; 11 steps would be 23.2


# The retina


def slow_image(config: OpticsConfig, picture: Picture, gaze: int, background: tuple[int, int, int]) -> list:
    """One ray at a time, with rotation matrices: [height][width][3]."""
    yaw, pitch = (math.radians(float(angle)) for angle in GazeLattice(config).angles(gaze))

    def turned(right: float, up: float) -> tuple[float, float, float]:
        x, y, z = right, up, 1.0
        y, z = y * math.cos(pitch) + z * math.sin(pitch), z * math.cos(pitch) - y * math.sin(pitch)
        x, z = x * math.cos(yaw) + z * math.sin(yaw), z * math.cos(yaw) - x * math.sin(yaw)
        return x, y, z

    def colour_of(ray: tuple[float, float, float], wall: list[int]) -> tuple[int, int, int] | list[int]:
        x, y, z = ray
        if z <= 0:
            return wall
        u = 0.5 + 0.5 * x / z / math.tan(math.radians(31.7))
        v = 0.5 - 0.5 * y / z / math.tan(math.radians(31.7))
        for widget in picture:
            across = (u - widget.box.left) / widget.box.width
            down = (v - widget.box.top) / widget.box.height
            on_bar = 0.4 <= across < 0.6 or 0.4 <= down < 0.6
            if 0 <= across < 1 and 0 <= down < 1 and (widget.shape == "square" or on_bar):
                return widget.colour
        if 0 <= u < 1 and 0 <= v < 1:
            return background
        return (100, 100, 100) if -0.03 <= u < 1.03 and -0.03 <= v < 1.03 else wall

    height, width = config.retina
    pixel = 2 * math.tan(math.radians(config.field_of_view / 2)) / width
    image = []
    for row in range(height):
        image.append([])
        for column in range(width):
            centre = turned((column + 0.5 - width / 2) * pixel, (height / 2 - row - 0.5) * pixel)
            wall = wall_colour(*torch.tensor(centre, dtype=torch.float64)).tolist()
            total = [0, 0, 0]
            for a in range(4):
                for b in range(4):
                    right = (column + (a + 0.5) / 4 - width / 2) * pixel
                    up = (height / 2 - row - (b + 0.5) / 4) * pixel
                    for channel, value in enumerate(colour_of(turned(right, up), wall)):
                        total[channel] += value
            image[-1].append([(value + 8) // 16 for value in total])
    return image


@pytest.mark.parametrize("background", [(0, 0, 0), (200, 30, 90)])
@pytest.mark.parametrize("config", [OpticsConfig(), OpticsConfig(retina=(9, 14), field_of_view=90.0, gaze_limit=70.0)])
def test_image_equals_one_ray_at_a_time(config: OpticsConfig, background: tuple[int, int, int]):
    optics = Optics(config, PICTURES, background)
    index = optics.lattice.index
    reach = optics.lattice.reach
    for picture, gaze in [(2, index(2, 4)), (2, index(-7, -3)), (1, index(1, 0)), (3, index(reach, -reach))]:
        image = optics.render(torch.tensor([picture * optics.lattice.count + gaze]))[0]
        assert image.tolist() == slow_image(config, PICTURES[picture], gaze, background)


@pytest.fixture(scope="module")
def optics() -> Optics:
    return Optics(OpticsConfig(), PICTURES)


def look(optics: Optics, picture: int, i: int, j: int) -> torch.Tensor:
    """The image [H, W, 3] of a picture, seen i steps right and j steps up of the centre."""
    return optics.render(torch.tensor([picture * optics.lattice.count + optics.lattice.index(i, j)]))[0]


def centroid(image: torch.Tensor, colour: tuple[int, int, int]) -> tuple[float, float]:
    """Mean row and column of the pixels of exactly this colour."""
    row, column = (image == torch.tensor(colour)).all(-1).nonzero(as_tuple=True)
    assert len(row) > 0, f"no pixel of colour {colour}"
    return float(row.double().mean()), float(column.double().mean())


@pytest.mark.parametrize("widget", [READY, SET, GO])
def test_looking_straight_at_a_patch_fills_the_middle_with_its_colour(optics: Optics, widget: Widget):
    middle = (widget.box.left + 0.05, widget.box.top + 0.05)
    gaze = optics.lattice.nearest(*middle)
    image = optics.render(torch.tensor([2 * optics.lattice.count + gaze]))[0]
    assert (image[15:17, 15:17] == torch.tensor(widget.colour)).all()


def test_the_eye_sees_left_and_right_up_and_down_the_right_way(optics: Optics):
    straight = centroid(look(optics, 2, 0, 0), GO.colour)
    assert straight[0] < 12  # above the cross
    assert straight[1] > 17  # right of the cross
    assert centroid(look(optics, 2, 0, 0), READY.colour)[1] < 15
    assert centroid(look(optics, 2, -4, 0), GO.colour)[1] > straight[1] + 2  # looking left moves it right
    assert centroid(look(optics, 2, 4, 0), GO.colour)[1] < straight[1] - 2
    assert centroid(look(optics, 2, 0, 4), GO.colour)[0] > straight[0] + 2  # looking up moves it down


def test_straight_ahead_the_blank_monitor_just_fills_the_default_retina(optics: Optics):
    assert (look(optics, 0, 0, 0) == 0).all()
    right = look(optics, 0, 2, 0)
    assert (right[:, 31].amax(-1) > 0).all()
    assert (right[4:28, :28] == 0).all()


@pytest.mark.parametrize("gaze_step", [20, 10])
def test_every_gaze_looks_different_on_and_off_the_monitor(gaze_step: int):
    optics = Optics(OpticsConfig(gaze_step=gaze_step, gaze_limit=36.0 * gaze_step / 20), [BLANK])
    images = optics.render(torch.arange(optics.observations))
    assert len(torch.unique(images.flatten(1), dim=0)) == optics.observations == 1225


def test_the_room_is_dim(optics: Optics):
    assert int(optics.render(torch.arange(optics.lattice.count)).max()) < 120


def test_pictures_differ_from_each_other_and_only_where_their_widgets_are(optics: Optics):
    blank, cross, go = (look(optics, picture, 0, 2).int() for picture in (0, 1, 3))
    assert not torch.equal(blank, cross)
    changed = (blank != go).any(-1).nonzero()
    assert 9 <= len(changed) <= 25
    assert not ((blank != cross).any(-1) & (blank != go).any(-1)).any()


def test_an_id_gives_the_same_bytes_alone_or_in_a_batch_warm_or_cold():
    config = OpticsConfig()
    generator = torch.Generator().manual_seed(7)
    batch = torch.randint(len(PICTURES) * LATTICE.count, (700,), generator=generator)  # more than one piece
    batch[1] = batch[0]
    one_by_one, at_once = Optics(config, PICTURES), Optics(config, PICTURES)
    cold = at_once.render(batch)
    alone = torch.cat([one_by_one.render(batch[k : k + 1]) for k in range(0, 700, 7)])
    assert torch.equal(cold[::7], alone)
    assert torch.equal(cold, at_once.render(batch))
    assert torch.equal(cold.flip(0), at_once.render(batch.flip(0).int()))


def test_a_gaze_is_traced_only_the_first_time_it_is_met():
    traced = []

    def counted(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        traced.append(len(x))
        return wall_colour(x, y, z)

    optics = Optics(OpticsConfig(), PICTURES, wall=counted)
    optics.render(torch.tensor([3, 8, 3, LATTICE.count + 8]))
    optics.render(torch.tensor([2 * LATTICE.count + 3, 9]))
    assert traced == [2, 1]


def test_no_ids_give_no_images(optics: Optics):
    assert optics.render(torch.empty(0, dtype=torch.int64)).shape == (0, 32, 32, 3)
    assert optics.render(torch.tensor([0])).dtype == torch.uint8


# Errors


@pytest.mark.parametrize("bad", [-1, len(PICTURES) * 1225])
def test_an_id_out_of_range_is_refused(optics: Optics, bad: int):
    assert optics.observations == len(PICTURES) * 1225
    with pytest.raises(ValueError, match=rf"{bad}.*within 0 to {optics.observations - 1} \(4 pictures x 1225"):
        optics.render(torch.tensor([5, bad]))


def test_ids_must_be_a_row_of_whole_numbers(optics: Optics):
    with pytest.raises(ValueError, match="whole numbers"):
        optics.render(torch.tensor([1.0]))
    with pytest.raises(ValueError, match=r"shape \[N\]"):
        optics.render(torch.tensor([[1]]))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retina", (0, 32)),
        ("retina", (32, 32, 3)),
        ("field_of_view", 0.0),
        ("field_of_view", 180.0),
        ("gaze_step", 0),
        ("gaze_step", 2.5),
        ("gaze_limit", 2.0),
        ("gaze_limit", 90.0),
    ],
)
def test_a_wrong_setting_is_named(field: str, value: Any):
    with pytest.raises(ValueError, match=f"^{field} is "):
        dataclasses.replace(OpticsConfig(), **{field: value})


def test_pictures_are_checked():
    with pytest.raises(ValueError, match="pictures is empty"):
        Optics(OpticsConfig(), [])
    with pytest.raises(ValueError, match="overlap"):
        Optics(OpticsConfig(), [BLANK, (GO, dataclasses.replace(GO, name="twin"))])
    with pytest.raises(ValueError, match="the background"):
        Optics(OpticsConfig(), [BLANK], background=(0, 0, 300))
