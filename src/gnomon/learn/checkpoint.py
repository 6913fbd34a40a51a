"""Checkpoints: a folder of tensors (safetensors) and counters (JSON), written whole or not at all.

    checkpoints/000012/state.safetensors    every tensor the run depends on
    checkpoints/000012/state.json           counters, and the checksum of both

The number grows with every checkpoint. A damaged one is noticed by its checksum and passed over.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

TENSORS, COUNTERS = "state.safetensors", "state.json"
KEPT = 3  # newest checkpoints that are not deleted


@dataclass(frozen=True)
class Checkpoint:
    number: int
    tensors: dict[str, Tensor]
    counters: dict[str, Any]


class DamagedCheckpoint(ValueError):
    """A checkpoint that is not what was written."""


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into `folder`, then delete all but the newest few. Returns the checkpoint's own folder."""
    data = dump_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()})
    written = {"number": checkpoint.number, "counters": checkpoint.counters}
    written["sha256"] = checksum(data, checkpoint.number, checkpoint.counters)
    final = folder / f"{checkpoint.number:06d}"
    part = folder / f"{checkpoint.number:06d}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write_durably(part / TENSORS, data)
    write_durably(part / COUNTERS, json.dumps(written, indent=1).encode())
    shutil.rmtree(final, ignore_errors=True)
    part.rename(final)
    for old in numbered(folder)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def checksum(tensors: bytes, number: int, counters: dict[str, Any]) -> str:
    """One checksum of everything in a checkpoint."""
    text = json.dumps([number, counters], sort_keys=True)
    return hashlib.sha256(tensors + text.encode()).hexdigest()


def write_durably(path: Path, data: bytes) -> None:
    """Write and push to the disk, so that a rename afterwards never shows an empty file."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint's folder; raise `DamagedCheckpoint` if it is not what was written."""
    try:
        data = (path / TENSORS).read_bytes()
        written = json.loads((path / COUNTERS).read_text())
        number, expected, counters = written["number"], written["sha256"], written["counters"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedCheckpoint(f"{path} is incomplete ({error})") from None
    if checksum(data, number, counters) != expected:
        raise DamagedCheckpoint(f"{path} is truncated or altered: its checksum differs")
    try:
        return Checkpoint(number, load_tensors(data), counters)
    except SafetensorError as error:
        raise DamagedCheckpoint(f"{path / TENSORS} cannot be read ({error})") from None


def newest_checkpoint(folder: Path) -> tuple[Checkpoint, list[str]]:
    """The newest checkpoint that is whole, and a line about each newer one that is not."""
    complaints = []
    for path in numbered(folder):
        try:
            return read_checkpoint(path), complaints
        except DamagedCheckpoint as damage:
            complaints.append(str(damage))
    if complaints:
        raise DamagedCheckpoint(f"no whole checkpoint in {folder}: " + "; ".join(complaints))
    raise FileNotFoundError(f"there is no checkpoint in {folder}")


def numbered(folder: Path) -> list[Path]:
    """The folders of finished checkpoints, newest first."""
    return sorted((path for path in folder.glob("*") if path.name.isdigit()), reverse=True)


def nest(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Names with a prefix: {"a": x} -> {"prefix.a": x}."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def unnest(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix + "."): t for name, t in tensors.items() if name.startswith(prefix + ".")}


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
    """The moments and step counts of an optimiser, by parameter number."""
    for number, moments in optimiser.state_dict()["state"].items():
        for name, tensor in moments.items():
            yield f"{number}.{name}", tensor


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put moments and step counts back."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
