"""A run is a folder: config, versions, metrics, trials, checkpoints, and a status that says how it went.

config.json       every setting
versions.json     what it ran with: versions, machine, threads
status.json       state, frames, minutes, scores
metrics.jsonl     one line of metrics per logged round
trials/*.parquet  the training's trials, a part per checkpoint
checkpoints/      see gnomon.saving.checkpoint
tensorboard/      the metrics as curves
set-aside/        what was damaged, or newer than the checkpoint a run went on from; see gnomon.records.contents
"""

import fcntl
import hashlib
import io
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from typing import Any, Required, TypedDict

import polars as pl
import torch

from gnomon.declared import read_object
from gnomon.records import metrics
from gnomon.records.contents import CHECKPOINTS, METRICS, TRIALS, PartFacts, part_name, part_number
from gnomon.records.writing import write_text, write_whole

__all__ = ["RunFolder", "alive", "list_runs", "versions", "write_text"]

LIBRARIES = ("gnomon", "torch", "numpy", "polars", "safetensors", "gymnasium")


class Status(TypedDict, total=False):
    """What status.json declares; it may hold more."""

    state: Required[str]
    process: int
    time: str
    controller: str
    reason: str
    frames: int
    minutes: float
    criterion: float
    rewarded: float


class Versions(TypedDict, total=False):
    """What is read back from versions.json."""

    threads: int


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / CHECKPOINTS

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    def create(self, config: str) -> None:
        """Make a new run's folder; one that holds a run already is not touched."""
        if self.config.exists():
            raise ValueError(
                f"{self.path} holds a run already; choose another name, or --resume {quote(str(self.path))}"
            )
        for folder in (self.checkpoints, self.path / TRIALS):
            folder.mkdir(parents=True, exist_ok=True)
        write_text(self.config, config)
        self.note_versions()

    def note_versions(self) -> None:
        """Write down with which versions and threads the run began, unless that is known already."""
        if not (self.path / "versions.json").exists():
            write_text(self.path / "versions.json", json.dumps(versions(), indent=2))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to this run; ValueError if one does already."""
        with (self.path / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ValueError(f"{self.path} is being trained by another process; stop that one first") from None
            yield

    def threads(self) -> int | None:
        """How many threads the run was started with, if that is known."""
        try:
            threads = read_object(self.path / "versions.json", Versions).get("threads", 0)
        except (OSError, ValueError):
            return None
        return threads if threads > 0 else None

    def require(self) -> None:
        """Raise unless this is a run's folder."""
        if not self.config.exists():
            raise FileNotFoundError(f"{self.path} is not a run: it has no config.json")

    # Status.

    def write_status(self, state: str, **facts: Any) -> None:
        """state: running, stopped, finished or failed."""
        facts |= {
            "state": state,
            "process": os.getpid(),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_text(self.path / "status.json", json.dumps(facts, indent=2))

    def read_status(self) -> dict[str, Any]:
        """How the run went; a run whose process is gone without a word is "interrupted"."""
        try:
            status: dict[str, Any] = {**read_object(self.path / "status.json", Status)}
        except (OSError, ValueError):
            return {"state": "unknown"}
        if status["state"] == "running" and not alive(status.get("process", -1)):
            status["state"] = "interrupted"
        return status

    # Trials and metrics grow with the checkpoints.

    def write_trials(self, number: int, trials: pl.DataFrame) -> PartFacts:
        """Write a part of the trial table; returns what a checkpoint is to know of it."""
        file = io.BytesIO()
        trials.write_parquet(file)
        (self.path / TRIALS).mkdir(exist_ok=True)
        write_whole(self.path / TRIALS / part_name(number), file.getvalue())
        return {"rows": trials.height, "sha256": hashlib.sha256(file.getvalue()).hexdigest()}

    def read_trials(self) -> pl.DataFrame:
        """All trials of the training so far. ValueError, which names the file, if a part is damaged."""
        parts = sorted(path for path in (self.path / TRIALS).glob("*.parquet") if part_number(path) is not None)
        if not parts:
            raise FileNotFoundError(f"{self.path} has no trials yet")
        return pl.concat([read_part(part) for part in parts])

    def append_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Add one line per row."""
        metrics.append_metrics(self.path / METRICS, rows)

    def read_metrics(self) -> pl.DataFrame:
        """One row per logged round."""
        return metrics.read_metrics(self.path / METRICS)


def read_part(path: Path) -> pl.DataFrame:
    """A part of the trial table; ValueError if it is damaged."""
    try:
        return pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} is damaged ({error}); see gnomon check {quote(str(path.parents[1]))}") from None


def alive(process: int) -> bool:
    """Whether a process of this machine still runs."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process > 0


def versions() -> dict[str, Any]:
    """What a run was made with."""
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        **{library: version(library) for library in LIBRARIES},
    }


def list_runs(folder: Path) -> list[RunFolder]:
    """The runs in a folder, oldest first."""
    return [RunFolder(path.parent) for path in sorted(folder.glob("*/config.json"), key=lambda p: p.stat().st_mtime)]
