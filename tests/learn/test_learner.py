"""What the learner does with batches, leftovers, vision and numbers that are not finite."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from made_up import build_learner, copy_weights, rewarded
from small_run import LEARNING, small_actor
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.config import Optimiser
from gnomon.learn import learner as learner_module
from gnomon.learn.learner import Learner, NotFiniteError
from gnomon.learn.unroll import Unroll

START = 0  # frames


def test_a_frozen_controller_stays_while_vision_and_heads_learn() -> None:
    actor = small_actor("frozen_lstm", lanes=6, length=8)
    learner = build_learner(actor, replace(LEARNING, batch=6))
    before = copy_weights(actor.agent)
    for seed in range(2):
        learner.learn(rewarded(actor, seed), START)
    for name, tensor in actor.agent.state_dict().items():
        assert torch.equal(tensor, before[name]) == name.startswith("controller."), name


@pytest.mark.parametrize("vision_every", [1, 5])
def test_actors_see_with_the_new_weights_at_once(vision_every: int) -> None:
    """Whether or not vision has learned: no drive of the old controller is left in the cache."""
    actor = small_actor("lstm", lanes=8, length=6)
    learner = build_learner(
        actor, replace(LEARNING, batch=8, optimiser=Optimiser(learning_rate=0.05, vision_every=vision_every))
    )
    learner.learn(rewarded(actor, seed=0), START)
    assert learner.at_rest == (vision_every == 1)
    unroll = actor.unroll()
    with torch.no_grad():
        drive = actor.agent.drive(actor.laboratory.render(unroll.ids[:-1].flatten()))
        output, _ = actor.agent.unroll(drive.unflatten(0, unroll.action.shape), unroll.first[:-1], unroll.state)
    log_prob = output.logits.log_softmax(-1).gather(-1, unroll.action[..., None])[..., 0]
    torch.testing.assert_close(unroll.log_prob, log_prob, rtol=1e-5, atol=1e-5)


# Batches.


class WatchedLearner(Learner):
    """Keeps every batch it learned from."""

    def loss(self, batch: Unroll, features: Tensor, places: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        self.batches = [*getattr(self, "batches", []), batch]
        return super().loss(batch, features, places)


def test_leftovers_wait_and_no_trajectory_is_lost_or_used_twice() -> None:
    """25 lanes and batches of 4, as 200 lanes and batches of 32: six batches a round, now and then seven."""
    actor = small_actor("rnn", lanes=25, length=3)
    learner = WatchedLearner(actor.agent, actor.cache, replace(LEARNING, batch=4), torch.Generator().manual_seed(0))
    made: dict[int, Unroll] = {}
    for turn in range(9):
        unroll = actor.unroll()
        names = turn * 25 + torch.arange(25)  # each trajectory goes by its first reward
        unroll = replace(unroll, reward=torch.cat([names[None].float(), unroll.reward[1:]]))
        made |= {int(name): unroll.select(torch.tensor([lane])) for lane, name in enumerate(names)}
        learner.learn(unroll, START)
        waiting = learner.waiting.lanes if learner.waiting is not None else 0
        assert waiting == len(made) % 4
        if turn == 4:  # a resumed learner has the same trajectories waiting
            learner.load_state_dict(learner.state_dict())
    assert all(batch.lanes == 4 for batch in learner.batches)
    rest = [learner.waiting] if learner.waiting is not None else []
    used = Unroll.join([*learner.batches, *rest])
    assert sorted(used.reward[0].int().tolist()) == sorted(made)
    for lane, name in enumerate(used.reward[0].int().tolist()):
        for key, tensor in used.select(torch.tensor([lane])).tensors().items():
            assert torch.equal(tensor, made[name].tensors()[key]), key


def test_a_round_too_small_for_a_batch_only_waits() -> None:
    actor = small_actor("lstm", lanes=6, length=3)
    learner = build_learner(actor, replace(LEARNING, batch=10))
    before = copy_weights(actor.agent)
    metrics = learner.learn(actor.unroll(), START)
    assert learner.updates == 0
    assert "entropy" not in metrics
    assert all(torch.equal(tensor, before[name]) for name, tensor in actor.agent.state_dict().items())
    learner.learn(actor.unroll(), START)
    assert learner.updates == 1
    assert learner.waiting is not None
    assert learner.waiting.lanes == 2


# What is not a number.


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_leaves_the_weights_alone(reward: float) -> None:
    actor = small_actor("lstm", lanes=4, length=5)
    learner = build_learner(actor, replace(LEARNING, batch=4))
    unroll = actor.unroll()
    unroll.reward[2, 1] = reward
    before = copy_weights(actor.agent)
    with pytest.raises(NotFiniteError, match="after 0 updates"):
        learner.learn(unroll, START)
    assert all(torch.equal(tensor, before[name]) for name, tensor in actor.agent.state_dict().items())


def test_a_gradient_of_vision_that_is_not_finite_leaves_vision_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = small_actor("lstm", lanes=4, length=5)
    learner = build_learner(actor, replace(LEARNING, batch=4))

    def overflow(agent: Agent, *_: Any) -> None:
        for parameter in agent.vision.parameters():
            parameter.grad = torch.full_like(parameter, math.inf)

    monkeypatch.setattr(learner_module, "backpropagate_into_vision", overflow)
    before = copy_weights(actor.agent)
    with pytest.raises(NotFiniteError, match="gradient's norm is inf"):
        learner.learn(actor.unroll(), START)
    for name, tensor in actor.agent.vision.state_dict().items():
        assert torch.equal(tensor, before[f"vision.{name}"]), name
