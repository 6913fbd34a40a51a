"""Enforced fixation: moves have no effect, but that after Set one towards Go takes the gaze there."""

import pytest
import torch

from gnomon.lab.laboratory import MOVES, STAY, Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.lab.tasks.ready_set_go import GO
from gnomon.records.trials import take_trials

TASK = ReadySetGo(intervals=(20,), foreperiods=(5,), hold_probability=1.0, restrained=True)
TO_GO = list(MOVES).index("up right")
SET = 1 + 5 + 20  # its frame: the trial begins on frame 1


def fixating(task: ReadySetGo) -> Laboratory:
    """A lane whose gaze is on the cross, so that its trial begins with the first frame."""
    laboratory = Laboratory(task, lanes=1, seed=0)
    laboratory.gaze[:] = laboratory.lattice.nearest(*task.cross_centre().middle)
    return laboratory


@pytest.mark.parametrize("frames", [1, 5, 20, 31])  # after Set
def test_a_move_towards_go_is_the_answer(frames: int) -> None:
    laboratory = fixating(TASK)
    cross = laboratory.gaze.clone()
    laboratory.step(torch.tensor([STAY]))
    for frame in range(2, SET + 1):
        laboratory.step(torch.tensor([TO_GO]))
        assert laboratory.gaze == cross, f"the gaze has moved on frame {frame}; Set is frame {SET}"
    for _ in range(frames - 1):
        laboratory.step(torch.tensor([STAY]))
    laboratory.step(torch.tensor([TO_GO]))
    assert laboratory.gaze == laboratory.lattice.nearest(*TASK.boxes()[GO].middle)
    trial = take_trials(laboratory.trials).row(0, named=True)
    assert trial["production_interval"] == frames
    assert trial["outcome"] == ("correct" if abs(frames - 20) < 20 else "wrong")


@pytest.mark.parametrize("move", sorted(set(range(len(MOVES))) - {TO_GO}))
def test_no_other_move_has_an_effect(move: int) -> None:
    laboratory = fixating(TASK)
    cross = laboratory.gaze.clone()
    laboratory.step(torch.tensor([STAY]))
    for _ in range(SET + 30):
        laboratory.step(torch.tensor([move]))
        assert laboratory.gaze == cross


def test_between_trials_the_gaze_is_free() -> None:
    laboratory = fixating(TASK)
    for frame in range(1, SET + 21):
        laboratory.step(torch.tensor([STAY if frame < SET + 20 else TO_GO]))
    on_go = laboratory.gaze.clone()
    laboratory.step(torch.tensor([1]))
    assert laboratory.gaze == on_go + 1


@pytest.mark.parametrize(("restrained", "hold_probability"), [(True, 0.0), (False, 1.0)])
def test_others_are_not_restrained(restrained: bool, hold_probability: float) -> None:
    laboratory = fixating(ReadySetGo(restrained=restrained, hold_probability=hold_probability))
    laboratory.step(torch.tensor([STAY]))
    before = laboratory.gaze.clone()
    laboratory.step(torch.tensor([1]))
    assert laboratory.gaze == before + 1


def test_a_held_gaze_that_is_not_restrained_still_ends_the_trial() -> None:
    laboratory = fixating(ReadySetGo(intervals=(20,), hold_probability=1.0, hold_frames=0))
    laboratory.step(torch.tensor([STAY]))
    laboratory.step(torch.tensor([1]))
    assert take_trials(laboratory.trials)["outcome"].to_list() == ["aborted"]
