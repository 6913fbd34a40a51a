"""What belongs to a run's folder beside its checkpoints, and whether it is what was written.

A checkpoint knows the records that were there when it was written (`Known`). `findings` compares them with what is
there now; resuming and `gnomon check` do the same comparison. What is damaged, stray or newer than the checkpoint is
set aside: it moves to the folder `set-aside` of the run. Nothing is deleted.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from gnomon.records.metrics import read_lines
from gnomon.records.writing import PART, write_whole

METRICS, TRIALS, CHECKPOINTS, SET_ASIDE = "metrics.jsonl", "trials", "checkpoints", "set-aside"


class PartFacts(TypedDict):
    """A part of the trial table, as the checkpoint notes it."""

    rows: int
    sha256: str


@dataclass(frozen=True)
class Known:
    """The records that belong to a checkpoint."""

    number: int
    """Of the checkpoint."""
    rounds: int
    """Done by then."""
    parts: dict[int, PartFacts]
    """Of the trial table, by number."""
    metrics_sha256: str
    """Of the lines of metrics up to then."""


@dataclass(frozen=True)
class Finding:
    """Something in a run's folder that is not as it was written."""

    path: Path
    what: str
    then: str = ""
    """What can be done, or will be."""
    damage: bool = True
    """False: nothing to worry about, such as what a kill leaves behind."""
    moves: bool = False
    """Whether resuming sets it aside: a file or a folder. (Lines of metrics are set aside by `cut_metrics`.)"""

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" + (f"; {self.then}" if self.then else "")


def part_name(number: int) -> str:
    return f"{number:06d}.parquet"


def part_number(path: Path) -> int | None:
    """The number of a part of the trial table; None if the name is no part's."""
    return int(path.stem) if path.suffix == ".parquet" and path.stem.isdecimal() and len(path.stem) >= 6 else None


def findings(run: Path, known: Known) -> list[Finding]:
    """What is not as the checkpoint knows it: trials, metrics and checkpoints."""
    return [*trial_findings(run / TRIALS, known), *metrics_findings(run / METRICS, known), *leftovers(run, known)]


def trial_findings(folder: Path, known: Known) -> Iterator[Finding]:
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    numbers = {path: part_number(path) for path in there}
    found = set(numbers.values())
    for number, facts in known.parts.items():
        if number not in found:
            lost = f"{facts['rows']} trials are missing"
            yield Finding(folder / part_name(number), lost, "put the file back from a copy if there is one")
    for path, number in numbers.items():
        if number is None:
            half = path.name.endswith(PART)
            what = "half-written when the process was killed" if half else "not a part of the trial table"
            yield Finding(path, what, "resuming sets it aside", damage=not half, moves=True)
        elif number > known.number:
            what = f"newer than checkpoint {known.number}"
            yield Finding(path, what, "resuming sets it aside and does these trials again", damage=False, moves=True)
        elif number not in known.parts:
            yield Finding(path, f"unknown to checkpoint {known.number}", "resuming sets it aside", moves=True)
        elif not is_whole(path, known.parts[number]["sha256"]):
            lost = f"truncated or altered; it had {known.parts[number]['rows']} trials"
            yield Finding(path, lost, "put it back from a copy; resuming sets it aside", moves=True)


def is_whole(path: Path, sha256: str) -> bool:
    """Whether a file is what was written."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    except OSError:
        return False


def metrics_findings(path: Path, known: Known) -> Iterator[Finding]:
    lines = read_lines(path)
    for number, _ in lines.damaged:
        yield Finding(path, f"line {number} is not a line of metrics", "resuming sets it aside and keeps the others")
    kept = lines.up_to(known.rounds)
    if not lines.damaged and known.metrics_sha256 != metrics_checksum(kept):
        yield Finding(path, "lines up to the checkpoint are missing or altered", "put it back from a copy if need be")
    if lines.torn or len(kept) < len(lines.good):
        yield Finding(path, f"goes beyond checkpoint {known.number}", "resuming sets these lines aside", damage=False)


def metrics_checksum(lines: list[bytes]) -> str:
    return hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()


def leftovers(run: Path, known: Known) -> Iterator[Finding]:
    """Checkpoints after this one, and what no checkpoint's folder is called."""
    folder = run / CHECKPOINTS
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name.endswith(PART):
            yield Finding(path, "half-written when the process was killed", damage=False, moves=True)
        elif not path.name.isdecimal():
            yield Finding(path, "not a checkpoint", "resuming sets it aside", moves=True)
        elif int(path.name) > known.number:  # a damaged one, which reading the checkpoints has named already
            yield Finding(path, f"newer than checkpoint {known.number}", damage=False, moves=True)


# Setting aside.


def set_aside(run: Path, path: Path) -> Path:
    """Move a file or folder of a run out of the way; returns where it is now."""
    place = free_place(run, path.name)
    path.rename(place)
    return place


def free_place(run: Path, name: str) -> Path:
    folder = run / SET_ASIDE
    folder.mkdir(exist_ok=True)
    place, number = folder / name, 2
    while place.exists():
        place, number = folder / f"{name}.{number}", number + 1
    return place


def cut_metrics(run: Path, rounds: int) -> None:
    """Keep the lines of the first rounds; all others are set aside."""
    path = run / METRICS
    lines = read_lines(path)
    kept = b"".join(line + b"\n" for line in lines.up_to(rounds))
    before = path.read_bytes() if path.exists() else b""
    if kept != before:
        others = [line for number, line in lines.good if number > rounds] + [line for _, line in lines.damaged]
        write_whole(free_place(run, METRICS), b"\n".join([*others, lines.torn]))
        write_whole(path, kept)


def cut_back(run: Path, known: Known) -> list[Finding]:
    """Set aside what the checkpoint does not know or what is not as it knows it; returns what was damaged."""
    found = findings(run, known)
    for each in found:
        if each.moves:
            set_aside(run, each.path)
    cut_metrics(run, known.rounds)
    return [each for each in found if each.damage]


# Records without a checkpoint.


def records_without_checkpoint(run: Path, frames: int | None, published: bool) -> str:
    """What a run that has no checkpoint holds nevertheless; empty if it never got as far as its first one.

    frames: as of status.json; None if that is missing or damaged. A process killed while it wrote its first checkpoint
    leaves one part of the trial table, perhaps lines of metrics, and a status of 0 frames.
    """
    lines = len(read_lines(run / METRICS).good)
    folder = run / TRIALS
    parts = [path for path in folder.iterdir() if part_number(path)] if folder.is_dir() else []
    if frames == 0 and len(parts) <= 1 and not published:
        return ""
    found = {
        f"{len(parts)} parts of the trial table": bool(parts),
        f"{lines} lines of metrics": bool(lines),
        "the weights of a published agent": published,
        f"a status of {frames:,} frames" if frames else "": bool(frames),
    }
    return ", ".join(name for name, there in found.items() if there)
