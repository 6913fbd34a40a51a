"""For the chaos tests: which turn it is, what must hold after each case, and what was counted.

`make test` does one turn, with fixed seeds; `make chaos` does one after the other, each with seeds of its own.
"""

import io
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.cli import main


@dataclass
class Chaos:
    minutes: float = 0.0
    """To go on for; 0: one turn."""
    turn: int = 0
    """All seeds follow from it."""
    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return ", ".join(f"{number:,} {name}" for name, number in self.counts.items())


CHAOS = Chaos(float(os.environ.get("GNOMON_CHAOS_MINUTES", "0")), int(os.environ.get("GNOMON_CHAOS_TURN", "0")))
Contents = dict[str, bytes]
ITS_OWN = ("status.json", "lock")  # what every resume may rewrite
METRICS = "metrics.jsonl"


def typed(*arguments: str) -> tuple[int, str, str]:
    """Type a command in this process: exit code, what it printed, what it complained of. No exception may escape."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    CHAOS.counts["commands in all"] += 1
    return code, out.getvalue(), err.getvalue()


def assert_answered(arguments: Sequence[str], code: int, err: str) -> None:
    """A command goes well, or is answered by one line. (1: a check found damage, or something was left out.)"""
    assert code in (0, 1, 2), (arguments, code)
    assert "Traceback" not in err, arguments
    lines = err.splitlines()
    assert len(lines) == (1 if code == 2 else len(lines[:1])), (arguments, err)
    assert not lines or lines[0].startswith("gnomon: "), (arguments, err)


def contents(folder: Path) -> Contents:
    """Every file's bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_nothing_lost(before: Contents, folder: Path) -> None:
    """Every file is where it was, or set aside; so is every line of metrics, which may have moved by itself."""
    after = contents(folder)
    kept = set(after.values())
    for name, data in before.items():
        assert name in (*ITS_OWN, METRICS) or data in kept, f"{name} was changed or deleted"
    here = lines_of(*(data for name, data in after.items() if Path(name).name.startswith(METRICS)))
    lost = lines_of(before.get(METRICS, b"")) - here
    assert not lost, f"lines of metrics were changed or deleted: {sorted(lost)}"
    assert not [name for name in after if name.endswith(".part")], "something is half-written"


def lines_of(*texts: bytes) -> Counter[bytes]:
    """How often each line that is not empty occurs."""
    return Counter(line for text in texts for line in text.split(b"\n") if line)
