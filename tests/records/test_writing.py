"""Files are whole or not there; a full disk is waited out, and leaves nothing behind."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_run
from small_run import FRAMES_PER_ROUND

from gnomon.learn.loop import Limits, resume, start
from gnomon.records import writing
from gnomon.records.writing import CannotWrite, append_whole, patiently, whole, write_text
from gnomon.saving.checkpoint import newest_checkpoint

FULL = OSError(errno.ENOSPC, "No space left on device")


class Disk:
    """Syncing to it fails as long as it is full; a minute of waiting is told, and may make room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds_until_room: float) -> None:
        self.left, self.seconds, self.full = seconds_until_room, 0.0, False
        sync = os.fsync
        monkeypatch.setattr(writing.os, "fsync", lambda file: self._sync(lambda: sync(file)))
        monkeypatch.setattr(writing, "sleep", self._sleep)

    def _sync(self, sync: Callable[[], None]) -> None:
        if self.full:
            raise FULL
        sync()

    def _sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.full = self.seconds < self.left


def test_a_failed_write_names_the_path_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, disk = tmp_path / "a.json", Disk(monkeypatch, 0)
    write_text(path, "old")
    disk.full = True
    with pytest.raises(CannotWrite, match=r"^cannot write .*a\.json \(no space left on device\)$") as error:
        write_text(path, "new")
    assert error.value.errno == errno.ENOSPC
    with pytest.raises(CannotWrite):
        fill_folder(tmp_path / "folder")
    with pytest.raises(CannotWrite):
        append_whole(path, b"more")
    with pytest.raises(CannotWrite):
        append_whole(tmp_path / "b", b"more")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"a.json": "old"}


def fill_folder(path: Path) -> None:
    with whole(path) as part:
        part.mkdir()
        writing.write_synced(part / "inner", b"x")


def interrupted(path: Path) -> None:
    with whole(path) as part:
        part.write_text("half")
        raise KeyboardInterrupt


def test_an_interrupt_while_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_other_errors_are_not_waited_for() -> None:
    def denied() -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with pytest.raises(PermissionError):
        patiently(denied, lambda: False, lambda line: None)


def test_a_full_disk_pauses_a_run_which_says_so_every_minute_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, said = Disk(monkeypatch, seconds_until_room=150), []
    whole_run = start(small_run.CONFIG, tmp_path / "whole")
    whole_run.run(Limits(frames=4 * FRAMES_PER_ROUND))
    trainer = start(small_run.CONFIG, tmp_path / "run")
    trainer.say = said.append

    def fill(row: dict[str, Any]) -> None:
        disk.full = row["round"] == 2 or disk.full

    trainer.run(Limits(frames=4 * FRAMES_PER_ROUND), fill, checkpoint_minutes=0.0)
    assert [line for line in said if not line.startswith("cannot write ")] == []
    assert len(said) == 3  # at once, after one minute and after two; there is room in the third
    assert str(tmp_path / "run" / "trials" / "000002.parquet") in said[0]
    assert trainer.folder.read_status()["state"] == "finished"
    assert trainer.folder.read_trials().equals(whole_run.folder.read_trials())
    assert not list((tmp_path / "run").rglob("*.part"))


def test_a_run_that_is_interrupted_on_a_full_disk_stops_and_keeps_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch, seconds_until_room=1e9)
    trainer = start(small_run.CONFIG, tmp_path / "run")

    def fill(row: dict[str, Any]) -> None:
        disk.full = row["round"] == 3 or disk.full

    trainer.say = lambda line: trainer._interrupted.append(True)  # as Ctrl-C does
    with pytest.raises(CannotWrite, match=r"cannot write .*000003\.parquet"):
        trainer.run(Limits(frames=9 * FRAMES_PER_ROUND), fill, checkpoint_minutes=0.0)
    assert not list((tmp_path / "run").rglob("*.part"))
    disk.full = False
    assert newest_checkpoint(trainer.folder.checkpoints)[0].number == 2
    again, complaints = resume(tmp_path / "run")
    assert (again.rounds, complaints) == (2, [])
