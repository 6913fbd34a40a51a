"""Commands as a user types them, in this process: what they print if they go well, and if they go wrong."""

import pytest

from gnomon.cli import main

Captured = pytest.CaptureFixture[str]
FRAMES = 3_200  # two unrolls of 16 lanes x 100 frames
# Options of a training that takes a second.
SMALL = (
    "--learning.lanes", "16", "--learning.unroll", "100", "--learning.batch", "8",
    "--learning.optimiser.vision-every", "2", "--optics.retina", "16", "16", "--optics.gaze-step", "30",
    "--optics.gaze-limit", "20", "--units", "16", "--features", "16", "--frames", f"{FRAMES}", "--threads", "1",
)  # fmt: skip


def typed(capsys: Captured, *arguments: str) -> str:
    """What a command that goes well prints."""
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def complaint(capsys: Captured, *arguments: str) -> str:
    """The one line of a command that goes wrong."""
    capsys.readouterr()
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("gnomon: ")
    return printed.err
