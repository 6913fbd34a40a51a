"""`gnomon evaluate`: a trained agent on fresh lanes with frozen weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from rich.console import Console

    from gnomon.analysis.performance import Production
    from gnomon.lab.tasks import Task


@dataclass(frozen=True)
class Evaluate:
    """Let a trained agent do the task: fresh lanes, frozen weights, sampled actions.

    Writes the trial table (trials.parquet) and, if asked, a recording of units and gaze (recording.zarr.zip).
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a run or of a published agent; published/NAME is one that comes with Gnomon."""
    trials: int = 2000
    """Trials to do."""
    seed: int = 1
    """Seed of everything random in the evaluation."""
    out: Path | None = None
    """Where to write; by default RUN/evaluation, and out/NAME for a published agent."""
    intervals: tuple[int, ...] | None = None
    """Sample intervals in frames, in place of the trained ones."""
    probes: tuple[int, ...] = ()
    """Further intervals, in frames, never rewarded, on a share of the trials."""
    probe_probability: float = 0.5
    """That share."""
    record_lanes: int = 0
    """Lanes of which units and gaze are recorded, frame by frame; 0 for none."""


def evaluate(options: Evaluate) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from gnomon.analysis.performance import production
    from gnomon.lab.tasks import ReadySetGo
    from gnomon.learn.agents import load_agent
    from gnomon.learn.evaluation import evaluate as evaluate_agent
    from gnomon.learn.memory import keep_freed_memory
    from gnomon.records.recordings import write_recording
    from gnomon.records.trials import write_trials

    keep_freed_memory()
    console = Console(highlight=False, soft_wrap=True)
    agent, config = load_agent(options.run, lambda complaint: console.print(complaint, style="yellow", markup=False))
    task = changed_task(config.task, options)
    bar = Progress("evaluating", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console)
    with bar:
        row = bar.add_task("", total=options.trials)
        result = evaluate_agent(
            agent,
            task,
            config.optics,
            trials=options.trials,
            seed=options.seed,
            record_lanes=options.record_lanes,
            report=lambda done, wanted: bar.update(row, completed=done),
        )
    out = options.out or default_folder(options.run)
    write_trials(result.trials, out / "trials.parquet")
    console.print(f"trials        {out / 'trials.parquet'}")
    if result.recording is not None:
        write_recording(result.recording, out / "recording.zarr.zip")
        console.print(f"recording     {out / 'recording.zarr.zip'}")
    if not result.complete:
        console.print(
            f"[yellow]only {len(result.trials)} trials in {result.frames:,} frames a lane: it hardly ever fixates[/]"
        )
    if isinstance(task, ReadySetGo) and result.trials["production_interval"].count() > 1:
        print_production(production(result.trials), console)


def default_folder(path: Path) -> Path:
    """Where results go: into the run's own folder; a published agent's is left alone."""
    from gnomon.learn.agents import find_agent, is_published

    folder = find_agent(path)
    return Path("out") / folder.resolve().name if is_published(folder) else folder / "evaluation"


def changed_task(task: Task, options: Evaluate) -> Task:
    """The run's task with the intervals and probes asked for."""
    from gnomon.lab.tasks import ReadySetGo

    if options.intervals is None and not options.probes:
        return task
    if not isinstance(task, ReadySetGo):
        raise ValueError(f"--intervals and --probes are for ready_set_go; this run's task is {task.name}")
    if options.intervals is not None:
        task = replace(task, intervals=options.intervals)
    if options.probes:
        task = replace(task, probe_intervals=options.probes, probe_probability=options.probe_probability)
    return task


def print_production(result: Production, console: Console) -> None:
    """Production per sample interval, and the numbers that sum it up."""
    from rich.table import Table

    table = Table(title="production per sample interval (frames, 60 a second)", title_justify="left")
    for column in ("sample", "trials", "mean", "s.d.", "bias", "within 8", "early", "timeout"):
        table.add_column(column, justify="right")
    for row in zip(
        result.sample_interval, result.n_trials, result.mean, result.sd, result.bias,
        result.share_within, result.share_early, result.share_timeout, strict=True,
    ):  # fmt: skip
        interval, count, mean, sd, bias, within, early, timeout = row
        table.add_row(
            f"{interval}", f"{count}", f"{mean:.1f}", f"{sd:.1f}", f"{bias:+.1f}",
            f"{within:.1%}", f"{early:.1%}", f"{timeout:.1%}",
        )  # fmt: skip
    console.print(table)
    low, high = result.line.slope_interval
    share = float((result.share_within * result.n_trials).sum() / result.n_trials.sum())
    console.print(f"within 8 frames, all trials   {share:.1%}")
    console.print(f"slope of mean production      {result.line.slope:.3f} (95 % bootstrap {low:.3f} to {high:.3f})")
    console.print(f"bias at the extremes          {result.bias_shortest:+.1f} and {result.bias_longest:+.1f} frames")
