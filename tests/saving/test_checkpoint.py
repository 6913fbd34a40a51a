"""Checkpoints come back exactly, or are noticed to be damaged."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.saving.checkpoint import (
    KEPT,
    Checkpoint,
    DamagedCheckpoint,
    Notes,
    newest_checkpoint,
    numbered,
    read_checkpoint,
    write_checkpoint,
)

TENSORS = {
    "agent.weight": torch.tensor([[1 / 3, -0.0, torch.nan], [torch.inf, 1e-45, 7.0]]),
    "agent.turned": torch.arange(6.0).view(2, 3).T,  # not contiguous
    "actor.generator": torch.Generator().manual_seed(3).get_state(),
    "actor.now": torch.tensor(2**40),
    "learner.waiting": torch.zeros(4, 0, dtype=torch.int32),
    "actor.first": torch.tensor([True, False]),
}
COUNTERS = {"rounds": 3, "minutes": 0.1 + 0.2, "learner": {"mean": 1e-17}, "gathered": [{"entropy": 2 / 3}]}


NOTES: Notes = {"config": "{}", "parts": {"1": {"rows": 7, "sha256": "a"}}, "metrics_sha256": "b"}


def write(folder: Path, number: int) -> Path:
    return write_checkpoint(folder, Checkpoint(number, TENSORS, {**COUNTERS, "rounds": number}, NOTES))


def test_round_trip_is_exact(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(write(tmp_path, 12))
    assert checkpoint.number == 12
    assert checkpoint.counters == {**COUNTERS, "rounds": 12}
    assert checkpoint.notes == NOTES
    assert checkpoint.known().parts == {1: {"rows": 7, "sha256": "a"}}
    assert checkpoint.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        read = checkpoint.tensors[name]
        assert (read.dtype, read.shape) == (tensor.dtype, tensor.shape)
        assert read.contiguous().numpy().tobytes() == tensor.contiguous().numpy().tobytes(), name  # NaN and -0.0 too


def test_the_newest_are_kept(tmp_path: Path) -> None:
    for number in (1, 2, 9, 10, 11):
        write(tmp_path, number)
    assert KEPT == 3
    assert [path.name for path in numbered(tmp_path)] == ["000011", "000010", "000009"]
    assert newest_checkpoint(tmp_path)[0].counters["rounds"] == 11


def test_a_checkpoint_may_be_written_again(tmp_path: Path) -> None:
    write(tmp_path, 4)
    write_checkpoint(tmp_path, Checkpoint(4, {}, {"rounds": 99}, NOTES))
    assert newest_checkpoint(tmp_path)[0] == Checkpoint(4, {}, {"rounds": 99}, NOTES)


def test_leftovers_of_a_kill_are_ignored(tmp_path: Path) -> None:
    write(tmp_path, 4)
    part = tmp_path / "000005.part"
    part.mkdir()
    (part / "state.safetensors").write_bytes(b"half")
    assert newest_checkpoint(tmp_path)[0].number == 4
    assert newest_checkpoint(tmp_path)[1] == []
    write(tmp_path, 5)
    assert not part.exists()
    assert newest_checkpoint(tmp_path)[0].number == 5


def truncate(path: Path) -> None:
    tensors = path / "state.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-1])


def alter_tensors(path: Path) -> None:
    data = bytearray((path / "state.safetensors").read_bytes())
    data[-3] ^= 1
    (path / "state.safetensors").write_bytes(data)


def alter_counters(path: Path) -> None:
    text = (path / "state.json").read_text()
    assert text.count('"rounds": 8') == 1
    (path / "state.json").write_text(text.replace('"rounds": 8', '"rounds": 7'))


def lose_json(path: Path) -> None:
    (path / "state.json").unlink()


def lose_tensors(path: Path) -> None:
    (path / "state.safetensors").unlink()


def empty_json(path: Path) -> None:
    (path / "state.json").write_text("")


def garbage_json(path: Path) -> None:
    (path / "state.json").write_bytes(b"\xff\x00 not json")


def other_json(path: Path) -> None:
    (path / "state.json").write_text("[1, 2]")


def lose_checksum(path: Path) -> None:
    written = json.loads((path / "state.json").read_text())
    del written["sha256"]
    (path / "state.json").write_text(json.dumps(written))


DAMAGES = [
    truncate, alter_tensors, alter_counters, lose_json, lose_tensors, empty_json, garbage_json, other_json,
    lose_checksum,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_noticed_and_the_checkpoint_before_is_used(tmp_path: Path, damage) -> None:
    for number in (6, 7, 8):
        write(tmp_path, number)
    path = tmp_path / "000008"
    damage(path)
    with pytest.raises(DamagedCheckpoint):
        read_checkpoint(path)
    checkpoint, complaints = newest_checkpoint(tmp_path)
    assert checkpoint.number == checkpoint.counters["rounds"] == 7
    assert len(complaints) == 1
    assert str(path) in complaints[0]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    name=st.sampled_from(["safetensors", "json"]),
)
def test_a_flipped_bit_is_noticed_or_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, place: float, bit: int, name: str
) -> None:
    """White space in the JSON may change; nothing else."""
    path = write(tmp_path_factory.mktemp("flip"), 8)
    whole = read_checkpoint(path)
    file = path / f"state.{name}"
    data = bytearray(file.read_bytes())
    where = int(place * len(data))
    space = name == "json" and data[where : where + 1].isspace()
    data[where] ^= 1 << bit
    file.write_bytes(data)
    try:
        read = read_checkpoint(path)
    except DamagedCheckpoint:
        return
    assert space
    assert (read.number, read.counters) == (whole.number, whole.counters)


def test_if_all_are_damaged_the_error_names_each(tmp_path: Path) -> None:
    for number in (1, 2):
        truncate(write(tmp_path, number))
    with pytest.raises(DamagedCheckpoint, match=r"no whole checkpoint in .*000002.*000001"):
        newest_checkpoint(tmp_path)


def test_without_checkpoints_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no checkpoint in"):
        newest_checkpoint(tmp_path)
