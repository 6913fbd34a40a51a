"""Rows of the trial table as plain dicts: the same values as the table's, without going through one for each trial."""

from typing import Any

from polars import Boolean
from torch import Tensor

from gnomon.lab.tasks.base import Outcome, Task
from gnomon.lab.trials import NO_PRODUCTION
from gnomon.records.trials import schema

Row = dict[str, Any]


def trial_rows(task: Task, whole: Tensor, real: Tensor, columns: list[str]) -> list[Row]:
    """The rows of `Trials.take_rows` (int [columns, n], float64 [2, n]), each without the columns that are null."""
    kinds = schema(task)
    rows = []
    for numbers, (tolerance, reward) in zip(whole.T.tolist(), real.T.tolist(), strict=True):
        row: Row = dict(zip(columns, numbers, strict=True))
        row |= {"task": task.name, "tolerance": tolerance, "reward": reward}
        row["outcome"] = Outcome(row["outcome"]).name.lower()
        absent = {f"{event}_frame" for event in task.events if row[f"{event}_frame"] < 0}
        if not task.produces:  # a choice is not a production, and has no tolerance
            absent |= {"production_interval", "tolerance"}
        elif row["production_interval"] == NO_PRODUCTION:
            absent.add("production_interval")
        rows.append(
            {
                name: bool(row[name]) if kind == Boolean else row[name]
                for name, kind in kinds.items()
                if name not in absent
            }
        )
    return rows
