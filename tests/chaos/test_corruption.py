"""Every file of a run is damaged in turn: commands say so in a line, keep what is good, and delete nothing."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_run
import torch
from chaos_cases import CHAOS, assert_answered, assert_nothing_lost, contents, typed
from safetensors.torch import save
from small_run import FRAMES_PER_ROUND

from gnomon.learn.loop import Limits, resume, start
from gnomon.published.agents import publish_agent
from gnomon.saving.checkpoint import DamagedCheckpoint, checksum, read_checkpoint

ROUNDS = 10
LINES = 5  # of metrics
EVERY_ROUND = 0.0  # minutes between checkpoints
HARMLESS = ("lock", "tensorboard")  # nobody reads them
# Damage that leaves a file which cannot be told from an undamaged one, or one that may be missing.
MAY_GO = ("status.json", "versions.json", "evaluation.json", "evaluation/trials.parquet")


def truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))] if data else b"x"


def flip(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(max(1, len(data)))
    return data[:place] + bytes([(data or b"\0")[place] ^ 0x80]) + data[place + 1 :]


def other_shape(data: bytes, chance: random.Random) -> bytes:
    return chance.choice([b"[]", b"{}", b"null", b'{"round": "x", "state": 3, "threads": [1]}', b"[" * 100_000])


def noise(data: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(64)


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "truncated": truncate,
    "flipped": flip,
    "empty": lambda data, chance: b"",
    "other shape": other_shape,
    "noise": noise,
    "deleted": lambda data, chance: None,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with several checkpoints, lines of metrics and an evaluation; not to be changed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gnomon.learn.loop.LOG_ROUNDS", ROUNDS // LINES)
        start(small_run.CONFIG, folder).run(Limits(frames=ROUNDS * FRAMES_PER_ROUND), checkpoint_minutes=EVERY_ROUND)
    assert typed("evaluate", str(folder), "--trials", "4", "--record-lanes", "0")[0] == 0
    assert typed("check", str(folder))[0] == 0
    return folder


def files(folder: Path) -> list[str]:
    """Every file; of several parts and checkpoints the first and the last."""
    names = sorted(contents(folder))
    parts = [name for name in names if name.startswith(("trials/", "checkpoints/"))]
    few = {name for name in parts if name in (parts[0], parts[1], parts[-1]) or name.startswith("checkpoints/")}
    return [name for name in names if name not in parts or name in few]


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_file_in_turn(whole: Path, tmp_path: Path, damage: str) -> None:
    """Two damages a file; in three turns all of them."""
    chance = random.Random(f"{damage} {CHAOS.turn}")
    names = files(whole)[(list(DAMAGES).index(damage) + CHAOS.turn) % 3 :: 3]
    for name in names:
        folder = Path(shutil.copytree(whole, tmp_path / "run"))
        assert_survived(folder, name, changed=spoil(folder / name, damage, chance))
        shutil.rmtree(folder)


def spoil(path: Path, damage: str, chance: random.Random) -> bool:
    """Damage a file; returns whether that has changed it."""
    CHAOS.counts["damaged files"] += 1
    old = path.read_bytes()
    new = DAMAGES[damage](old, chance)
    if new is None:
        path.unlink()
    else:
        path.write_bytes(new)
    return new != old


def assert_survived(folder: Path, name: str, changed: bool) -> None:
    """Check, list, publish and resume; the last may set things aside."""
    before, run = contents(folder), str(folder)
    code, _, err = typed("check", run)
    assert_answered((name,), code, err)
    assert contents(folder) == before | {"lock": contents(folder)["lock"]} if "config.json" in before else code == 2
    if changed and not name.startswith(HARMLESS) and not name.endswith(MAY_GO):
        assert code != 0, f"{name} is damaged, and nobody noticed"
    for words in (("runs", "--folder", str(folder.parent)), ("publish", run, "--out", f"{run}-out")):
        code, _, err = typed(*words)
        assert_answered(words, code, err)
    assert_nothing_lost(before, folder)
    code, _, err = typed("train", "--resume", run, "--frames", "1", "--threads", "1")
    assert_answered(("resume", name), code, err)
    assert_nothing_lost(before, folder)
    if not name.startswith(("config.json", "lock")):
        assert code == 0, f"{name} is damaged, and the run does not go on: {err}"
    shutil.rmtree(f"{run}-out", ignore_errors=True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_file_of_a_published_agent_in_turn(whole: Path, tmp_path: Path, damage: str) -> None:
    chance = random.Random(f"{damage} {CHAOS.turn}")
    publish_agent(whole, tmp_path / "agent")
    names = sorted(contents(tmp_path / "agent"))
    for name in names[(list(DAMAGES).index(damage) + CHAOS.turn) % 3 :: 3]:
        folder = Path(shutil.copytree(tmp_path / "agent", tmp_path / "other" / "agent"))
        changed, before = spoil(folder / name, damage, chance), contents(folder)
        for words in (("results", str(folder)), ("check", str(folder))):
            code, _, err = typed(*words)
            assert_answered((name, *words), code, err)
        if changed:
            assert code != 0, f"{name} is damaged, and nobody noticed"
        assert_nothing_lost(before, folder)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "written",
    [
        {"number": 1, "counters": [], "notes": {}, "sha256": "x"},
        {"number": "1", "counters": {}, "sha256": "x"},
        {"number": 1, "counters": {}, "sha256": None},
        {"number": 10**30, "counters": {}, "sha256": "x"},
        {"number": 1, "counters": {"rounds": "x"}, "notes": {}},
        {"number": 1, "counters": {"rounds": 1}, "notes": {"parts": {"1": 3}}},
        {"number": 1, "counters": {"rounds": 1}, "notes": {"parts": {"one": {"rows": 1, "sha256": ""}}}},
        {"number": 1, "counters": {"rounds": 1}, "notes": {"config": {}}},
    ],
)
def test_a_checkpoint_of_another_shape_is_damaged_whatever_its_checksum(
    tmp_path: Path, written: dict[str, Any]
) -> None:
    data = save({"x": torch.zeros(1)})
    (tmp_path / "state.safetensors").write_bytes(data)
    (tmp_path / "state.json").write_text(json.dumps({"sha256": checksum(data, *written.values()), **written}))
    with pytest.raises(DamagedCheckpoint):
        read_checkpoint(tmp_path)


# Records without a checkpoint.


def test_a_copy_of_a_published_agent_is_not_trained_over(whole: Path, tmp_path: Path) -> None:
    publish_agent(whole, tmp_path / "agent")
    before = contents(tmp_path / "agent")
    code, _, err = typed("train", "--resume", str(tmp_path / "agent"))
    assert (code, contents(tmp_path / "agent") | {"lock": b""}) == (2, before | {"lock": b""})
    assert "no checkpoint to go on from, but 5 lines of metrics, the weights of a published agent" in err


def test_a_run_whose_checkpoints_are_gone_is_left_alone(whole: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    shutil.rmtree(run / "checkpoints")
    before = contents(run)
    code, _, err = typed("train", "--resume", str(run))
    assert (code, contents(run)) == (2, before)
    assert "11 parts of the trial table, 5 lines of metrics, a status of 2,560 frames; nothing was touched" in err
    (run / "status.json").unlink()
    assert typed("train", "--resume", str(run))[0] == 2


# The config.


def edit(run: Path, part: str, name: str, value: object) -> None:
    config = json.loads((run / "config.json").read_text())
    (config[part] if part else config)[name] = value
    (run / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("part", "name", "value", "said"),
    [
        ("", "seed", 4, "seed was 3 and is 4"),
        ("task", "pause", 5, "task.pause was 4 and is 5"),
        ("learning", "unroll", 9, "learning.unroll was 8 and is 9"),
        ("agent", "units", 32, "units was 16 and is 32"),
    ],
)
def test_an_edited_config_is_named_by_its_setting_in_one_way(
    whole: Path, tmp_path: Path, part: str, name: str, value: object, said: str
) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    edit(run, part, name, value)
    lines = [
        typed(*words)[2] for words in (("train", "--resume", str(run)), ("evaluate", str(run)), ("show", str(run)))
    ]
    assert len(set(lines)) == 1
    assert said in lines[0]
    code, out, _ = typed("check", str(run))
    assert code == 1
    assert said in out


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("", "learning", None), ("learning", "lanes", 1e3), ("task", "name", ["x"]), ("learning", "lanes", 10**30)],
)
def test_a_config_of_another_shape_is_one_line(
    whole: Path, tmp_path: Path, part: str, name: str, value: object
) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    edit(run, part, name, value)
    for words in (("train", "--resume", str(run)), ("evaluate", str(run)), ("check", str(run))):
        code, _, err = typed(*words)
        assert code in (1, 2)
        assert_answered(words, code, err)


# What is found is kept.


def test_strays_and_bad_lines_are_named_and_set_aside_and_the_run_goes_on(whole: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    (run / "trials" / "notes.txt").write_text("mine")
    (run / "trials" / "000002.parquet").write_bytes(b"half")
    (run / "trials" / "000003.parquet").unlink()
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(b'{"round": \xff}\n')
    trainer, complaints = resume(run)
    said = "\n".join(complaints)
    assert all(name in said for name in ("notes.txt", "000002.parquet", "000003.parquet", "line 6 is not a line"))
    assert sorted(path.name for path in (run / "set-aside").iterdir()) == [
        "000002.parquet",
        "metrics.jsonl",
        "notes.txt",
    ]
    assert (run / "set-aside" / "metrics.jsonl").read_bytes() == b'{"round": \xff}\n'
    trainer.run(Limits(frames=(ROUNDS + 1) * FRAMES_PER_ROUND))
    code, out, _ = typed("check", str(run))
    assert code == 1  # the two lost parts stay known
    assert "000002.parquet: " in out
    assert "000003.parquet: " in out
