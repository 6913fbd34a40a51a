"""metrics.jsonl: one JSON object per logged round, each value a number, or null where it is undefined.

Lines that are not such objects are damage. They never hide the others.
"""

import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gnomon.declared import parse_json
from gnomon.records.writing import append_whole


@dataclass(frozen=True)
class MetricsFile:
    """The lines of a file, without their ends."""

    good: tuple[tuple[int, bytes], ...]
    """Round and text of each line that can be read."""
    damaged: tuple[tuple[int, bytes], ...]
    """Number (from 1) and text of each that cannot."""
    torn: bytes
    """What follows the last end of a line: a kill in the middle of writing leaves it."""

    def up_to(self, rounds: int) -> list[bytes]:
        """The lines of the first rounds."""
        return [line for number, line in self.good if number <= rounds]


def read_lines(path: Path) -> MetricsFile:
    """Take a file apart; one that is not there has no lines."""
    *lines, torn = path.read_bytes().split(b"\n") if path.exists() else [b""]
    rounds = [round_of(line) for line in lines]
    good = tuple((number, line) for number, line in zip(rounds, lines, strict=True) if number is not None)
    damaged = tuple((place, lines[place - 1]) for place, number in enumerate(rounds, 1) if number is None)
    return MetricsFile(good, damaged, torn)


def round_of(line: bytes) -> int | None:
    """The round that a line is about; None if it is not a line of metrics."""
    try:
        row = parse_json(line)
    except ValueError:
        return None
    if not isinstance(row, dict) or type(row.get("round")) is not int:
        return None
    return row["round"] if all(value is None or type(value) in (int, float) for value in row.values()) else None


def append_metrics(path: Path, rows: list[dict[str, Any]]) -> None:
    """Add one line per row. JSON has no NaN: what is undefined in a round is null."""
    defined = [{name: value if math.isfinite(value) else None for name, value in row.items()} for row in rows]
    append_whole(path, b"".join(json.dumps(row).encode() + b"\n" for row in defined))


def read_metrics(path: Path) -> pl.DataFrame:
    """One row per logged round that can be read. FileNotFoundError without any."""
    lines = [line for _, line in read_lines(path).good]
    if not lines:
        raise FileNotFoundError(f"{path.parent} has no metrics yet")
    return pl.read_ndjson(io.BytesIO(b"\n".join(lines)), infer_schema_length=None)
