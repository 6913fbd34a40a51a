"""`gnomon evaluate`: a trained agent on fresh lanes with frozen weights."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from gnomon.analysis.first_trials import FirstTrials
    from gnomon.analysis.performance import Production
    from gnomon.lab.tasks import Task

LONGEST_NAME = 80  # characters of a folder's name


@dataclass(frozen=True)
class Evaluate:
    """Let a trained agent do the task: fresh lanes, frozen weights, sampled actions.

    Writes the trial table (trials.parquet), a recording of units and gaze in a few lanes (recording.zarr.zip), and how
    both were made (evaluation.json).
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a run or of a published agent; published/NAME is one that ships with Gnomon."""
    trials: int = 5000
    """Trials to do, in whole episodes; a few more where lanes would get unequal numbers. The default takes an LSTM
    about half a minute on one core."""
    seed: int = 1
    """Seed of everything random in the evaluation."""
    out: Path | None = None
    """Where to write; by default RUN/evaluation, and out/NAME for a published agent. With other intervals or probes:
    a folder in there that is named after them."""
    intervals: tuple[int, ...] | None = None
    """Sample intervals (or durations) in frames, in place of the trained ones."""
    probes: tuple[int, ...] = ()
    """Further intervals, in frames, never rewarded, on a share of the trials."""
    probe_probability: float = 0.5
    """That share."""
    record_lanes: int = 4
    """Lanes of which units and gaze are recorded, frame by frame; 0 for none."""
    units: tuple[str, ...] | None = None
    """Which units to record, such as cell or hidden; by default all that the controller has."""


def evaluate(options: Evaluate) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from gnomon.commands.printing import command
    from gnomon.commands.printing import console as make_console
    from gnomon.commands.show import writable_folder
    from gnomon.learn.malloc import keep_freed_memory
    from gnomon.published.agents import load_agent
    from gnomon.records.recordings import write_recording
    from gnomon.records.runs import write_text
    from gnomon.records.trials import write_trials
    from gnomon.subjects.evaluation import evaluate as evaluate_agent

    check(options)
    keep_freed_memory()
    console = make_console()
    agent, config = load_agent(options.run, lambda complaint: console.print(complaint, style="yellow"))
    task = changed_task(config.task, options)
    out = writable_folder(options.out or default_folder(options.run) / settings_name(config.task, task))
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
            report=lambda done, wanted: bar.update(row, completed=done, total=wanted),
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
    if task != config.task and options.out is None:
        console.print("              a place of its own: the task was not the one of training")
    if not result.complete:
        console.print(f"only {len(result.trials)} trials in {result.frames:,} frames a lane", style="yellow")
    print_scores(result.trials, task, console)
    console.print("try next      " + command("gnomon", "show", options.run))


def check(options: Evaluate) -> None:
    """What can be told to be wrong before the agent is loaded."""
    from gnomon.lab.laboratory import check_seed

    for name, least in (("trials", 1), ("record_lanes", 0)):
        if getattr(options, name) < least:
            raise ValueError(f"{name} is {getattr(options, name)}; it must be at least {least}")
    check_seed(options.seed)
    if not 0 <= options.probe_probability <= 1:  # nor is nan
        raise ValueError(f"probe_probability is {options.probe_probability}; a probability lies between 0 and 1")


def default_folder(path: Path) -> Path:
    """Where results go: into the run's own folder; a published agent's is left alone."""
    from gnomon.published.agents import find_agent, is_published

    folder = find_agent(path)
    return Path("out") / folder.resolve().name if is_published(folder) else folder / "evaluation"


def changed_task(task: Task, options: Evaluate) -> Task:
    """The run's task with the intervals and probes asked for."""
    changes: dict[str, Any] = {}
    if options.intervals is not None:
        changes[task.intervals_setting] = options.intervals
    if options.probes:
        changes |= {"probe_intervals": options.probes, "probe_probability": options.probe_probability}
    unknown = [name for name in changes if not hasattr(task, name)]
    if unknown:
        raise ValueError(f"--probes needs a task with the setting {unknown[0]}; {task.name} has none")
    return replace(task, **changes)


def settings_name(standard: Task, task: Task) -> str:
    """A folder's name that tells which settings are not the standard ones; empty if all are.

    So the standard evaluation is never overwritten by another: "intervals-20-40", "probe_intervals-15-25-...".
    """
    changed = {key: value for key, value in vars(task).items() if value != getattr(standard, key)}
    name = "-".join("-".join([key, *map(str, as_list(value))]) for key, value in changed.items())
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME].rstrip('-')}-{sha256(name.encode()).hexdigest()[:8]}"


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def print_scores(trials: pl.DataFrame, task: Task, console: Console) -> None:
    """Production per interval, or choices per duration."""
    from gnomon.analysis.first_trials import first_trials
    from gnomon.analysis.performance import production

    if not len(trials):
        console.print("no trial was finished")
    elif not task.produces:
        print_choices(trials, console)
    elif trials["production_interval"].count():
        print_production(production(trials), first_trials(trials), console)
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


def print_production(result: Production, firsts: FirstTrials, console: Console) -> None:
    """Production per sample interval, and the numbers that sum it up.

    firsts: the first trials of an episode, apart from the others: in these the state is still the initial one.
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
    for name, share in (("first trials of an episode", firsts.first_within), ("other trials", firsts.later_within)):
        if share.n_trials:
            console.print(f"  {name:26}  {share.value:.1%} of {share.n_trials}")
    if math.isfinite(result.line.slope):
        low, high = result.line.slope_interval
        console.print(f"slope of mean production      {result.line.slope:.3f} (95 % bootstrap {low:.3f} to {high:.3f})")
    extremes = f"{number(result.bias_shortest, '+')} and {number(result.bias_longest, '+')}"
    console.print(f"bias at the extremes          {extremes} frames")


def number(value: float, sign: str = "") -> str:
    """With one decimal; a dash where there is none."""
    return f"{value:{sign}.1f}" if math.isfinite(value) else "-"
