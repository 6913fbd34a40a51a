"""The trial table: one row per trial, in one declared schema, as polars and Parquet."""

import io
from pathlib import Path

import polars as pl
from torch import Tensor

from gnomon.lab.tasks.base import Outcome, Task
from gnomon.lab.trials import NO_PRODUCTION, Trials
from gnomon.records.writing import write_whole

OUTCOMES = pl.Enum([outcome.name.lower() for outcome in Outcome if outcome is not Outcome.NONE])

FIXED = pl.Schema(
    {
        "task": pl.String,
        "lane": pl.Int32,
        "episode": pl.Int32,  # within the lane, from 0
        "trial": pl.Int32,  # within the episode, from 0
        "sample_interval": pl.Int32,  # frames; the duration or target interval in the other tasks
        "production_interval": pl.Int32,  # frames; null where nothing was produced
        "outcome": OUTCOMES,
        "tolerance": pl.Float64,  # frames; null in tasks without one
        "reward": pl.Float64,
        "start_frame": pl.Int32,  # frame of fixation, counted from the episode's first frame, 0
        "end_frame": pl.Int32,
    }
)
"""Columns of every task; conditions and event frames of the task follow."""

KINDS = {int: pl.Int32, bool: pl.Boolean}  # of a task's conditions


PRODUCED = ("correct", "wrong")  # outcomes of trials in which the subject answered after Set
TOLERANCE = 8.0  # frames; the strictest of the paper's task


def is_within(tolerance: float = TOLERANCE) -> pl.Expr:
    """Whether each trial was answered after Set with |t_p - t_s| < tolerance."""
    near = (pl.col("production_interval") - pl.col("sample_interval")).abs() < tolerance
    return (near & pl.col("outcome").cast(pl.String).is_in(PRODUCED)).fill_null(False).alias("within")


def schema(task: Task | type[Task]) -> pl.Schema:
    """The columns of a task's trial table: the fixed ones, its conditions, `<event>_frame` (null if none)."""
    conditions = {name: KINDS[kind]() for name, kind in task.conditions.items() if name not in FIXED}
    return pl.Schema({**FIXED, **conditions, **{f"{event}_frame": pl.Int32() for event in task.events}})


def trial_table(task: Task, whole: Tensor, real: Tensor, columns: list[str]) -> pl.DataFrame:
    """The rows of `Trials.take_rows` (int [columns, n], float64 [2, n]) as a table."""
    raw = pl.DataFrame({name: row.numpy() for name, row in zip(columns, whole, strict=True)})
    raw = raw.with_columns(
        pl.lit(task.name).alias("task"),
        pl.Series("tolerance", real[0].numpy()),
        pl.Series("reward", real[1].numpy()),
        pl.col("outcome").replace_strict({int(o): o.name.lower() for o in Outcome}, return_dtype=pl.String),
    )
    production = pl.col("production_interval")
    produces = pl.lit(task.produces)  # a choice is not a production, and has no tolerance
    missing = [
        pl.when(produces & (production != NO_PRODUCTION)).then(production),
        pl.when(produces).then(pl.col("tolerance")),
        *(pl.when(pl.col(f"{event}_frame") >= 0).then(pl.col(f"{event}_frame")) for event in task.events),
    ]
    names = ["production_interval", "tolerance", *(f"{event}_frame" for event in task.events)]
    raw = raw.with_columns([expression.alias(name) for expression, name in zip(missing, names, strict=True)])
    return raw.select([pl.col(name).cast(kind) for name, kind in schema(task).items()])


def take_trials(trials: Trials) -> pl.DataFrame:
    """The trials that ended since the last call, in the order in which they ended."""
    whole, real = trials.take_rows()
    return trial_table(trials.task, whole, real, trials.row_columns())


def write_trials(table: pl.DataFrame, path: Path) -> None:
    """Write a trial table as Parquet; a half-written file never takes the place of a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    table.write_parquet(file)
    write_whole(path, file.getvalue())


def read_trials(path: Path) -> pl.DataFrame:
    """Read a trial table, and check that it is one."""
    if not path.exists():
        raise FileNotFoundError(f"there is no trial table at {path}")
    try:
        table = pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} is not a Parquet file, or is damaged: {error}") from None
    missing = [name for name in FIXED if name not in table.columns]
    if missing:
        raise ValueError(f"{path} is not a trial table: it lacks the columns {', '.join(missing)}")
    return table
