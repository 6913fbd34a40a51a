"""The learner against a straightforward transcription of IMPALA, and what it does with leftovers and rare rewards."""

import copy
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from gnomon.agent.eye import distinct_ids
from small_run import LEARNING, small_actor
from torch import Tensor, nn

from gnomon.agent.agent import Agent
from gnomon.agent.controllers import CONTROLLERS
from gnomon.config import LearningConfig
from gnomon.learn import learner as learner_module
from gnomon.learn.actor import Actor, Unroll
from gnomon.learn.learner import FASTER, SLOWER, Learner, NotFiniteError
from gnomon.learn.schedule import Rates, Standing, rates


def acted(actor: Actor, unrolls: int = 3, seed: int = 0) -> Unroll:
    """A later unroll with made-up resets and rewards, and a policy that has moved on since."""
    unroll = actor.unroll()
    for _ in range(unrolls - 1):
        unroll = actor.unroll()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in actor.agent.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter += 0.1 * parameter.std() * noise if parameter.numel() > 1 else 0.1
    actor.eye.forget()
    unroll.end[2, ::2] = unroll.first[3, ::2] = True
    return replace(unroll, reward=torch.randn(unroll.reward.shape, generator=generator))


def build_learner(actor: Actor, config: LearningConfig) -> Learner:
    return Learner(actor.agent, actor.eye, config, torch.Generator().manual_seed(0))


def at_start(learner: Learner) -> Rates:
    return rates(learner.config, Standing())


def copy_weights(agent: Agent) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in agent.state_dict().items()}


# IMPALA, frame by frame.


class PlainAdam:
    """Kingma & Ba 2015, with the gradient's norm clipped before."""

    def __init__(self, parameters: list[nn.Parameter], config: LearningConfig) -> None:
        self.parameters, self.config, self.steps = parameters, config, 0
        self.m, self.v = ([torch.zeros_like(p) for p in parameters] for _ in range(2))

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        self.steps += 1
        b1, b2 = self.config.adam_betas
        norm = math.sqrt(sum(float(p.grad.square().sum()) for p in self.parameters if p.grad is not None))
        scale = min(1.0, self.config.clip_norm / norm)
        for p, m, v in zip(self.parameters, self.m, self.v, strict=True):
            assert p.grad is not None
            g = p.grad * scale
            m.copy_(b1 * m + (1 - b1) * g)
            v.copy_(b2 * v + (1 - b2) * g**2)
            m_hat, v_hat = m / (1 - b1**self.steps), v / (1 - b2**self.steps)
            p -= learning_rate * m_hat / (v_hat.sqrt() + self.config.adam_epsilon)
            p.grad = None


def plain_loss(agent: Agent, render: Any, unroll: Unroll, config: LearningConfig, entropy_cost: float) -> Tensor:
    """One graph from pixels to loss; every frame is looked at, every lane stands alone."""
    T = len(unroll.action)
    state, logits, values = unroll.state, [], []
    for t in range(T + 1):
        output, state = agent.step(agent.drive(render(unroll.ids[t])), unroll.first[t], state)
        logits.append(output.logits)
        values.append(output.value)
    loss = torch.zeros((), dtype=values[0].dtype)
    for b in range(unroll.lanes):
        V = [value[b].item() for value in values]
        log_pi = [logits[t][b].log_softmax(0)[unroll.action[t, b]] for t in range(T)]
        rho = [min(1.0, math.exp(log_pi[t].item() - float(unroll.log_prob[t, b]))) for t in range(T)]
        gamma = [0.0 if unroll.end[t, b] else config.discount for t in range(T)]
        r = [float(unroll.reward[t, b]) for t in range(T)]
        vs = [0.0] * T + [V[T]]
        for t in reversed(range(T)):
            delta = rho[t] * (r[t] + gamma[t] * V[t + 1] - V[t])
            vs[t] = V[t] + delta + gamma[t] * rho[t] * (vs[t + 1] - V[t + 1])
        for t in range(T):
            advantage = rho[t] * (r[t] + gamma[t] * vs[t + 1] - V[t])
            policy = logits[t][b].softmax(0)
            loss = loss - advantage * log_pi[t]
            loss = loss + config.value_cost * 0.5 * (vs[t] - values[t][b]) ** 2
            loss = loss + entropy_cost * (policy * policy.log()).sum()
    return loss


@pytest.mark.parametrize("vision_every", [1, 2])
@pytest.mark.parametrize("controller", ["lstm", "feedforward"])
def test_updates_equal_a_plain_transcription(controller: str, vision_every: int) -> None:
    """Three batches with vision learning from each, or four with vision learning from the sum of two."""
    batches = 3 if vision_every == 1 else 4
    actor = small_actor(controller, lanes=3 * batches, length=6, dtype=torch.float64)
    unroll = acted(actor)
    # Both norms get clipped.
    config = replace(
        LEARNING, batch=3, vision_every=vision_every, value_cost=0.7, clip_norm=2.0, critic_memory=None, settling=None
    )  # fmt: skip
    plain = copy.deepcopy(actor.agent)
    learner = build_learner(actor, config)
    learner.learn(unroll, Rates(learning=0.015, vision=0.0075, entropy=0.2, value_share=1.0, grading=None))
    assert learner.updates == batches

    vision = list(plain.vision.parameters())
    rest = {name: p for name, p in plain.named_parameters() if not name.startswith("vision.")}
    adam, vision_adam = PlainAdam(list(rest.values()), config), PlainAdam(vision, config)
    order = torch.randperm(unroll.lanes, generator=torch.Generator().manual_seed(0))
    for number, lanes in enumerate(order.split(3), start=1):
        loss = plain_loss(plain, actor.laboratory.render, unroll.select(lanes), config, entropy_cost=0.2)
        loss.backward()
        adam.step(0.015)
        if number % vision_every == 0:
            vision_adam.step(0.0075)
    for name, expected in plain.state_dict().items():
        torch.testing.assert_close(actor.agent.state_dict()[name], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_dedup_changes_nothing_but_the_work(controller: str) -> None:
    moments, looked_at = [], []
    for dedup in (True, False):
        actor = small_actor(controller, lanes=12, length=10)
        unroll = acted(actor)
        actor.eye = type(actor.eye)(actor.agent, actor.eye.render, actor.laboratory.observations, dedup)
        config = replace(LEARNING, batch=12, dedup=dedup, clip_norm=1e9, critic_memory=None)
        learner = build_learner(actor, config)
        looked_at.append(learner.learn(unroll, at_start(learner))["distinct"])
        # After Adam's first step its mean is a tenth of the gradient.
        moments.append({name: t for name, t in learner.state_dict()[0].items() if name.endswith("exp_avg")})
    assert looked_at[0] < looked_at[1] == 11 * 12
    assert len(moments[0]) == len(
        [p for p in small_actor(controller, lanes=1, length=1).agent.parameters() if p.requires_grad]
    )
    for name, gradient in moments[1].items():
        assert gradient.norm() > 0, name
        assert (moments[0][name] - gradient).norm() < 1e-5 * gradient.norm(), name


def test_a_frozen_controller_stays_while_vision_and_heads_learn() -> None:
    actor = small_actor("frozen_lstm", lanes=6, length=8)
    learner = build_learner(actor, replace(LEARNING, batch=6, settling=None))
    before = copy_weights(actor.agent)
    for seed in range(2):
        learner.learn(acted_without_moving(actor, seed), at_start(learner))
    for name, tensor in actor.agent.state_dict().items():
        assert torch.equal(tensor, before[name]) == name.startswith("controller."), name


def test_episodes_come_to_begin_as_lanes_between_trials_are() -> None:
    actor = small_actor("lstm", lanes=60, length=12)
    learner = build_learner(actor, replace(LEARNING, batch=30, settling=0.5))
    begin = actor.agent.initial_state(1)
    for _ in range(4):
        unroll = actor.unroll()
        lanes = [k for k in range(60) if unroll.idle[k] and not unroll.first[0, k]]
        learner.learn(unroll, at_start(learner))
        for name, tensor in actor.agent.initial_state(1).items():
            if lanes:
                begin[name] = 0.5 * begin[name] + 0.5 * unroll.state[name][lanes].mean(0)
            torch.testing.assert_close(tensor, begin[name])
    assert all(tensor.abs().max() > 0 for tensor in begin.values())


def acted_without_moving(actor: Actor, seed: int) -> Unroll:
    unroll = actor.unroll()
    return replace(unroll, reward=torch.randn(unroll.reward.shape, generator=torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("vision_every", [1, 5])
def test_actors_see_with_the_new_weights_at_once(vision_every: int) -> None:
    """Whether or not vision has learned: no drive of the old controller is left in the eye's table."""
    actor = small_actor("lstm", lanes=8, length=6)
    learner = build_learner(actor, replace(LEARNING, batch=8, vision_every=vision_every, learning_rate=0.05))
    learner.learn(acted_without_moving(actor, seed=0), at_start(learner))
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

    def loss(self, unroll: Unroll, features: Tensor, places: Tensor, rates: Rates) -> tuple[Tensor, dict[str, Tensor]]:
        self.batches = [*getattr(self, "batches", []), unroll]
        return super().loss(unroll, features, places, rates)


def test_leftovers_wait_and_no_trajectory_is_lost_or_used_twice() -> None:
    """25 lanes and batches of 4, as 200 lanes and batches of 32: six batches a round, now and then seven."""
    actor = small_actor("rnn", lanes=25, length=3)
    learner = WatchedLearner(actor.agent, actor.eye, replace(LEARNING, batch=4), torch.Generator().manual_seed(0))
    made: dict[int, Unroll] = {}
    for turn in range(9):
        unroll = actor.unroll()
        names = turn * 25 + torch.arange(25)  # each trajectory goes by its first reward
        unroll = replace(unroll, reward=torch.cat([names[None].float(), unroll.reward[1:]]))
        made |= {int(name): unroll.select(torch.tensor([lane])) for lane, name in enumerate(names)}
        learner.learn(unroll, at_start(learner))
        waiting = learner.waiting.lanes if learner.waiting is not None else 0
        assert waiting == len(made) % 4
        if turn == 4:  # a resumed learner has the same trajectories waiting
            learner.load_state_dict(*learner.state_dict())
    assert all(batch.lanes == 4 for batch in learner.batches)
    rest = [learner.waiting] if learner.waiting is not None else []
    used = Unroll.join([*learner.batches, *rest])
    assert sorted(used.reward[0].int().tolist()) == sorted(made)
    for lane, name in enumerate(used.reward[0].int().tolist()):
        for key, tensor in used.select(torch.tensor([lane])).tensors().items():
            assert torch.equal(tensor, made[name].tensors()[key]), key


def test_batches_grow_while_rewards_are_rare() -> None:
    actor = small_actor("feedforward", lanes=25, length=2)
    learner = build_learner(actor, replace(LEARNING, batch=4, rewards_per_batch=3.0))
    sizes, expected, mean = [], [], 0.0
    for rewards in (0, 0, 20, 30, 40, 40, 40, 40, 40, 40, 40, 0, 0, 0):
        unroll = actor.unroll()
        reward = torch.zeros_like(unroll.reward)
        reward[1, : rewards // 2] = 2.0
        sizes.append(learner.learn(replace(unroll, reward=reward), at_start(learner))["batch"])
        mean = 0.9 * mean + 0.1 * rewards / 25
        expected.append(next(size for size in (4, 8, 16) if size * mean >= 3.0 or size == 16))
    assert sizes == expected
    assert set(sizes) == {4, 8, 16}
    always = build_learner(actor, replace(LEARNING, batch=4))
    assert always.learn(actor.unroll(), at_start(always))["batch"] == 4


def test_a_round_too_small_for_a_batch_only_waits() -> None:
    actor = small_actor("lstm", lanes=6, length=3)
    learner = build_learner(actor, replace(LEARNING, batch=10))
    before = copy_weights(actor.agent)
    metrics = learner.learn(actor.unroll(), at_start(learner))
    assert (metrics["batch"], learner.updates) == (10, 0)
    assert "entropy" not in metrics
    assert all(torch.equal(tensor, before[name]) for name, tensor in actor.agent.state_dict().items())
    learner.learn(actor.unroll(), at_start(learner))
    assert learner.updates == 1
    assert learner.waiting is not None
    assert learner.waiting.lanes == 2


# Vision that stays as it is.


@pytest.mark.parametrize("dedup", [True, False])
def test_without_a_rate_vision_stays_and_the_rest_learns_as_before(dedup: bool) -> None:
    actor = small_actor("lstm", lanes=4, length=5)
    learner = build_learner(actor, replace(LEARNING, batch=4, dedup=dedup))
    learning = at_start(learner)
    before = copy_weights(actor.agent)
    unroll = actor.unroll()
    twin_actor = small_actor("lstm", lanes=4, length=5)
    twin = build_learner(twin_actor, replace(LEARNING, batch=4, dedup=dedup))
    twin.learn(twin_actor.unroll(), learning)

    learner.learn(unroll, replace(learning, vision=0.0))
    assert learner.at_rest
    after = actor.agent.state_dict()
    for name, tensor in after.items():
        if name.startswith("vision."):
            assert torch.equal(tensor, before[name]), name
        else:  # the same update, but for the last bits of what is seen in other portions
            torch.testing.assert_close(tensor, twin_actor.agent.state_dict()[name], rtol=1e-4, atol=1e-5)
    assert any(not torch.equal(after[name], before[name]) for name in after)


# What is not a number.


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_leaves_the_weights_alone(reward: float) -> None:
    actor = small_actor("lstm", lanes=4, length=5)
    learner = build_learner(actor, replace(LEARNING, batch=4))
    unroll = actor.unroll()
    unroll.reward[2, 1] = reward
    before = copy_weights(actor.agent)
    with pytest.raises(NotFiniteError, match="after 0 updates"):
        learner.learn(unroll, at_start(learner))
    assert all(torch.equal(tensor, before[name]) for name, tensor in actor.agent.state_dict().items())


def test_a_gradient_of_vision_that_is_not_finite_leaves_vision_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = small_actor("lstm", lanes=4, length=5)
    learner = build_learner(actor, replace(LEARNING, batch=4))

    def overflow(agent: Agent, *_: Any) -> None:
        for parameter in agent.vision.parameters():
            parameter.grad = torch.full_like(parameter, math.inf)

    monkeypatch.setattr(learner_module, "learn_to_see", overflow)
    before = copy_weights(actor.agent)
    with pytest.raises(NotFiniteError, match="gradient's norm is inf"):
        learner.learn(actor.unroll(), at_start(learner))
    for name, tensor in actor.agent.vision.state_dict().items():
        assert torch.equal(tensor, before[f"vision.{name}"]), name


def test_steps_shrink_while_the_policy_runs_ahead_of_the_one_that_acted() -> None:
    actor = small_actor("lstm", lanes=12, length=10)
    unroll = acted(actor)
    learner = build_learner(actor, replace(LEARNING, batch=4, trust=1e-9))
    rates = at_start(learner)
    used = [learner.learn(unroll, rates)["learning_rate"] for _ in range(3)]
    assert used == pytest.approx([rates.learning, SLOWER * rates.learning, SLOWER**2 * rates.learning])
    learner.config = replace(learner.config, trust=1e9)
    used = [learner.learn(unroll, rates)["learning_rate"] for _ in range(16)]
    assert used[1] == pytest.approx(FASTER * used[0])
    assert used[-1] == rates.learning  # and never more


def test_whitening_changes_the_steps_and_not_what_is_learned_from() -> None:
    plain, whitened = (small_actor("lstm", lanes=12, length=10) for _ in range(2))
    unroll, same = acted(plain), acted(whitened)
    learners = [
        build_learner(actor, replace(LEARNING, batch=12, whiten=actor is whitened)) for actor in (plain, whitened)
    ]
    assert [learner.whitened is not None for learner in learners] == [False, True]
    plain.agent.load_state_dict(whitened.agent.state_dict())  # whitened weights begin elsewhere
    plain.eye.forget_drive()
    metrics = [learner.learn(data, at_start(learner)) for learner, data in zip(learners, (unroll, same), strict=True)]
    losses = [(row["policy_loss"], row["value_loss"]) for row in metrics]
    assert losses[0] == pytest.approx(losses[1])
    weights = [copy_weights(actor.agent)["controller.input_weight"] for actor in (plain, whitened)]
    assert not torch.allclose(weights[0], weights[1])


def test_a_frozen_controller_cannot_be_whitened() -> None:
    with pytest.raises(ValueError, match="a frozen_lstm has no input weights that learn"):
        build_learner(small_actor("frozen_lstm", lanes=4, length=5), replace(LEARNING, whiten=True))


def test_v_trace_goes_by_the_solved_values_while_the_head_learns() -> None:
    actor = small_actor("lstm", lanes=12, length=10)
    unroll = acted(actor)
    learner = build_learner(actor, replace(LEARNING, batch=12, critic_memory=0.9))
    assert learner.critic is not None
    before = copy_weights(actor.agent)
    first = learner.learn(unroll, at_start(learner))["mean_value"]
    with torch.no_grad():
        actor.agent.value.bias.add_(100.0)  # of no interest to anybody
    second = learner.learn(unroll, at_start(learner))["mean_value"]
    assert abs(second - first) < 10
    assert not torch.equal(actor.agent.value.weight, before["value.weight"])


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_the_value_loss_may_stop_at_the_head(share: float) -> None:
    def gradients(value_cost: float) -> tuple[Tensor, Tensor]:
        actor = small_actor("lstm", lanes=12, length=10)
        unroll = acted(actor)
        learner = build_learner(actor, replace(LEARNING, critic_memory=0.9, value_cost=value_cost))
        distinct, places = distinct_ids(unroll.ids, True)
        now = replace(at_start(learner), value_share=share)
        learner.loss(unroll, learner.eye.features(distinct), places, now)[0].backward()
        controller, head = actor.agent.get_parameter("controller.recurrent_weight").grad, actor.agent.value.weight.grad
        assert controller is not None
        assert head is not None
        return controller, head

    (plain, idle), (shaped, learning) = gradients(0.0), gradients(0.5)
    assert torch.allclose(plain, shaped) == (share == 0)
    assert not idle.any()
    assert learning.any()


def test_the_mean_of_the_values_errors_goes_into_the_heads_bias() -> None:
    actor = small_actor("lstm", lanes=12, length=10)
    unroll = acted(actor)
    unroll = replace(unroll, reward=torch.zeros_like(unroll.reward))
    learner = build_learner(actor, replace(LEARNING, batch=12, critic_memory=0.9))
    with torch.no_grad():
        actor.agent.value.bias.fill_(5.0)
    errors = [learner.learn(unroll, at_start(learner))["value_error"] for _ in range(40)]
    assert errors[0] < -4
    assert abs(errors[-1]) < 0.2 * abs(errors[0])


def test_only_a_critic_that_is_told_the_time_minds_it() -> None:
    def values(told: bool, later: int) -> float:
        actor = small_actor("lstm", lanes=12, length=10)
        unroll = acted(actor)
        config = replace(LEARNING, batch=12, critic_memory=0.9, critic_told=told)
        learner = Learner(actor.agent, actor.eye, config, torch.Generator().manual_seed(0), moments=4)
        learner.learn(unroll, at_start(learner))
        return learner.learn(replace(unroll, since=unroll.since + later), at_start(learner))["mean_value"]

    assert values(told=False, later=0) == values(told=False, later=20)
    assert values(told=True, later=0) != values(told=True, later=20)
