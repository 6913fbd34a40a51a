"""Stages: done once, done again for other inputs, never half-done."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.study.stages import Stages, fingerprint


def writing(text: str, *names: str) -> Callable[[Path], None]:
    def make(part: Path) -> None:
        for name in names:
            (part / name).write_text(text)

    return make


def test_a_stage_is_done_once(tmp_path: Path) -> None:
    said: list[str] = []
    first = Stages(tmp_path, said.append)
    before = first.run("s", [1], ["a"], writing("one", "a"))
    assert (first.run("s", [1], ["a"], writing("two", "a")), first.made) == (before, ["s"])
    later = Stages(tmp_path, said.append)
    assert later.run("s", [1], ["a"], writing("three", "a")) == before
    assert (later.made, (tmp_path / "a").read_text(), said) == ([], "one", ["s"])


def test_a_stage_is_redone_for_other_inputs_or_lost_files(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    before = stages.run("s", [1], ["a", "b"], writing("one", "a", "b"))
    assert stages.run("s", [2], ["a", "b"], writing("two", "a", "b")) != before
    assert (tmp_path / "a").read_text() == "two"
    (tmp_path / "b").unlink()
    stages.run("s", [2], ["a", "b"], writing("three", "a", "b"))
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("three", "three")


def test_a_stage_that_fails_leaves_the_old_files_and_no_record(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    stages.run("s", [1], ["a"], writing("one", "a"))

    def fail(part: Path) -> None:
        (part / "a").write_text("ha")
        raise ValueError("half-way")

    with pytest.raises(ValueError, match="half-way"):
        stages.run("s", [2], ["a"], fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "stages.json"]
    assert (tmp_path / "a").read_text() == "one"
    assert json.loads((tmp_path / "stages.json").read_text()) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from gnomon.study.stages import Stages
def make(part):
    (part / "a").write_text("ne")
    os.kill(os.getpid(), signal.SIGKILL)
Stages(Path(sys.argv[1])).run("s", [2], ["a"], make)
"""


def test_a_kill_leaves_whole_files(tmp_path: Path) -> None:
    Stages(tmp_path).run("s", [1], ["a"], writing("old", "a"))
    gone = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=300)
    assert gone.returncode == -signal.SIGKILL
    assert (tmp_path / "a").read_text() == "old"
    Stages(tmp_path).run("s", [2], ["a"], writing("new", "a"))
    assert (tmp_path / "a").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "stages.json"]


def test_new_files_never_pass_for_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped when the files are in their place and not recorded yet, then asked for the old ones."""
    stages = Stages(tmp_path)
    stages.run("s", [1], ["a"], writing("old", "a"))
    notes = iter([stages._note])
    monkeypatch.setattr(stages, "_note", lambda *note: next(notes)(*note))
    with pytest.raises(StopIteration):
        stages.run("s", [2], ["a"], writing("new", "a"))
    assert (tmp_path / "a").read_text() == "new"
    Stages(tmp_path).run("s", [1], ["a"], writing("old", "a"))
    assert (tmp_path / "a").read_text() == "old"


def test_several_may_work_in_one_folder(tmp_path: Path) -> None:
    one, other = Stages(tmp_path), Stages(tmp_path)

    def make(part: Path) -> None:
        other.run("t", [1], ["b"], writing("other", "b"))
        (part / "a").write_text("one")

    one.run("s", [1], ["a"], make)
    again = Stages(tmp_path)
    again.run("s", [1], ["a"], writing("again", "a"))
    again.run("t", [1], ["b"], writing("again", "b"))
    assert again.made == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "stages.json"]


def test_fingerprints_tell_inputs_apart() -> None:
    assert fingerprint("a", 1) == fingerprint("a", 1)
    assert len({fingerprint("a", 1), fingerprint("a", 2), fingerprint("b", 1), fingerprint(["a", 1])}) == 4
