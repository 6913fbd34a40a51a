"""One round of learning against a literal transcription of IMPALA."""

import copy
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from made_up import acted, build_learner
from small_run import LEARNING, small_actor
from torch import Tensor, nn

from gnomon.agent.agent import Agent
from gnomon.config import LearningConfig, Loss, Optimiser, Schedule
from gnomon.learn.unroll import Unroll

RATE, VISION_RATE, ENTROPY, BATCH = 0.015, 0.0075, 0.2, 3
CONFIG = replace(
    LEARNING,
    batch=BATCH,
    optimiser=Optimiser(learning_rate=RATE, vision_learning_rate=VISION_RATE, clip_norm=2.0),  # norms get clipped
    loss=Loss(value_cost=0.7, entropy_cost=ENTROPY),
)
FRAMES = 600  # of the run before the updates here


class PlainAdam:
    """Kingma & Ba 2015, with the gradient's norm clipped before."""

    def __init__(self, parameters: list[nn.Parameter], config: LearningConfig) -> None:
        self.parameters, self.settings, self.steps = parameters, config.optimiser, 0
        self.m, self.v = ([torch.zeros_like(p) for p in parameters] for _ in range(2))

    @torch.no_grad()
    def step(self, rate: float) -> None:
        self.steps += 1
        b1, b2 = self.settings.betas
        norm = math.sqrt(sum(float(p.grad.square().sum()) for p in self.parameters if p.grad is not None))
        scale = min(1.0, self.settings.clip_norm / norm)
        for p, m, v in zip(self.parameters, self.m, self.v, strict=True):
            assert p.grad is not None
            g = p.grad * scale
            m.copy_(b1 * m + (1 - b1) * g)
            v.copy_(b2 * v + (1 - b2) * g**2)
            m_hat, v_hat = m / (1 - b1**self.steps), v / (1 - b2**self.steps)
            p -= rate * m_hat / (v_hat.sqrt() + self.settings.epsilon)
            p.grad = None


@dataclass
class Transcription:
    """IMPALA frame by frame: every frame is looked at, every lane stands alone."""

    agent: Agent
    render: Any
    config: LearningConfig
    rate: float = 1.0  # factor of all learning rates
    entropy: float = ENTROPY

    def loss(self, batch: Unroll) -> Tensor:
        T, agent = len(batch.action), self.agent
        state, outputs = batch.state, []
        for t in range(T + 1):
            output, state = agent.step(agent.drive(self.render(batch.ids[t])), batch.first[t], state)
            outputs.append(output)
        values = torch.stack([output.value for output in outputs])
        error = torch.zeros(T, batch.lanes, dtype=values.dtype)
        loss = torch.zeros((), dtype=values.dtype)
        for b in range(batch.lanes):
            V = values[:, b].tolist()
            log_pi = [outputs[t].logits[b].log_softmax(0)[batch.action[t, b]] for t in range(T)]
            rho = [min(1.0, math.exp(log_pi[t].item() - float(batch.log_prob[t, b]))) for t in range(T)]
            gamma = [0.0 if batch.end[t, b] else self.config.loss.discount for t in range(T)]
            r = batch.reward[:, b].tolist()
            vs = [0.0] * T + [V[T]]
            for t in reversed(range(T)):
                delta = rho[t] * (r[t] + gamma[t] * V[t + 1] - V[t])
                vs[t] = V[t] + delta + gamma[t] * rho[t] * (vs[t + 1] - V[t + 1])
            for t in range(T):
                advantage = rho[t] * (r[t] + gamma[t] * vs[t + 1] - V[t])
                policy = outputs[t].logits[b].softmax(0)
                loss = loss - advantage * log_pi[t] + self.entropy * (policy * policy.log()).sum()
                error[t, b] = vs[t] - values[t, b]
        return loss + self.config.loss.value_cost * 0.5 * error.square().sum()

    def learn(self, unroll: Unroll, rest: list[nn.Parameter]) -> None:
        """A round, in the order in which the learner shuffles its trajectories."""
        seeing = list(self.agent.vision.parameters())
        adam, vision = PlainAdam(rest, self.config), PlainAdam(seeing, self.config)
        order = torch.randperm(unroll.lanes, generator=torch.Generator().manual_seed(0))
        for number, lanes in enumerate(order.split(BATCH), start=1):
            self.loss(unroll.select(lanes)).backward()
            adam.step(self.rate * RATE)
            if number % self.config.optimiser.vision_every == 0:
                vision.step(self.rate * VISION_RATE)


def all_but_vision(agent: Agent) -> list[nn.Parameter]:
    return [p for name, p in agent.named_parameters() if not name.startswith("vision.") and p.requires_grad]


def compare(
    config: LearningConfig, controller: str = "lstm", batches: int = 3, whitening: float = 0.0, **changes: Any
) -> None:
    """Learn from made-up unrolls in both ways, and compare all weights."""
    actor = small_actor(controller, lanes=BATCH * batches, length=6, dtype=torch.float64, whitening=whitening)
    unroll = acted(actor)
    learner = build_learner(actor, config)
    plain = Transcription(copy.deepcopy(actor.agent), actor.laboratory.render, config, **changes)
    learner.learn(unroll, FRAMES)
    assert learner.updates == batches
    plain.learn(unroll, all_but_vision(plain.agent))
    for name, expected in plain.agent.state_dict().items():
        torch.testing.assert_close(actor.agent.state_dict()[name], expected, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.parametrize("vision_every", [1, 2])
@pytest.mark.parametrize("controller", ["lstm", "feedforward"])
def test_plain_impala(controller: str, vision_every: int) -> None:
    """Three batches with vision learning from each, or four with vision learning from the sum of two."""
    config = replace(CONFIG, optimiser=replace(CONFIG.optimiser, vision_every=vision_every))
    compare(config, controller, batches=3 if vision_every == 1 else 4)


def test_annealing_by_frames() -> None:
    schedule = Schedule(frames=1_200, final_learning_rate=0.2, final_entropy=0.01)
    compare(replace(CONFIG, schedule=schedule), rate=0.6, entropy=0.1 * ENTROPY)


@pytest.mark.parametrize("controller", ["lstm", "feedforward"])
def test_with_whitened_features(controller: str) -> None:
    compare(CONFIG, controller, whitening=0.05)
