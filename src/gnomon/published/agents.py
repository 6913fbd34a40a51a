"""Trained agents: those in a run's folder, and published ones, which are small enough to ship.

A published agent is a folder:

    config.json                every setting of the run
    weights.safetensors        the agent's weights, and nothing else
    published.json             frames and minutes of training, and the checksums of all other files
    versions.json              what it was trained with
    metrics.jsonl              the training's metrics, at most 400 lines
    evaluation/trials.parquet  the trial table of its evaluation, if there is one, without the frames of events

`published/NAME` is one of those that ship with the package.
"""

import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TypedDict, TypeVar

import numpy as np
import polars as pl
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.config import RunConfig, read_config
from gnomon.declared import parse_json, read_object
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.build import build_agent, usable_device
from gnomon.records.contents import METRICS, Finding, is_whole
from gnomon.records.metrics import read_lines
from gnomon.records.runs import RunFolder, Versions
from gnomon.records.trials import FIXED, read_trials, write_trials
from gnomon.records.writing import whole
from gnomon.saving.checkpoint import newest_checkpoint, unnest
from gnomon.saving.restore import check_settings, load_weights

SHIPPED = Path(__file__).parent  # in the package
PUBLISHED = "published"  # what their names begin with
WEIGHTS, NOTE, TRIALS = "weights.safetensors", "published.json", Path("evaluation/trials.parquet")
Line = TypeVar("Line", str, bytes)
METRICS_LINES = 400  # at most, of a published agent


class Note(TypedDict):
    """published.json."""

    sha256: str
    """Of the weights."""
    frames: int
    minutes: float
    files: dict[str, str]
    """The SHA-256 of every other file that was published, by its path in the folder."""


def find_agent(path: Path) -> Path:
    """The folder that a user means: `published/NAME` ships with the package, unless such a folder is here."""
    if path.exists() or len(path.parts) != 2 or path.parts[0] != PUBLISHED:
        return path
    shipped = sorted(note.parent.name for note in SHIPPED.glob(f"*/{NOTE}"))
    if path.name not in shipped:
        right = f"choose {', '.join(shipped)}" if shipped else "none has been published with this version yet"
        raise ValueError(f"unknown published agent {path.name!r}; {right}")
    return SHIPPED / path.name


def is_published(folder: Path) -> bool:
    return (folder / NOTE).exists()


def load_agent(path: Path, complain: Callable[[str], None] = warnings.warn) -> tuple[Agent, RunConfig]:
    """A trained agent and its config, from a run's folder, a published one, or `published/NAME`.

    A run's newest whole checkpoint is taken; `complain` is told of damaged ones that are passed over.
    """
    folder = RunFolder(find_agent(path))
    folder.require()
    config = read_config(folder.config)
    if is_published(folder.path):
        weights = read_weights(folder.path)
    else:
        checkpoint, complaints = newest_checkpoint(folder.checkpoints)
        for complaint in complaints:
            complain(f"{complaint}; using the checkpoint before it")
        check_settings(config, checkpoint, folder.config)
        weights = unnest("agent", checkpoint.tensors)
    agent = build_agent(config, Laboratory(config.task, config.optics))
    load_weights(agent, weights, folder.path)
    try:
        device = usable_device(config.learning.device)
    except ValueError as error:  # it was trained elsewhere
        complain(f"{error}; using the cpu")
        device = usable_device("cpu")
    return agent.to(device), config


def read_weights(folder: Path) -> dict[str, Tensor]:
    """A published agent's weights; ValueError if they are not what was published."""
    path = folder / WEIGHTS
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != read_note(folder)["sha256"]:
        raise ValueError(f"{path} is truncated or altered: its checksum is not that of {NOTE}; get the agent again")
    try:
        return load_tensors(data)
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be read ({error}); get the agent again") from None


def read_note(folder: Path) -> Note:
    """A published agent's note; ValueError if it is damaged."""
    return read_object(folder / NOTE, Note)


def publish_agent(run: Path, out: Path) -> list[str]:
    """Write the run's agent, as of its newest whole checkpoint, to the folder `out`; returns what to be aware of.

    An agent that was published there before is replaced; any other folder is left alone.
    """
    folder = RunFolder(run)
    folder.require()
    if is_published(run):
        raise ValueError(f"{run} is a published agent already; name the folder of a run")
    if out.exists() and not is_published(out):
        raise ValueError(f"{out} is there and is not a published agent; name another folder with --out")
    config = read_config(folder.config)
    checkpoint, remarks = newest_checkpoint(folder.checkpoints)
    check_settings(config, checkpoint, folder.config)
    tensors = unnest("agent", checkpoint.tensors)
    load_weights(build_agent(config, Laboratory(config.task, config.optics)), tensors, run)
    weights = dump_tensors({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
    counters = checkpoint.counters

    lines = read_lines(run / METRICS).up_to(checkpoint.known().rounds)
    versions = (run / "versions.json").read_bytes()
    with whole(out) as part:
        part.mkdir(parents=True)
        (part / "config.json").write_text(config.to_json())  # in the present format
        (part / "versions.json").write_bytes(versions)
        (part / METRICS).write_bytes(b"".join(line + b"\n" for line in thinned(lines)))
        problem = why_not(run / TRIALS, config)
        if problem:
            remarks.append(
                f"the trial table is not published: {problem}; evaluate first: gnomon evaluate {quote(str(run))}"
            )
        else:
            write_trials(compact(read_trials(run / TRIALS)), part / TRIALS)
            if (run / TRIALS).stat().st_mtime < (folder.checkpoints / f"{checkpoint.number:06d}").stat().st_mtime:
                remarks.append(
                    f"{run / TRIALS} is older than the weights; evaluate and publish again if training went on"
                )
        note: Note = {
            "sha256": hashlib.sha256(weights).hexdigest(),
            "frames": counters["frames"],
            "minutes": counters["minutes"],
            "files": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in other_files(part).items()},
        }
        (part / WEIGHTS).write_bytes(weights)
        (part / NOTE).write_text(json.dumps(note, indent=2) + "\n")
    return remarks


def compact(trials: pl.DataFrame) -> pl.DataFrame:
    """A trial table without the frames at which events fell: they take most of the room, and only recordings need them.

    A trial's first and last frame stay.
    """
    return trials.drop([name for name in trials.columns if name.endswith("_frame") and name not in FIXED])


def other_files(folder: Path) -> dict[str, Path]:
    """All files of a published agent but its weights and its note, by their path in the folder."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path for name, path in files.items() if name not in (WEIGHTS, NOTE)}


def check_published(folder: Path) -> list[Finding]:
    """Everything in a published agent's folder that is not as it was written."""
    found = check_files(folder)
    altered = {finding.path for finding in found if finding.damage}
    for path, read in (
        (folder / "config.json", lambda: load_agent(folder)),
        (folder / "versions.json", lambda: read_object(folder / "versions.json", Versions)),
        (folder / TRIALS, lambda: read_trials(folder / TRIALS) if (folder / TRIALS).exists() else None),
    ):
        try:
            read()
        except (OSError, ValueError) as error:
            if path not in altered:
                found.append(Finding(path, str(error), "get the agent again"))
    lines = read_lines(folder / METRICS)
    if folder / METRICS not in altered:
        found += [Finding(folder / METRICS, f"line {number} is not a line of metrics") for number, _ in lines.damaged]
    return found


def check_files(folder: Path) -> list[Finding]:
    """Files that are not those whose checksums were published, and those of which nobody can say."""
    try:
        published = read_note(folder)["files"]
    except (OSError, ValueError):
        return []  # whoever reads the weights will say it
    there = other_files(folder)
    found = [
        Finding(folder / name, "it is missing", "get the agent again") for name in sorted(published.keys() - there)
    ]
    for name, path in there.items():
        if name not in published:
            found.append(Finding(path, "it was not published with the agent", damage=False))
        elif not is_whole(path, published[name]):
            what = f"it is truncated or altered: its checksum is not that of {NOTE}"
            found.append(Finding(path, what, "get the agent again"))
    return found


def why_not(table: Path, config: RunConfig) -> str:
    """Why a trial table is not that of the run's standard evaluation; empty if it is."""
    try:
        trials = read_trials(table)
    except (OSError, ValueError) as error:
        return str(error)
    made = table.with_name("evaluation.json")
    try:
        asked = parse_json(made.read_bytes())
        if RunConfig.from_json(json.dumps(asked["config"])).task != config.task:
            return f"{made} tells of another task than the run's"
    except FileNotFoundError:
        pass  # then only the table itself can tell
    except (ValueError, TypeError, KeyError) as error:
        return f"{made} is damaged ({error})"
    intervals = {*getattr(config.task, config.task.intervals_setting), *getattr(config.task, "probe_intervals", ())}
    others = sorted(set(trials["sample_interval"]) - intervals)
    if set(trials["task"]) - {config.task.name}:
        return f"{table} has trials of {', '.join(sorted(set(trials['task'])))}"
    return f"{table} has sample intervals that were not trained: {', '.join(map(str, others))}" if others else ""


def thinned(lines: list[Line]) -> list[Line]:
    """Evenly spread lines, the first and the last among them, so that there are at most `METRICS_LINES`."""
    if len(lines) <= METRICS_LINES:
        return lines
    return [lines[place] for place in np.linspace(0, len(lines) - 1, METRICS_LINES).round().astype(int)]
