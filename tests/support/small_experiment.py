"""Experiment files with runs that are done in a second or two."""

import json
from pathlib import Path
from typing import Any

from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.config import settings_of

SMALL = {**settings_of(CONFIG), "preset": "paper", "seeds": [CONFIG.seed]}
del SMALL["seed"]


def toml(settings: dict[str, Any]) -> str:
    """Settings as lines of TOML, whose values look like JSON's. There is no none in TOML; it is the preset's."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items() if value is not None)


def write_experiment(path: Path, rounds: int, *runs: dict[str, Any]) -> Path:
    """A file of small runs, each as many rounds long as asked."""
    shared = {**SMALL, "learning.schedule.frames": rounds * FRAMES_PER_ROUND}
    path.write_text(toml(shared) + "".join("[[run]]\n" + toml(run) for run in runs))
    return path
