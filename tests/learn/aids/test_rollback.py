"""Going back to the weights of a better time."""

import pytest
import torch
from gnomon.learn.backtracking import EVERY, SMALLER, Backtracking
from small_run import LEARNING, small_actor
from torch import Tensor

from gnomon.learn.learner import Learner


@pytest.fixture
def learner() -> Learner:
    actor = small_actor("lstm", lanes=4, length=5)
    return Learner(actor.agent, actor.eye, LEARNING, torch.Generator().manual_seed(0))


def policy(learner: Learner) -> Tensor:
    return learner.agent.policy.weight.detach()


def change(learner: Learner, value: float) -> None:
    with torch.no_grad():
        learner.agent.policy.weight.fill_(value)


def rounds(backtracking: Backtracking, first: int, last: int, success: float, best: float) -> list[bool]:
    return [backtracking.after_round(number, success, best) for number in range(first, last + 1)]


def test_the_last_but_one_snapshot_is_put_back_when_the_task_is_lost(learner: Learner) -> None:
    backtracking = Backtracking(learner, lost=0.8)
    for number in (1, 2, 3):
        change(learner, number)
        assert not any(rounds(backtracking, EVERY * number, EVERY * number + 9, success=0.7, best=0.7))
    change(learner, 4.0)
    assert rounds(backtracking, 41, 42, success=0.6, best=0.7) == [False, False]  # a dip
    assert rounds(backtracking, 43, 43, success=0.5, best=0.7) == [True]
    assert torch.all(policy(learner) == 2.0)
    assert (backtracking.times, learner.largest_pace, learner.pace) == (1, SMALLER, SMALLER)
    rounds(backtracking, 44, 60, success=0.7, best=0.7)
    assert SMALLER < learner.largest_pace < 1
    rounds(backtracking, 61, 200, success=0.7, best=0.7)
    assert learner.largest_pace == 1


def test_what_is_not_much_is_not_kept(learner: Learner) -> None:
    backtracking = Backtracking(learner, lost=0.8)
    rounds(backtracking, 1, 60, success=0.3, best=0.3)
    assert rounds(backtracking, 61, 61, success=0.1, best=0.3) == [False]


def test_bad_rounds_leave_no_snapshot(learner: Learner) -> None:
    backtracking = Backtracking(learner, lost=0.5)
    change(learner, 1.0)
    rounds(backtracking, 1, 20, success=0.8, best=0.8)
    change(learner, 2.0)
    rounds(backtracking, 21, 80, success=0.6, best=0.8)  # neither good nor lost
    assert rounds(backtracking, 81, 81, success=0.2, best=0.8) == [True]
    assert torch.all(policy(learner) == 1.0)


def test_the_eye_sees_with_the_weights_that_were_put_back(learner: Learner) -> None:
    snapshot, ids = learner.snapshot(), torch.arange(20)
    before = learner.eye.look(ids)
    with torch.no_grad():
        for parameter in learner.agent.parameters():
            parameter.add_(0.1)
    learner.eye.forget()
    assert not torch.allclose(learner.eye.look(ids), before)
    learner.put_back(snapshot)
    torch.testing.assert_close(learner.eye.look(ids), before)


def test_what_is_saved_is_what_was(learner: Learner) -> None:
    first, second = (Backtracking(learner, lost=0.8) for _ in range(2))
    change(learner, 1.0)
    rounds(first, 1, 20, success=0.8, best=0.8)
    second.load_state_dict(first.state_dict())
    change(learner, 2.0)
    assert rounds(second, 21, 21, success=0.1, best=0.8) == [True]
    assert torch.all(policy(learner) == 1.0)
