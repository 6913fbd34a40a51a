"""`gnomon reproduce`: the paper, from trials (or from training) to the page."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from gnomon.commands.report import shared_words, write


@dataclass(frozen=True)
class Reproduce:
    """Do the paper: evaluate the published agents, analyse them, and write one HTML page.

    With --train the agents are trained first, which takes many hours. Stages are files in OUT: the same command goes on
    where it was stopped.
    """

    out: Path = Path("out/paper")
    """Folder for the page and everything behind it."""
    train: bool = False
    """Train the agents from nothing, into OUT/runs, in place of the published ones."""
    experiment: Path = Path("experiments/paper.toml")
    """The list of trainings, for --train."""
    trials: int = 2000
    """Trials of each evaluation."""
    seed: int = 1
    """Seed of everything random in the evaluations."""
    live: Path | None = None
    """A further run of which only the learning curve is shown."""


def reproduce(options: Reproduce) -> None:
    from gnomon.commands.sweep import Sweep, sweep
    from gnomon.study.participants import shipped
    from gnomon.sweep.experiment import read_experiment

    words = ["gnomon", "reproduce", *shared_words(options.out, options.trials, options.seed, options.live)]
    if options.train:
        trainings = read_experiment(options.experiment)
        folder = options.out / "runs"
        sweep(Sweep(options.experiment, folder))
        runs = tuple(str(folder / training.name) for training in trainings)
        words += ["--train", "--experiment", str(options.experiment)]
    else:
        runs = tuple(shipped())
        if not runs:
            raise ValueError(
                "no agents are published with this version; train them with --train, "
                "or name your own: gnomon report RUN..."
            )
    write(runs, options.out, options.trials, options.seed, options.live, [shlex.join(words)], clock=True)
