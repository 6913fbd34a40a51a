"""An agent's settings beside those of the preset `paper`, as text, so that they can be written and compared."""

import json
from typing import Any

from gnomon.config import settings_of
from gnomon.presets import preset
from gnomon.study.files import Setting
from gnomon.study.participants import Participant


def settings_beside_the_papers(each: Participant) -> tuple[Setting, ...]:
    """Every setting but the seed; a scripted subject has none."""
    if each.path is None:
        return ()
    own, paper = (settings_of(config) for config in (each.config, preset("paper", each.task.name, each.controller)))
    names = [name for name in dict.fromkeys([*own, *paper]) if name != "seed"]
    return tuple(Setting(name, in_words(own.get(name)), in_words(paper.get(name))) for name in names)


def in_words(value: Any) -> str:
    """A value as one would write it down: "none", "on", "[10, 20]", "1e-05"."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(in_words, value))}]"
    if isinstance(value, dict):
        return json.dumps(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
