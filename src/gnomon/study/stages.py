"""Work in stages whose results are files, so that it goes on where it stopped.

A stage is done if its files are there and were made from the same inputs: `stages.json` in the folder keeps a
fingerprint of the inputs for each. Files are made in a folder of their own and moved when they are whole, so a kill at
any moment leaves whole files only, and no record of a stage that is not done. Several processes may share a folder.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gnomon.declared import as_declared, parse_json
from gnomon.records.runs import write_text

PACKAGE = Path(__file__).parents[1]


def nobody(line: str) -> None:
    """Is told everything and says nothing."""


class Stages:
    """What has been made in a folder, and from what."""

    def __init__(self, folder: Path, report: Callable[[str], None] = nobody) -> None:
        """report: is told about every stage, in one line; must travel to other processes (pickle)."""
        self.folder, self.report = folder, report
        self.made: list[str] = []  # the stages that had to be made, in this order
        self._record = folder / "stages.json"

    def run(self, name: str, inputs: Any, outputs: Sequence[str], make: Callable[[Path], None]) -> str:
        """Have `make` write the outputs (paths within the folder it is given) unless they are done.

        Returns the fingerprint of the inputs (anything JSON can hold), an input of the stages that read the outputs.
        """
        print_ = fingerprint(name, inputs)
        if self._done().get(name) == print_ and all((self.folder / output).exists() for output in outputs):
            return print_
        self.report(name)
        # Forgotten before it is made: a kill between moving and recording must not pass new files off as old ones.
        self._note(name, None)
        part = self.folder / ".part" / fingerprint(name)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            make(part)
            for output in outputs:
                (self.folder / output).parent.mkdir(parents=True, exist_ok=True)
                (part / output).replace(self.folder / output)
        finally:
            shutil.rmtree(part, ignore_errors=True)
            with suppress(OSError):  # others are at work in it
                part.parent.rmdir()
        self._note(name, print_)
        self.made.append(name)
        return print_

    def _done(self) -> dict[str, str]:
        """The fingerprint of every stage that is done."""
        try:
            return as_declared("stages.json", dict[str, str], parse_json(self._record.read_bytes()))
        except (OSError, ValueError):  # none yet, or not ours: everything is made anew
            return {}

    def _note(self, name: str, print_: str | None) -> None:
        """Record that a stage is done, or (None) that it is not, while no other process does the like."""
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            done = {other: known for other, known in self._done().items() if other != name}
            done |= {} if print_ is None else {name: print_}
            write_text(self._record, json.dumps(done, indent=1, sort_keys=True))
        finally:
            os.close(folder)


def fingerprint(*inputs: Any) -> str:
    """A short hash of anything JSON can hold."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def file_fingerprint(paths: Iterable[Path]) -> str:
    """A hash of what the files hold."""
    return fingerprint([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])


@cache
def code(*packages: str) -> str:
    """A hash of the version and the sources of these parts of gnomon: a stage is redone when its code has changed.

    packages: folders ("analysis") and files ("learn/actor.py").
    """
    places = [PACKAGE / package for package in packages]
    sources = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    return fingerprint(version("gnomon"), file_fingerprint(sources))
