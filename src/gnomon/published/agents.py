"""Trained agents: those in a run's folder, and published ones, which are small enough to ship.

A published agent is a folder:

    config.json                every setting of the run
    weights.safetensors        the agent's weights, and nothing else
    published.json             frames and minutes of training, and the checksum of the weights
    versions.json              what it was trained with
    metrics.jsonl              the training's metrics, at most 400 lines
    evaluation/trials.parquet  the trial table of its evaluation, if there is one, without the frames of events

`published/NAME` is one of those that ship with the package.
"""

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.config import RunConfig, read_config
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.build import build_agent, usable_device
from gnomon.learn.checkpoint import newest_checkpoint, unnest
from gnomon.records.runs import RunFolder
from gnomon.records.trials import FIXED, read_trials, write_trials

SHIPPED = Path(__file__).parent  # in the package
PUBLISHED = "published"  # what their names begin with
WEIGHTS, NOTE, TRIALS = "weights.safetensors", "published.json", Path("evaluation/trials.parquet")
METRICS_LINES = 400  # at most, of a published agent


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
        weights = unnest("agent", checkpoint.tensors)
    agent = build_agent(config, Laboratory(config.task, config.optics))
    try:
        agent.load_state_dict(weights)
    except RuntimeError as error:  # names or shapes differ
        raise ValueError(f"{folder.path}: the weights do not fit the agent of {folder.config.name}: {error}") from None
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
    if hashlib.sha256(data).hexdigest() != json.loads((folder / NOTE).read_text())["sha256"]:
        raise ValueError(f"{path} is truncated or altered: its checksum is not that of {NOTE}; get the agent again")
    return load_tensors(data)


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
    checkpoint, remarks = newest_checkpoint(folder.checkpoints)
    weights = dump_tensors({name: t.cpu().contiguous() for name, t in unnest("agent", checkpoint.tensors).items()})
    counters = checkpoint.counters
    note = {"sha256": hashlib.sha256(weights).hexdigest(), "frames": counters["frames"], "minutes": counters["minutes"]}

    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name in ("config.json", "versions.json"):
        shutil.copyfile(run / name, part / name)
    (part / "metrics.jsonl").write_text("".join(thinned(metrics_lines(run / "metrics.jsonl", counters["rounds"]))))
    (part / WEIGHTS).write_bytes(weights)
    (part / NOTE).write_text(json.dumps(note, indent=2) + "\n")
    if (run / TRIALS).exists():
        write_trials(compact(read_trials(run / TRIALS)), part / TRIALS)
        if (run / TRIALS).stat().st_mtime < (folder.checkpoints / f"{checkpoint.number:06d}").stat().st_mtime:
            remarks.append(f"{run / TRIALS} is older than the weights; evaluate and publish again if training went on")
    else:
        remarks.append(f"there is no {run / TRIALS}; to publish it as well, evaluate the run first")
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)
    return remarks


def compact(trials: pl.DataFrame) -> pl.DataFrame:
    """A trial table without the frames at which events fell: they take most of the room, and only recordings need them.

    A trial's first and last frame stay.
    """
    return trials.drop([name for name in trials.columns if name.endswith("_frame") and name not in FIXED])


def metrics_lines(path: Path, rounds: int) -> list[str]:
    """The lines up to this round; a kill may have torn the last."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith("\n") and json.loads(line)["round"] <= rounds]


def thinned(lines: list[str]) -> list[str]:
    """Evenly spread lines, the first and the last among them, so that there are at most `METRICS_LINES`."""
    if len(lines) <= METRICS_LINES:
        return lines
    return [lines[place] for place in np.linspace(0, len(lines) - 1, METRICS_LINES).round().astype(int)]
