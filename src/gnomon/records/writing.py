"""Files are written whole or not at all: under a temporary name, pushed to the disk, then renamed.

A write that fails leaves nothing behind, and its error names the path. A full disk can be waited out: `patiently`.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TypeVar

PART = ".part"  # what temporary names end with
FULL = (errno.ENOSPC, errno.EDQUOT)  # errors that end when there is room again
RETRY_SECONDS = 60  # between two attempts to write to a full disk

Written = TypeVar("Written")


class CannotWrite(OSError):
    """The system's error number, and a message that names the path."""

    def __str__(self) -> str:
        return self.strerror or ""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary name to write a file, or fill a folder, under. It becomes `path` at the end, or goes if it fails."""
    part = path.with_name(path.name + PART)
    try:
        remove(part)
        yield part
        if path.is_dir():
            shutil.rmtree(path)
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        remove(part)
        raise CannotWrite(error.errno, f"cannot write {path} ({(error.strerror or str(error)).lower()})") from None
    except BaseException:
        remove(part)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by one that is whole."""
    with whole(path) as part:
        write_synced(part, data)


def write_text(path: Path, text: str) -> None:
    """Replace a text file by one that is whole."""
    write_whole(path, text.encode())


def write_synced(path: Path, data: bytes) -> None:
    """Write and push to the disk, so that a rename afterwards never shows an empty file."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def append_whole(path: Path, data: bytes) -> None:
    """Add to the end of a file, all of it or nothing."""
    before = path.stat().st_size if path.exists() else None
    try:
        with path.open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if before is not None:
            os.truncate(path, before)
        else:
            path.unlink(missing_ok=True)
        raise CannotWrite(error.errno, f"cannot write {path} ({(error.strerror or str(error)).lower()})") from None


def patiently(write: Callable[[], Written], given_up: Callable[[], bool], say: Callable[[str], None]) -> Written:
    """Write; while the disk is full, say so every minute and try again, until it works or somebody gives up."""
    while True:
        try:
            return write()
        except OSError as error:
            if error.errno not in FULL or given_up():
                raise
            say(f"{error}; make room: the next attempt is in {RETRY_SECONDS} s (Ctrl-C gives up)")
        for _ in range(RETRY_SECONDS):
            if given_up():
                break
            sleep(1.0)


def remove(path: Path) -> None:
    """Delete what was written under a temporary name, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Push a folder's names to the disk, so that a rename survives a loss of power."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
