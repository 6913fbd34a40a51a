"""A run small enough to be done in a second, and a process that does it: `python small_run.py FOLDER ROUNDS [KIND]`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from gnomon.agent.agent import Agent, AgentConfig
from gnomon.agent.feature_cache import FeatureCache
from gnomon.config import LearningConfig, Optimiser, RunConfig, Schedule
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import ReadySetGo
from gnomon.learn.actor import Actor
from gnomon.learn.loop import Limits, resume, start

# An 11 x 11 lattice on which a random gaze soon finds the cross; two trials end an episode, or four seconds.
TASK = ReadySetGo(
    intervals=(5, 10),
    foreperiods=(3,),
    flash=2,
    pause=4,
    fixation_size=0.3,
    timeout_factor=3.0,
    trials_per_episode=2,
    episode_seconds=4,
)
OPTICS = OpticsConfig(retina=(8, 8), gaze_step=60, gaze_limit=33.0)
# Batches of 10 of 32 lanes: after most rounds some trajectories wait.
LEARNING = LearningConfig(
    lanes=32,
    unroll=8,
    batch=10,
    optimiser=Optimiser(learning_rate=1e-3, vision_learning_rate=1e-3),
    schedule=Schedule(frames=60_000_000),
)
CONFIG = RunConfig(TASK, OPTICS, AgentConfig("lstm", units=16, features=16), LEARNING, seed=3)

FRAMES_PER_ROUND = LEARNING.lanes * LEARNING.unroll


def limit(rounds: int) -> Limits:
    return Limits(frames=rounds * FRAMES_PER_ROUND)


def changed(**learning: Any) -> RunConfig:
    """The small run with other settings of learning."""
    return replace(CONFIG, learning=replace(LEARNING, **learning))


WAITING = changed(batch=80)  # most unrolls only wait for a batch
# Vision learns from a sample, and keeps features of earlier weights.
SAMPLED = changed(optimiser=replace(LEARNING.optimiser, vision_every=2, vision_sample=20))
TEAM = replace(SAMPLED, learning=replace(SAMPLED.learning, workers=2))
KINDS = {"plain": CONFIG, "sampled": SAMPLED, "team": TEAM}


def small_agent(controller: str, laboratory: Laboratory, seed: int = 0, whitening: float = 0.0) -> Agent:
    """An agent with few units for a laboratory with the small optics."""
    config = AgentConfig(controller, units=16, features=16, whitening=whitening)
    generator = torch.Generator().manual_seed(seed)
    return Agent(config, OPTICS.retina, len(laboratory.actions), generator)


def small_actor(
    controller: str,
    *,
    lanes: int,
    length: int,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    whitening: float = 0.0,
) -> Actor:
    """An actor with an agent and a laboratory of its own; all it does follows from the seed."""
    laboratory = Laboratory(TASK, OPTICS, lanes=lanes, seed=seed, stagger=True)
    agent = small_agent(controller, laboratory, seed, whitening).to(dtype)
    if whitening:
        with torch.no_grad():
            agent.vision.whiten(agent.vision(laboratory.render(torch.arange(200))), whitening)
    cache = FeatureCache(agent, laboratory.render, laboratory.observations)
    return Actor(laboratory, agent, cache, torch.Generator().manual_seed(seed + 1), length=length)


def main(folder: Path, rounds: int, kind: str = "plain") -> None:
    """Begin the small run, or go on with it; say which round is done, and write a checkpoint, after every round."""
    torch.set_num_threads(1)
    trainer = resume(folder)[0] if (folder / "config.json").exists() else start(KINDS[kind], folder)
    print(f"at {trainer.rounds}", flush=True)
    trainer.run(limit(rounds), lambda row: print(f"done {row['round']}", flush=True), checkpoint_minutes=0.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
