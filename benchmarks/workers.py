"""What do several workers gain? Frames per second of one run with one worker and with several, by the clock.

Run `python benchmarks/workers.py` on idle cores (about six minutes on two). The runs take turns. Two phases are timed:
the beginning of a run, when every worker must see for itself what is seen for the first time, and a run whose agent
already keeps time (a published one, which goes on learning at a rate of nearly 0).
"""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import torch
import tyro
from rich.console import Console
from rich.table import Table

from gnomon.config import RunConfig
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
    """Measure what several workers gain."""

    workers: int = 2
    """To compare with one; each needs a core."""
    seconds: float = 15.0
    """Of each measurement."""
    turns: int = 2


def beginning(controller: str, workers: int, folder: Path) -> Trainer:
    """A run of the preset."""
    config = preset("laptop", controller=controller)
    return Trainer(with_workers(config, workers), RunFolder(folder))


def trained(controller: str, workers: int, folder: Path) -> Trainer:
    """A run that goes on with a published agent, whose weights hardly change."""
    config = with_workers(preset("laptop", controller=controller), workers)
    rates = replace(config.learning.optimiser, learning_rate=ALMOST_NOTHING, vision_learning_rate=ALMOST_NOTHING)
    config = replace(config, learning=replace(config.learning, optimiser=rates))
    trainer = Trainer(config, RunFolder(folder))
    agent, _ = load_agent(Path(f"published/{controller}-0"))
    trainer.agent.load_state_dict(agent.state_dict())
    return trainer


def with_workers(config: RunConfig, workers: int) -> RunConfig:
    return replace(config, learning=replace(config.learning, workers=workers))


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
    table = Table("agent", "phase", "1 worker", f"{options.workers} workers", "times the frames")
    with tempfile.TemporaryDirectory() as folder:
        for controller in CONTROLLERS:
            for phase in (beginning, trained):
                speeds: dict[int, list[float]] = {1: [], options.workers: []}
                for _ in range(options.turns):
                    for workers, found in speeds.items():
                        found.append(speed(phase(controller, workers, Path(folder) / "run"), options.seconds))
                alone, together = (median(found) for found in speeds.values())
                table.add_row(
                    controller, phase.__name__, f"{alone:,.0f}", f"{together:,.0f}", f"{together / alone:.2f}"
                )
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
