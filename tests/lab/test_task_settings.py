"""Settings are checked when a task is built: what is wrong is named, with what would be right."""

from dataclasses import replace
from math import inf, nan

import pytest

from gnomon.lab.tasks import (
    PAPER,
    PSYCHLAB,
    TASKS,
    Bisection,
    CuedProduction,
    Discrimination,
    ReadySetGo,
    Task,
    register,
)

SHARED = [
    ({"pause": -1}, r"pause is -1; .*at least 0"),
    ({"pause": 1.5}, r"pause is 1.5; .*whole number"),
    ({"frames_off_monitor": -3}, r"frames_off_monitor is -3"),
    ({"frames_to_fixate": 0}, r"frames_to_fixate is 0; .*at least 1"),
    ({"trials_per_episode": 0}, r"trials_per_episode is 0"),
    ({"trials_per_episode": True}, r"trials_per_episode is True"),
    ({"episode_seconds": 0.0}, r"episode_seconds is 0.0; .*at least one frame"),
    ({"fixation_size": 0.0}, r"fixation_size is 0.0; it must be above 0"),
    ({"target_size": -0.1}, r"target_size is -0.1; it must be above 0"),
    ({"fixation_size": 1.2}, r"fixation_size is 1.2; .*at most 1"),
    ({"background": (0, 0, 256)}, r"the background is \(0, 0, 256\).*from 0 to 255"),
    ({"fixation_colour": (0.5, 0, 0)}, r"'fixation' is \(0.5, 0, 0\)"),
]


@pytest.mark.parametrize("kind", [ReadySetGo, CuedProduction, Bisection, Discrimination])
@pytest.mark.parametrize(("wrong", "message"), SHARED, ids=lambda value: str(value)[:40])
def test_a_wrong_setting_that_all_tasks_share_is_named(kind: type[Task], wrong: dict, message: str):
    with pytest.raises(ValueError, match=message):
        kind(**wrong)


OWN = [
    (ReadySetGo, {"intervals": ()}, r"intervals is empty; give at least one"),
    (ReadySetGo, {"intervals": (10, 0)}, r"intervals is \(10, 0\); .*at least 1"),
    (ReadySetGo, {"intervals": (10, -20)}, r"intervals is \(10, -20\)"),
    (ReadySetGo, {"intervals": (10.5,)}, r"intervals is \(10.5,\); .*whole number of frames"),
    (ReadySetGo, {"intervals": (20, 10)}, r"intervals is \(20, 10\); .*ascending"),
    (ReadySetGo, {"intervals": (10, 10)}, r"intervals is \(10, 10\); .*each listed once"),
    (
        ReadySetGo,
        {"probe_probability": 2.0, "probe_intervals": (5,)},
        r"probe_probability is 2.0; .*between 0 and 1",
    ),
    (ReadySetGo, {"probe_probability": 0.5}, r"probe_intervals is empty"),
    (ReadySetGo, {"probe_intervals": (5, 3)}, r"probe_intervals is \(5, 3\); .*ascending"),
    (ReadySetGo, {"hold_probability": -0.1}, r"hold_probability is -0.1; .*between 0 and 1"),
    (ReadySetGo, {"hold_frames": -1}, r"hold_frames is -1"),
    (ReadySetGo, {"foreperiods": ()}, r"foreperiods is \(\); give at least one"),
    (ReadySetGo, {"foreperiods": (10, -1)}, r"foreperiods is \(10, -1\); .*none below 0"),
    (ReadySetGo, {"foreperiods": (True,)}, r"foreperiods is \(True,\); .*whole frames"),
    (ReadySetGo, {"foreperiods": (0.5,)}, r"foreperiods is \(0.5,\); .*whole frames"),
    (ReadySetGo, {"flash": 0}, r"flash is 0; .*at least 1"),
    (ReadySetGo, {"base_tolerance": 0.0}, r"base_tolerance 0.0 and tolerance_scaling 0.0 .*above 0"),
    (ReadySetGo, {"base_tolerance": 1.0, "tolerance_scaling": -0.1}, r"no tolerance at 10 frames"),
    (ReadySetGo, {"tolerance_factors": ()}, r"tolerance_factors is \(\)"),
    (ReadySetGo, {"tolerance_factors": (2.5, 0.0)}, r"tolerance_factors is \(2.5, 0.0\); .*above 0"),
    (ReadySetGo, {"rewards_to_promote": 0}, r"rewards_to_promote is 0"),
    (ReadySetGo, {"timeout_factor": 0.0}, r"timeout_factor is 0.0; .*above 0"),
    (ReadySetGo, {"target_size": 0.2}, r"'fixation' at .* and '\w+' at .* overlap|leaves the monitor"),
    (ReadySetGo, {"centre": (0.5, 0.75)}, r"'fixation' at .* and '\w+' at .* overlap"),
    (ReadySetGo, {"centre": (0.9, 0.5)}, r"'go' at .* leaves the monitor"),
    (ReadySetGo, {"go_colour": (300, 0, 0)}, r"'go' is \(300, 0, 0\)"),
    (CuedProduction, {"intervals": (40,)}, r"intervals is \(40,\); .*exactly 2"),
    (CuedProduction, {"intervals": ()}, r"intervals is empty"),
    (CuedProduction, {"intervals": (80, 40)}, r"intervals is \(80, 40\); .*ascending"),
    (CuedProduction, {"tolerance_factors": (-0.1,)}, r"tolerance_factors is \(-0.1,\)"),
    (CuedProduction, {"timeout_factor": -1.0}, r"timeout_factor is -1.0"),
    (CuedProduction, {"timeout_factor": nan}, r"timeout_factor is nan; .*above 0"),
    (CuedProduction, {"timeout_factor": 1e30}, r"timeout_factor is 1e\+30; .*bounds"),
    (CuedProduction, {"target_location": (nan, nan)}, r"leaves the monitor"),
    (CuedProduction, {"target_location": (0.5, 0.01)}, r"'target' at .* leaves the monitor"),
    (CuedProduction, {"long_colour": (1, 2, -3)}, r"'target' is \(1, 2, -3\)"),
    (Bisection, {"durations": ()}, r"durations is empty"),
    (Bisection, {"durations": (100, 200, 400)}, r"durations is \(100, 200, 400\); .*exactly 2: short, long"),
    (Bisection, {"axes": 0}, r"axes is 0"),
    (Bisection, {"target_distance": 0.0}, r"target_distance is 0.0; it must be above 0"),
    (Bisection, {"target_distance": nan}, r"target_distance is nan; it must be above 0"),
    (Bisection, {"target_distance": 0.04}, r"'target_correct' at .* and 'target_incorrect' at .* overlap"),
    (Bisection, {"target_distance": 0.5}, r"leaves the monitor"),
    (Bisection, {"target_colours": ((1, 2, 3),)}, r"target_colours is .*exactly two"),
    (Discrimination, {"durations": (40, 40)}, r"durations is \(40, 40\); .*ascending"),
    (Discrimination, {"durations": (), "flash": 3}, r"durations is empty"),
    (Discrimination, {"duration_spread": (0.0, -1.0)}, r"duration_spread is \(0.0, -1.0\); .*from 0 to"),
    (Discrimination, {"duration_spread": (nan, nan)}, r"duration_spread is \(nan, nan\)"),
    (Discrimination, {"duration_spread": (inf, 0.0)}, r"duration_spread is \(inf, 0.0\)"),
    (Discrimination, {"duration_spread": (1.0,)}, r"duration_spread is \(1.0,\); give two"),
    (Discrimination, {"flash": 0}, r"flash is 0; .*at least 1"),
    (Discrimination, {"flash": 10**11}, r"flash is 100000000000; .*at most"),
    (Discrimination, {"stimulus_colour": (1, 2)}, r"'target' is \(1, 2\)"),
]


@pytest.mark.parametrize(("kind", "wrong", "message"), OWN, ids=lambda value: str(getattr(value, "name", value))[:40])
def test_a_wrong_setting_is_named(kind: type[Task], wrong: dict, message: str):
    with pytest.raises(ValueError, match=message):
        kind(**wrong)


def test_settings_stay_as_they_were_checked():
    with pytest.raises(AttributeError):
        PAPER.pause = -1  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match="pause is -1"):
        replace(PAPER, pause=-1)


def test_the_named_settings_are_those_of_paper_and_public_script():
    assert PAPER.intervals == tuple(range(10, 101, 10))
    assert (PAPER.base_tolerance, PAPER.tolerance_scaling, PAPER.tolerance_factors) == (8, 0, (2.5, 1.5, 1.0))
    assert (PAPER.probe_probability, PAPER.timeout, PAPER.episode_frames) == (0, 500, 18_000)
    assert PSYCHLAB.intervals == (200, 300)
    assert (PSYCHLAB.probe_intervals, PSYCHLAB.probe_probability, PSYCHLAB.reward_probes) == (
        (25, 375),
        0.08,
        True,
    )
    assert (PSYCHLAB.foreperiods, PSYCHLAB.timeout) == ((110,), 5 * 375)


def test_a_timeout_of_part_of_a_frame_is_rounded_up():
    assert ReadySetGo(intervals=(3,), timeout_factor=1.5).timeout == 5
    assert CuedProduction(intervals=(1, 3), timeout_factor=0.1).timeout == 1


def test_a_name_is_registered_once():
    assert {"ready_set_go", "cued_production", "bisection", "discrimination"} <= set(TASKS)
    with pytest.raises(ValueError, match="'ready_set_go' is registered already"):
        register(ReadySetGo)
