"""Enforced fixation: until Set moves have no effect, and the first one after it takes the gaze to Go."""

import pytest
import torch

from gnomon.lab.laboratory import MOVES, STAY, Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.lab.tasks.ready_set_go import GO
from gnomon.records.trials import take_trials

TASK = ReadySetGo(intervals=(20,), foreperiods=(5,), hold_probability=1.0, restrained=True)
SET = 1 + 5 + 20  # its frame: the trial begins on frame 1


def fixating(task: ReadySetGo) -> Laboratory:
    """A lane whose gaze is on the cross, so that its trial begins with the first frame."""
    laboratory = Laboratory(task, lanes=1, seed=0)
    laboratory.gaze[:] = laboratory.lattice.nearest(*task.cross_centre().middle)
    return laboratory


@pytest.mark.parametrize("move", range(1, len(MOVES)))
@pytest.mark.parametrize("first_move", [1, 5, 20, 31])  # frames after Set
def test_the_first_move_after_set_is_the_answer(move: int, first_move: int) -> None:
    laboratory = fixating(TASK)
    cross = laboratory.gaze.clone()
    laboratory.step(torch.tensor([STAY]))
    for frame in range(2, SET + first_move):
        laboratory.step(torch.tensor([move if frame <= SET else STAY]))
        assert laboratory.gaze == cross, f"the gaze has moved on frame {frame}; Set is frame {SET}"
    laboratory.step(torch.tensor([move]))
    assert laboratory.gaze == laboratory.lattice.nearest(*TASK.boxes()[GO].middle)
    trial = take_trials(laboratory.trials).row(0, named=True)
    assert trial["production_interval"] == first_move
    assert trial["outcome"] == ("correct" if abs(first_move - 20) < 20 else "wrong")


def test_between_trials_the_gaze_is_free() -> None:
    laboratory = fixating(TASK)
    for frame in range(1, SET + 21):
        laboratory.step(torch.tensor([STAY if frame < SET + 20 else 1]))
    on_go = laboratory.gaze.clone()
    laboratory.step(torch.tensor([1]))
    assert laboratory.gaze == on_go + 1


@pytest.mark.parametrize("settings", [{"restrained": True, "hold_probability": 0.0}, {"restrained": False}])
def test_others_are_not_restrained(settings: dict[str, float]) -> None:
    laboratory = fixating(ReadySetGo(**{"hold_probability": 1.0, **settings}))
    laboratory.step(torch.tensor([STAY]))
    before = laboratory.gaze.clone()
    laboratory.step(torch.tensor([1]))
    assert laboratory.gaze == before + 1


def test_a_held_gaze_that_is_not_restrained_still_ends_the_trial() -> None:
    laboratory = fixating(ReadySetGo(intervals=(20,), hold_probability=1.0, hold_frames=0))
    laboratory.step(torch.tensor([STAY]))
    laboratory.step(torch.tensor([1]))
    assert take_trials(laboratory.trials)["outcome"].to_list() == ["aborted"]
