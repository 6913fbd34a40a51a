"""For the chaos tests: how many cases, what must hold after each, and what was counted.

Few cases by default; `make chaos` sets GNOMON_CHAOS to how many times as many.
"""

import hashlib
import io
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from gnomon.cli import main

MORE = int(os.environ.get("GNOMON_CHAOS", "1"))
COUNTS: Counter[str] = Counter()
ITS_OWN = ("status.json", "lock")  # what every resume may rewrite


def typed(*arguments: str) -> tuple[int, str, str]:
    """Type a command in this process: exit code, what it printed, what it complained of. No exception may escape."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    COUNTS["commands"] += 1
    return code, out.getvalue(), err.getvalue()


def assert_answered(arguments: Sequence[str], code: int, err: str) -> None:
    """A command goes well, or is answered by one line. (1: a check found damage, or something was left out.)"""
    assert code in (0, 1, 2), (arguments, code)
    assert "Traceback" not in err, arguments
    lines = err.splitlines()
    assert len(lines) == (1 if code == 2 else len(lines[:1])), (arguments, err)
    assert not lines or lines[0].startswith("gnomon: "), (arguments, err)


def contents(folder: Path) -> dict[str, str]:
    """Checksum of every file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def assert_nothing_lost(before: dict[str, str], folder: Path) -> None:
    """Every file is where it was, or set aside; lines of metrics may have moved from one to the other."""
    after = contents(folder)
    kept = set(after.values())
    metrics = b"\n".join(path.read_bytes() for path in sorted(folder.rglob("metrics.jsonl*")))
    for name, checksum in before.items():
        if name in ITS_OWN or checksum in kept:
            continue
        assert name == "metrics.jsonl", f"{name} was changed or deleted"
        assert metrics, "lines of metrics were deleted"
    assert not [name for name in after if name.endswith(".part")], "something is half-written"
