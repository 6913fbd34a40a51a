"""Checkpoints: a folder of tensors (safetensors) and counters (JSON), written whole or not at all.

    checkpoints/000012/state.safetensors    every tensor the run depends on
    checkpoints/000012/state.json           counters, the run's config, the records that belong to it, and the
                                            checksum of everything

The number grows with every checkpoint. A damaged one is noticed by its checksum and passed over.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from gnomon.declared import as_object, in_64_bits, read_object
from gnomon.records.contents import Known, PartFacts
from gnomon.records.writing import whole, write_synced

TENSORS, COUNTERS = "state.safetensors", "state.json"
KEPT = 3  # newest checkpoints that are not deleted


class Notes(TypedDict):
    """What a checkpoint knows of the run's folder."""

    config: str
    """The run's settings, as in config.json (JSON)."""
    parts: dict
    """`PartFacts` of each part of the trial table, by its number."""
    metrics_sha256: str
    """Of the lines of metrics up to the checkpoint."""


class Written(TypedDict):
    """The contents of state.json."""

    number: int
    counters: dict
    notes: dict
    sha256: str


@dataclass(frozen=True)
class Checkpoint:
    number: int
    tensors: dict[str, Tensor]
    counters: dict[str, Any]
    notes: Notes

    def counter(self, name: str) -> int:
        """One of its counters. ValueError if it is not a whole number that tensors hold."""
        value = self.counters.get(name)
        if type(value) is not int or not in_64_bits(value):
            raise ValueError(f"{name} is {value!r}; it must be a whole number")
        return value

    def known(self) -> Known:
        """The records that belong to it. ValueError if they are not what a checkpoint notes."""
        parts = {int(number): as_object(facts, PartFacts) for number, facts in self.notes["parts"].items()}
        return Known(self.number, self.counter("rounds"), parts, self.notes["metrics_sha256"])


class DamagedCheckpoint(ValueError):
    """A checkpoint that is not what was written."""


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into `folder`, then delete all but the newest few. Returns the checkpoint's own folder."""
    data = dump_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()})
    written = {"number": checkpoint.number, "counters": checkpoint.counters, "notes": checkpoint.notes}
    written["sha256"] = checksum(data, *written.values())
    final = folder / f"{checkpoint.number:06d}"
    with whole(final) as part:
        part.mkdir(parents=True)
        write_synced(part / TENSORS, data)
        write_synced(part / COUNTERS, json.dumps(written, indent=1).encode())
    for old in numbered(folder)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def checksum(tensors: bytes, *parts: Any) -> str:
    """One checksum of everything in a checkpoint."""
    return hashlib.sha256(tensors + json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint's folder; raise `DamagedCheckpoint` if it is not what was written."""
    try:
        data = (path / TENSORS).read_bytes()
        written = read_object(path / COUNTERS, Written)
    except (OSError, ValueError) as error:
        raise DamagedCheckpoint(f"{path} is incomplete ({error})") from None
    if checksum(data, written["number"], written["counters"], written["notes"]) != written["sha256"]:
        raise DamagedCheckpoint(f"{path} is truncated or altered: its checksum differs")
    try:
        # Copied, so that they lie in memory as those of a run that goes on do: matrix products may depend on it.
        tensors = {name: tensor.clone() for name, tensor in load_tensors(data).items()}
        checkpoint = Checkpoint(written["number"], tensors, written["counters"], as_object(written["notes"], Notes))
        checkpoint.known()
    except (SafetensorError, ValueError) as error:
        raise DamagedCheckpoint(f"{path / TENSORS} cannot be read ({error})") from None
    return checkpoint


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
    return sorted((path for path in folder.glob("*") if path.name.isdecimal()), reverse=True)


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
    """Load moments and step counts. ValueError if they are those of other parameters."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".")
        right = parameters[int(number)].shape
        if tensor.ndim and tensor.shape != right:
            raise ValueError(f"{name} of parameter {number} is {list(tensor.shape)}, and should be {list(right)}")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
