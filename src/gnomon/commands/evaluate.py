"""`gnomon evaluate`: a trained agent on fresh lanes with frozen weights."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from gnomon.analysis.bootstrap import Share
    from gnomon.analysis.performance import Production
    from gnomon.lab.tasks import Task


@dataclass(frozen=True)
class Evaluate:
    """Let a trained agent do the task: fresh lanes, frozen weights, sampled actions.

    Writes the trial table (trials.parquet), a recording of units and gaze in a few lanes (recording.zarr.zip), and how
    both were made (evaluation.json).
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
    record_lanes: int = 4
    """Lanes of which units and gaze are recorded, frame by frame; 0 for none."""
    units: tuple[str, ...] | None = None
    """Which units to record, such as cell or hidden; by default all that the controller has."""


def evaluate(options: Evaluate) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from gnomon.commands.show import writable_folder
    from gnomon.learn.agents import load_agent
    from gnomon.learn.evaluation import evaluate as evaluate_agent
    from gnomon.learn.memory import keep_freed_memory
    from gnomon.records.recordings import write_recording
    from gnomon.records.runs import write_text
    from gnomon.records.trials import write_trials

    for name, least in (("trials", 1), ("record_lanes", 0)):
        if getattr(options, name) < least:
            raise ValueError(f"{name} is {getattr(options, name)}; it must be at least {least}")
    keep_freed_memory()
    console = Console(highlight=False, soft_wrap=True)
    agent, config = load_agent(options.run, lambda complaint: console.print(complaint, style="yellow", markup=False))
    task = changed_task(config.task, options)
    out = writable_folder(options.out or default_folder(options.run))
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
            units=options.units,
            report=lambda done, wanted: bar.update(row, completed=done),
        )
    recording = out / "recording.zarr.zip"
    recording.unlink(missing_ok=True)  # one that belongs to another trial table would mislead
    write_trials(result.trials, out / "trials.parquet")
    settings = replace(config, task=task)
    asked = {"agent": str(options.run), "trials": options.trials, "seed": options.seed}
    write_text(out / "evaluation.json", json.dumps(asked | {"config": json.loads(settings.to_json())}, indent=2))
    console.print(f"trials        {out / 'trials.parquet'}")
    if result.recording is not None:
        write_recording(result.recording, recording)
        console.print(f"recording     {recording}")
    if not result.complete:
        console.print(f"[yellow]only {len(result.trials)} trials in {result.frames:,} frames a lane[/]")
    print_scores(result.trials, task, console)
    console.print(f"try next      gnomon evaluate {options.run} --seed {options.seed + 1} --out another-folder")


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


def print_scores(trials: pl.DataFrame, task: Task, console: Console) -> None:
    """Production per interval, or choices per duration."""
    from gnomon.analysis.performance import production, share_within

    if not len(trials):
        console.print("no trial was finished")
    elif not task.levels:
        print_choices(trials, console)
    elif trials["production_interval"].count():
        print_production(production(trials), share_within(trials.filter(trials["trial"] == 0)), console)
    else:
        console.print("nothing was produced")


def print_choices(trials: pl.DataFrame, console: Console) -> None:
    """Share correct per duration, and so the share of answers that meant long."""
    import polars as pl
    from rich.table import Table

    right = (pl.col("outcome") == "correct").mean().alias("right")
    shares = trials.group_by("sample_interval").agg(pl.len().alias("trials"), right).sort("sample_interval")
    durations: list[int] = shares["sample_interval"].to_list()
    middle = (durations[0] + durations[-1]) / 2
    table = Table(title="choices per duration (frames, 60 a second)", title_justify="left")
    for column in ("duration", "trials", "correct", "answered long"):
        table.add_column(column, justify="right")
    for duration, count, share in shares.iter_rows():
        long = share if duration > middle else 1 - share
        table.add_row(f"{duration}", f"{count}", f"{share:.1%}", f"{long:.1%}")
    console.print(table)
    console.print(f"correct, all trials           {(trials['outcome'] == 'correct').mean():.1%}")


def print_production(result: Production, first: Share, console: Console) -> None:
    """Production per sample interval, and the numbers that sum it up.

    first: the share of an episode's first trials within tolerance, and their number. Then memories are still empty, or
    as training left them, so these trials may be unlike the others.
    """
    from rich.table import Table

    table = Table(title="production per sample interval (frames, 60 a second)", title_justify="left")
    for column in ("sample", "trials", "mean", "s.d.", "bias", "within 8", "early", "timeout"):
        table.add_column(column, justify="right")
    for row in zip(
        result.sample_interval, result.n_trials, result.mean, result.sd, result.bias,
        result.share_within, result.share_early, result.share_timeout, strict=True,
    ):  # fmt: skip
        interval, count, mean, sd, bias, within, early, timeout = row
        shares = (f"{share:.1%}" for share in (within, early, timeout))
        table.add_row(f"{interval}", f"{count}", number(mean), number(sd), number(bias, "+"), *shares)
    console.print(table)
    console.print(f"within 8 frames, all trials   {result.within.value:.1%}")
    if first.n_trials:
        console.print(f"  first trials of an episode  {first.value:.1%} of {first.n_trials}")
    if math.isfinite(result.line.slope):
        low, high = result.line.slope_interval
        console.print(f"slope of mean production      {result.line.slope:.3f} (95 % bootstrap {low:.3f} to {high:.3f})")
    extremes = f"{number(result.bias_shortest, '+')} and {number(result.bias_longest, '+')}"
    console.print(f"bias at the extremes          {extremes} frames")


def number(value: float, sign: str = "") -> str:
    """With one decimal; a dash where there is none."""
    return f"{value:{sign}.1f}" if math.isfinite(value) else "-"
