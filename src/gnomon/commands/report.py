"""`gnomon report`: runs, analysed as in the paper, on one page."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from gnomon.commands.train import cores

MOST_PROCESSES = 8  # each needs up to a gigabyte


@dataclass(frozen=True)
class Report:
    """Evaluate and analyse runs, and write one self-contained HTML page about them.

    Runs that differ in their seed only are one family. Stages are files in OUT, so the same command goes on where it
    was stopped, and does again only what has changed.
    """

    runs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN...")] = ()
    """Folders of runs or published agents, published/NAME, or scripted subjects (perfect, noisy, blind, random)."""
    out: Path = Path("out/report")
    """Folder for the page and everything behind it."""
    trials: int = 2000
    """Trials of each evaluation."""
    seed: int = 1
    """Seed of everything random in the evaluations."""
    live: Path | None = None
    """A further run of which only the learning curve is shown."""
    clock: bool = False
    """Also intervene in gaze and memory, to see where the clock is; see gnomon clock. Half a minute for each agent."""


def report(options: Report) -> None:
    words = ["gnomon", "report", *options.runs, *shared_words(options.out, options.trials, options.seed, options.live)]
    words += ["--clock"] * options.clock
    write(options.runs, options.out, options.trials, options.seed, options.live, [shlex.join(words)], options.clock)


def shared_words(out: Path, trials: int, seed: int, live: Path | None) -> list[str]:
    """What `report` and `reproduce` have in common on the command line."""
    words = ["--out", str(out), "--trials", str(trials), "--seed", str(seed)]
    return words if live is None else [*words, "--live", str(live)]


def write(
    runs: tuple[str, ...], out: Path, trials: int, seed: int, live: Path | None, commands: list[str], clock: bool
) -> None:
    """Run the study and write its page, telling of every stage and at last of the page's place.

    Everything is checked before anything is written.
    """
    from gnomon.commands.printing import console as make_console
    from gnomon.learn.malloc import keep_freed_memory
    from gnomon.report.contents import write_report
    from gnomon.study.participants import participants
    from gnomon.study.run import LEAST_TRIALS, run_study
    from gnomon.study.stages import Stages
    from gnomon.study.threads import use_one_thread

    if trials < LEAST_TRIALS:
        raise ValueError(f"trials is {trials}; a report needs at least {LEAST_TRIALS} of each participant")
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must be a whole number of at least 0")
    everyone = participants(runs)
    watched = None if live is None else participants([str(live)])[0]
    use_one_thread()
    keep_freed_memory()
    console = make_console()
    say = Stopwatch()
    processes = min(cores(), MOST_PROCESSES)
    run_study(everyone, Stages(out, say), trials=trials, seed=seed, live=watched, clock=clock, processes=processes)
    page = write_report(out, commands=commands, report=say)
    console.print(f"the page      {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")


@dataclass(frozen=True)
class Stopwatch:
    """Prints each line with the time since the start, from this process or another."""

    start: float = field(default_factory=time.monotonic)

    def __call__(self, line: str) -> None:
        from gnomon.commands.printing import console

        console().print(f"{time.monotonic() - self.start:6.0f} s  {line}")
