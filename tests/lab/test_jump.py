"""Fixation with one jump: after Set the gaze stays on the cross until it goes to Go, at once and for good."""

import pytest
import torch

from gnomon.lab.gaze import PointGaze, box_corners
from gnomon.lab.tasks import ReadySetGo
from gnomon.lab.trials import Trials
from gnomon.records.trials import take_trials

CROSS, AWAY, GO = (0.5, 0.5), (0.8, 0.8), (0.6, 0.25)
JUMP = 4  # frames
SETTINGS = {"intervals": (20,), "foreperiods": (5,), "hold_probability": 1.0, "hold_frames": 0}
SET = 1 + 5 + 20  # its frame: the trial begins on frame 1


def outcome(course: dict[int, tuple[float, float]], jump_frames: int = JUMP) -> tuple[str, int | None]:
    """How a trial ends, and t_p, if the gaze goes to these points on these frames after Set, and stays there."""
    task = ReadySetGo(**SETTINGS, jump_frames=jump_frames)
    drawn = {name: torch.tensor([{"foreperiod": 5, "sample_interval": 20}.get(name, 0)]) for name in task.conditions}
    drawn["fixation_hold"] = torch.tensor([1])
    trials = Trials(task, 1, lambda lanes: drawn)
    corners, point = box_corners(task.boxes()), CROSS
    for frame in range(1, 200):
        point = course.get(frame - SET, point)
        trials.step(PointGaze(torch.tensor([point], dtype=torch.float64), corners))
        table = take_trials(trials)
        if len(table):
            return table["outcome"][0], table["production_interval"][0]
    raise AssertionError("the trial should end")


@pytest.mark.parametrize(
    ("course", "ends"),
    [
        ({20: GO}, ("correct", 20)),  # from the cross to Go between two frames
        ({17: AWAY, 20: GO}, ("correct", 20)),  # four frames off the cross, the last of them in Go
        ({16: AWAY, 20: GO}, ("aborted", None)),  # five
        ({10: AWAY, 12: CROSS, 20: GO}, ("aborted", None)),  # it came back
        ({10: AWAY}, ("aborted", None)),
        ({-3: AWAY, 20: GO}, ("aborted", None)),  # before Set, the cross must be held as ever
    ],
)
def test_after_set_there_is_one_jump(course: dict[int, tuple[float, float]], ends: tuple[str, int | None]) -> None:
    assert outcome(course) == ends


def test_without_the_rule_the_gaze_is_free_after_set() -> None:
    assert outcome({1: AWAY, 12: CROSS, 13: AWAY, 20: GO}, jump_frames=0) == ("correct", 20)


def test_a_negative_jump_is_refused() -> None:
    with pytest.raises(ValueError, match="jump_frames is -1"):
        ReadySetGo(jump_frames=-1)
