"""Benchmarks are for people to run, on idle machines; here one of them only has to run at all."""

import json
import subprocess
import sys
from pathlib import Path

from gnomon.presets import preset

RIVALS = Path(__file__).parents[1] / "benchmarks" / "rivals"


def test_other_libraries_are_measured_beside_the_preset() -> None:
    """The first rounds are for warming up; then one is counted, with all its unrolls."""
    words = (sys.executable, str(RIVALS / "own.py"), "0.01", "0")
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    [counted] = [json.loads(line.removeprefix("meter: ")) for line in said.splitlines()]
    learning = preset("laptop").learning
    updates = learning.optimiser.vision_every  # in a round
    assert counted["frames"] == updates * learning.batch * learning.unroll
    assert counted["seconds"] > 0
    assert counted["rewarded"] <= counted["trials"]
