"""What do several workers gain, and what does bfloat16? Frames per second of one run, by the clock.

Run `python benchmarks/workers.py` on idle cores (about eight minutes on two). The runs take turns. Two phases are
timed: the beginning of a run, when every worker must see for itself what is seen for the first time, and a run whose
agent already keeps time (a published one, which goes on learning at a rate of nearly 0).
"""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
import tyro
from rich.console import Console
from rich.table import Table

from gnomon.config import LearningConfig, RunConfig
from gnomon.learn.build import device_for
from gnomon.learn.loop import Trainer
from gnomon.learn.malloc import keep_freed_memory
from gnomon.presets import preset
from gnomon.published.agents import load_agent
from gnomon.records.runs import RunFolder

CONTROLLERS = ("lstm", "feedforward")
WARM_UP = 3  # rounds that are not timed
ALMOST_NOTHING = 1e-9  # a learning rate


@dataclass(frozen=True)
class Options:
    """Measure what several workers gain, and what bfloat16 does with one."""

    workers: int = 2
    """To compare with one; each needs a core."""
    seconds: float = 15.0
    """Of each measurement."""
    turns: int = 2


def beginning(config: RunConfig, folder: Path) -> Trainer:
    """A run of the preset."""
    return Trainer(config, RunFolder(folder))


def trained(config: RunConfig, folder: Path) -> Trainer:
    """A run that goes on with a published agent, whose weights hardly change."""
    rates = replace(config.learning.optimiser, learning_rate=ALMOST_NOTHING, vision_learning_rate=ALMOST_NOTHING)
    trainer = Trainer(changed(config, optimiser=rates), RunFolder(folder))
    agent, _ = load_agent(Path(f"published/{config.agent.controller}-0"))
    trainer.agent.load_state_dict(agent.state_dict())
    return trainer


def changed(config: RunConfig, **learning: Any) -> RunConfig:
    return replace(config, learning=replace(config.learning, **learning))


def speed(trainer: Trainer, seconds: float) -> float:
    """Frames per second by the clock."""
    for _ in range(WARM_UP):
        trainer.round()
    frames, start = trainer.frames, time.perf_counter()
    while time.perf_counter() - start < seconds:
        trainer.round()
    return (trainer.frames - frames) / (time.perf_counter() - start)


def main(options: Options) -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    ways: dict[str, dict[str, Any]] = {
        "1 worker": {"workers": 1},
        f"{options.workers} workers": {"workers": options.workers},
        "bfloat16": {"workers": 1, "precision": "bfloat16"},
    }
    try:
        device_for(LearningConfig(**ways["bfloat16"]))
    except ValueError:  # not on this processor
        del ways["bfloat16"]
    table = Table("agent", "phase", *ways, "times the frames")
    with tempfile.TemporaryDirectory() as folder:
        for controller in CONTROLLERS:
            config = preset("laptop", controller=controller)
            for phase in (beginning, trained):
                found: dict[str, list[float]] = {way: [] for way in ways}
                for _ in range(options.turns):
                    for way, settings in ways.items():
                        trainer = phase(changed(config, **settings), Path(folder) / "run")
                        found[way].append(speed(trainer, options.seconds))
                speeds = [median(each) for each in found.values()]
                ratios = " ".join(f"{each / speeds[0]:.2f}" for each in speeds[1:])
                table.add_row(controller, phase.__name__, *(f"{each:,.0f}" for each in speeds), ratios)
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
