"""A run is a folder: config, versions, metrics, trials, checkpoints, and a status that says how it went.

config.json       every setting
versions.json     what it ran with: versions, machine, threads
status.json       state, frames, minutes, scores
metrics.jsonl     one line of metrics per logged round
trials/*.parquet  the training's trials, a part per checkpoint
checkpoints/      see gnomon.learn.checkpoint
tensorboard/      the metrics as curves
"""

import fcntl
import json
import math
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import torch

LIBRARIES = ("gnomon", "torch", "numpy", "polars", "safetensors", "gymnasium")


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    def create(self, config: str) -> None:
        """Make a new run's folder; one that holds a run already is not touched."""
        if self.config.exists():
            raise ValueError(f"{self.path} holds a run already; choose another name, or --resume {self.path}")
        for folder in (self.checkpoints, self.path / "trials"):
            folder.mkdir(parents=True, exist_ok=True)
        write_text(self.config, config)
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
            return json.loads((self.path / "versions.json").read_text()).get("threads")
        except (OSError, ValueError):
            return None

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
            status = json.loads((self.path / "status.json").read_text())
        except (OSError, ValueError):
            return {"state": "unknown"}
        if status.get("state") == "running" and not alive(status.get("process", -1)):
            status["state"] = "interrupted"
        return status

    # Trials and metrics, which grow with the checkpoints and are cut back to one when the run resumes from it.

    def write_trials(self, number: int, trials: pl.DataFrame) -> None:
        part = self.path / "trials" / f"{number:06d}.part"
        trials.write_parquet(part)
        part.replace(part.with_suffix(".parquet"))

    def read_trials(self) -> pl.DataFrame:
        """All trials of the training so far."""
        parts = sorted((self.path / "trials").glob("*.parquet"))
        if not parts:
            raise FileNotFoundError(f"{self.path} has no trials yet")
        return pl.concat([pl.read_parquet(part) for part in parts])

    def append_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Add one line per row. JSON has no NaN: what is undefined in a round is null."""
        with (self.path / "metrics.jsonl").open("a") as file:
            for row in rows:
                defined = {name: value if math.isfinite(value) else None for name, value in row.items()}
                file.write(json.dumps(defined) + "\n")

    def read_metrics(self) -> pl.DataFrame:
        """One row per logged round."""
        path = self.path / "metrics.jsonl"
        if not path.exists() or not path.stat().st_size:
            raise FileNotFoundError(f"{self.path} has no metrics yet")
        return pl.read_ndjson(path, infer_schema_length=None)

    def cut_back(self, number: int, rounds: int) -> None:
        """Drop what came after checkpoint `number`, written after that many rounds; it will come again."""
        for part in (self.path / "trials").glob("*.parquet"):
            if int(part.stem) > number:
                part.unlink()
        for checkpoint in self.checkpoints.glob("*"):
            if checkpoint.name.isdigit() and int(checkpoint.name) > number:
                shutil.rmtree(checkpoint)
        path = self.path / "metrics.jsonl"
        if path.exists():
            lines = path.read_text().splitlines(keepends=True)
            write_text(
                path,
                "".join(line for line in lines if line.endswith("\n") and json.loads(line)["round"] <= rounds),
            )


def alive(process: int) -> bool:
    """Whether a process of this machine still runs."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process > 0


def write_text(path: Path, text: str) -> None:
    """Replace a file by one that is whole."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


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
