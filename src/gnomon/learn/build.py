"""From a config to a laboratory, an agent with its first weights, and the actor that has them all."""

import hashlib

import torch

from gnomon.agent.agent import Agent
from gnomon.agent.feature_cache import FeatureCache, run_vision
from gnomon.config import LearningConfig, RunConfig
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.actor import Actor

BFLOAT16 = ("avx512_bf16", "amx_bf16", "bf16")  # instructions, as torch names them
SAMPLE = 2_048  # observations by which features are whitened, spread evenly over all there are


def build_actor(config: RunConfig, name: str = "") -> Actor:
    """Lanes, an agent with the run's first weights, its feature cache, and the actor that has them all.

    The name gives an actor beside the run's first one random numbers of its own. Lanes start at different points of
    their first episode, so that their episodes do not end together.
    """
    learning, device = config.learning, device_for(config.learning)
    laboratory = Laboratory(
        config.task,
        config.optics,
        lanes=learning.lanes,
        seed=stream(config.seed, f"laboratory{name}"),
        stagger=True,
        device=device,
    )
    agent = untrained_agent(config, laboratory)
    if learning.precision == "bfloat16":
        agent.multiply_in(torch.bfloat16)
    drawing = torch.Generator(device).manual_seed(stream(config.seed, f"actions{name}"))
    cache = FeatureCache(agent, laboratory.render, laboratory.observations)
    return Actor(laboratory, agent, cache, drawing, length=learning.unroll)


@torch.no_grad()
def untrained_agent(config: RunConfig, laboratory: Laboratory) -> Agent:
    """The run's agent as it begins to learn."""
    agent = build_agent(config, laboratory).to(laboratory.device)
    if config.agent.whitening:
        ids = torch.arange(min(SAMPLE, laboratory.observations), device=laboratory.device)
        features = run_vision(agent, laboratory.render, ids * laboratory.observations // len(ids))
        agent.vision.whiten(features, config.agent.whitening)
    return agent


def build_agent(config: RunConfig, laboratory: Laboratory) -> Agent:
    """The run's agent with its weights as drawn, for others to be loaded into."""
    generator = torch.Generator().manual_seed(stream(config.seed, "weights"))
    return Agent(config.agent, config.optics.retina, len(laboratory.actions), generator)


def stream(seed: int, purpose: str) -> int:
    """A seed of its own for each purpose, so that one draw more here moves nothing there."""
    return int.from_bytes(hashlib.sha256(f"{seed} {purpose}".encode()).digest()[:7], "big")


def device_for(learning: LearningConfig) -> torch.device:
    """Where to learn; ValueError if this machine cannot do what is asked."""
    device = usable_device(learning.device)
    if learning.precision == "bfloat16" and device.type == "cpu":
        able = torch.cpu.get_capabilities()
        if not any(able.get(name) for name in BFLOAT16):
            raise ValueError("precision is 'bfloat16', but this processor has no instructions for it; choose 'single'")
    return device


def usable_device(name: str) -> torch.device:
    """The device of this name, if this machine has it."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        raise ValueError(f"device is {name!r}; this machine has {', '.join(there)}") from None
    return device
