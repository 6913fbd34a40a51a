"""`gnomon sweep`: the trainings of an experiment file, side by side, with one view of how they go."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gnomon.commands.train import cluster_address, cores

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from gnomon.sweep.experiment import Training
    from gnomon.sweep.sweeper import Job, Sweeper

VIEW_SECONDS = 1.0  # between two looks at all runs
LINE_SECONDS = 60.0  # between two lines where there is no terminal
COLOURS = {"running": "cyan", "finished": "green", "failed": "red", "stopped": "yellow"}


@dataclass(frozen=True)
class Sweep:
    """Train all that an experiment file lists, as many at a time as cores allow.

    Finished trainings are skipped, others go on from their last checkpoint; so the same command also continues a
    sweep. Ctrl-C once stops all of them with a checkpoint, twice stops now.
    """

    experiment: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The list of trainings (TOML), such as experiments/paper.toml."""
    runs: Path | None = None
    """Folder in which the runs are kept; by default runs/ and the file's name."""
    jobs: int | None = None
    """Trainings at a time; by default as many as there are cores for."""
    threads_per_job: int = 1
    """Threads of each training. Another number may change the last bits of a sum, and so the course of a run."""
    cluster: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[ADDRESS]")] = None
    """Spread the trainings over a Ray cluster; needs gnomon[cluster], and --runs in a folder that all its machines
    share. ADDRESS is as in gnomon train --cluster."""


def sweep(options: Sweep) -> None:
    from gnomon.commands.printing import command
    from gnomon.commands.printing import console as make_console
    from gnomon.sweep.experiment import read_experiment

    runs = options.runs or Path("runs") / options.experiment.stem
    trainings = read_experiment(options.experiment)
    console = make_console()
    with chosen_sweeper(options, trainings, runs) as sweeper:
        run_sweep(options, sweeper, runs, console)
    if sweeper.stopping:
        again = command("gnomon", "sweep", options.experiment)
        console.print(f"stopped, as asked; go on with the same command: {again} ...")
        raise SystemExit(130)
    if any(job.state != "finished" for job in sweeper.jobs):
        raise SystemExit(1)


@contextmanager
def chosen_sweeper(options: Sweep, trainings: Sequence[Training], runs: Path) -> Iterator[Sweeper]:
    """A sweeper for this machine, or for the cluster that is asked for."""
    from gnomon.sweep.sweeper import Sweeper

    threads = options.threads_per_job
    if options.cluster is None:
        jobs = max(1, cores() // max(1, threads)) if options.jobs is None else options.jobs
        yield Sweeper(trainings, runs, jobs=jobs, threads=threads)
        return
    from gnomon.cluster.apart import joined_apart
    from gnomon.cluster.sweep import ClusterSweeper, jobs_on

    with joined_apart(cluster_address(options.cluster), cores()) as ray:
        yield ClusterSweeper(trainings, runs, ray, jobs=jobs_on(ray.resources, options.jobs, threads), threads=threads)


def run_sweep(options: Sweep, sweeper: Sweeper, runs: Path, console: Console) -> None:
    """Run it with a live table, or with lines where there is no terminal."""
    done = sum(job.state == "finished" for job in sweeper.jobs)
    console.print(
        f"{len(sweeper.jobs)} trainings of {options.experiment} in {runs}: {done} finished; {sweeper.limit} at a time, "
        f"{options.threads_per_job} thread{'s' if options.threads_per_job > 1 else ''} each"
    )
    for job in sweeper.jobs:
        threads = job.folder.threads()
        if job.state != "finished" and threads not in (None, options.threads_per_job):
            console.print(
                f"{job.name} had {threads} threads so far; with another number it is not the same to the last bit"
            )
    if console.is_terminal:
        from rich.live import Live

        with Live(console=console, auto_refresh=False) as live:
            sweeper.run(LiveTable(live))
    else:
        sweeper.run(Lines(console))
    say_how_it_went(sweeper.jobs, runs, console)


class LiveTable:
    """The table, kept up to date."""

    def __init__(self, live: Live) -> None:
        self.live, self.last = live, -1e9

    def __call__(self, jobs: list[Job]) -> None:
        if time.monotonic() - self.last >= VIEW_SECONDS or not any(job.process for job in jobs):
            self.last = time.monotonic()
            self.live.update(progress_table(jobs), refresh=True)


class Lines:
    """A line when a run begins or ends, and now and then one for each that runs."""

    def __init__(self, console: Console) -> None:
        self.console, self.last = console, time.monotonic()
        self.states: dict[str, str] = {}

    def __call__(self, jobs: list[Job]) -> None:
        due = time.monotonic() - self.last >= LINE_SECONDS
        self.last = time.monotonic() if due else self.last
        for job in jobs:
            changed = job.state != self.states.get(job.name, "waiting")
            if changed or (due and job.state == "running"):
                frames, share, speed, rewarded, within = numbers(job)
                scores = f"{frames} frames ({share}), {speed} a second, rewarded {rewarded}, within 8 {within}"
                self.console.print(f"{job.name:20} {job.state:9} {scores}")
            self.states[job.name] = job.state


def progress_table(jobs: list[Job]) -> Table:
    """A row per run."""
    from rich.table import Table

    table = Table()
    for column in ("run", "state"):
        table.add_column(column)
    for column in ("frames", "done", "frames/s", "rewarded", "within 8"):
        table.add_column(column, justify="right")
    for job in jobs:
        table.add_row(job.name, job.state, *numbers(job), style=COLOURS.get(job.state))
    return table


def numbers(job: Job) -> list[str]:
    """Frames, their share of the run, frames a second, rewarded, within 8 frames; '-' for what is not known."""
    progress = job.progress()
    frames = progress.get("frames")
    speed = progress.get("frames_per_second")
    return [
        "-" if frames is None else f"{frames:,}",
        "-" if frames is None else f"{min(1.0, frames / job.frames):.0%}",
        "-" if speed is None else f"{speed:,.0f}",
        *(f"{progress[score]:.1%}" if score in progress else "-" for score in ("rewarded", "criterion")),
    ]


def say_how_it_went(jobs: list[Job], runs: Path, console: Console) -> None:
    from gnomon.commands.printing import command

    for job in jobs:
        if job.state == "failed":
            console.print(f"failed: {job.name}: {job.reason} (see {job.log})")
    counts = {state: sum(job.state == state for job in jobs) for state in dict.fromkeys(job.state for job in jobs)}
    console.print(", ".join(f"{count} {state}" for state, count in counts.items()))
    finished = [job for job in jobs if job.state == "finished"]
    if finished:
        console.print("try next      " + command("gnomon", "evaluate", finished[0].folder.path))
    console.print("list          " + command("gnomon", "runs", "--folder", runs))
