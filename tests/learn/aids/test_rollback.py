"""Rollback: continuing from the weights of a better time."""

from dataclasses import replace

import torch
from small_run import LEARNING, small_actor
from torch import Tensor

from gnomon.learn.aids import Aids
from gnomon.learn.aids.rollback import EVERY, SMALLER, Rollback, RollbackSettings
from gnomon.learn.learner import Learner
from gnomon.learn.schedule import Progress


def build(below: float) -> Rollback:
    actor = small_actor("lstm", lanes=4, length=5)
    config = replace(LEARNING, aids=Aids(use=("rollback",), rollback=RollbackSettings(below)))
    (aid,) = Learner(actor.agent, actor.cache, config, torch.Generator().manual_seed(0)).aids
    assert isinstance(aid, Rollback)
    return aid


def policy(rollback: Rollback) -> Tensor:
    return rollback.learner.agent.policy.weight.detach()


def change(rollback: Rollback, value: float) -> None:
    with torch.no_grad():
        rollback.learner.agent.policy.weight.fill_(value)


def rounds(rollback: Rollback, first: int, last: int, success: float, best: float) -> list[bool]:
    return [rollback.after_round(Progress(success=success, best=best), number) for number in range(first, last + 1)]


def test_the_last_but_one_snapshot_is_restored_when_the_task_is_lost() -> None:
    rollback = build(below=0.8)
    factors = rollback.learner.learning_rate.factors
    for number in (1, 2, 3):
        change(rollback, number)
        assert not any(rounds(rollback, EVERY * number, EVERY * number + 9, success=0.7, best=0.7))
    change(rollback, 4.0)
    assert rounds(rollback, 41, 42, success=0.6, best=0.7) == [False, False]  # a dip
    assert rounds(rollback, 43, 43, success=0.5, best=0.7) == [True]
    assert torch.all(policy(rollback) == 2.0)
    assert (rollback.times, factors["rollback"]) == (1, SMALLER)
    rounds(rollback, 44, 60, success=0.7, best=0.7)
    assert SMALLER < factors["rollback"] < 1
    rounds(rollback, 61, 200, success=0.7, best=0.7)
    assert factors["rollback"] == 1


def test_success_counts_as_regained() -> None:
    """Else the next round would roll back again, before the restored weights had a chance."""
    rollback = build(below=0.8)
    rounds(rollback, 1, 20, success=0.8, best=0.8)
    progress = Progress(success=0.2, best=0.8)
    assert rollback.after_round(progress, 21)
    assert progress.success == 0.8
    assert not rollback.after_round(progress, 22)


def test_what_is_not_much_is_not_kept() -> None:
    rollback = build(below=0.8)
    rounds(rollback, 1, 60, success=0.3, best=0.3)
    assert rounds(rollback, 61, 61, success=0.1, best=0.3) == [False]


def test_bad_rounds_leave_no_snapshot() -> None:
    rollback = build(below=0.5)
    change(rollback, 1.0)
    rounds(rollback, 1, 20, success=0.8, best=0.8)
    change(rollback, 2.0)
    rounds(rollback, 21, 80, success=0.6, best=0.8)  # neither good nor lost
    assert rounds(rollback, 81, 81, success=0.2, best=0.8) == [True]
    assert torch.all(policy(rollback) == 1.0)


def test_features_are_those_of_the_restored_weights() -> None:
    rollback, ids = build(below=0.5), torch.arange(20)
    snapshot, cache = rollback.snapshot(), rollback.learner.cache
    before = cache.look(ids)
    with torch.no_grad():
        for parameter in rollback.learner.agent.parameters():
            parameter.add_(0.1)
    assert not torch.allclose(cache.look(ids), before)
    rollback.restore(snapshot)
    torch.testing.assert_close(cache.look(ids), before)


def test_what_is_saved_is_what_was() -> None:
    first, second = build(below=0.8), build(below=0.8)
    change(first, 1.0)
    rounds(first, 1, 20, success=0.8, best=0.8)
    second.load_state_dict(first.state_dict())
    change(second, 2.0)
    assert rounds(second, 21, 21, success=0.1, best=0.8) == [True]
    assert torch.all(policy(second) == 1.0)
