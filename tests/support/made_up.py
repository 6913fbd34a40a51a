"""Unrolls with made-up resets and rewards, and learners for the small run."""

from dataclasses import replace

import torch
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.config import LearningConfig
from gnomon.learn.actor import Actor
from gnomon.learn.learner import Learner
from gnomon.learn.unroll import Unroll


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
    unroll.end[2, ::2] = unroll.first[3, ::2] = True
    return replace(unroll, reward=torch.randn(unroll.reward.shape, generator=generator))


def rewarded(actor: Actor, seed: int) -> Unroll:
    """The next unroll, with made-up rewards."""
    unroll = actor.unroll()
    return replace(unroll, reward=torch.randn(unroll.reward.shape, generator=torch.Generator().manual_seed(seed)))


def build_learner(actor: Actor, config: LearningConfig) -> Learner:
    return Learner(actor.agent, actor.cache, config, torch.Generator().manual_seed(0))


def copy_weights(agent: Agent) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in agent.state_dict().items()}
