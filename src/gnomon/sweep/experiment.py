"""An experiment: a TOML file that lists trainings, read into one checked config for each.

Settings above the first `[[run]]` are shared; a run's own win over them. The names are those of `gnomon train`:

    learning.schedule.frames = 40_000_000
    learning.loss.horizon = 10

    [[run]]
    name = "lstm"              # gives lstm-0 and lstm-1
    seeds = [0, 1]
    units = 256
"""

import re
import tomllib
import typing
from collections import Counter
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gnomon.config import PARTS, RunConfig, flat
from gnomon.declared import as_declared
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import PAPER
from gnomon.learn.build import device_for
from gnomon.learn.team import settled, share_of
from gnomon.presets import preset

CHOICES = {"preset": "laptop", "task_name": PAPER.name}  # what the other defaults come from
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of a run, and of its folder
NAMES = "a name has letters, digits, '_', '-' and '.' only, and begins with a letter or a digit"


@dataclass(frozen=True)
class Training:
    """One training of an experiment."""

    name: str
    config: RunConfig


def read_experiment(path: Path) -> list[Training]:
    """The trainings of a file, in its order. ValueError, naming file, run and setting, if anything in it is wrong."""
    try:
        shared = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    runs = shared.pop("run", None)
    if not runs or not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise ValueError(f"{path} lists no trainings; each begins with a line [[run]] and has a name")
    if "name" in shared:
        raise ValueError(f"{path}: name is set above the first [[run]]; it belongs below, in each of them")
    trainings: list[Training] = []
    for number, run in enumerate(runs, 1):
        own = dict(run)
        name = own.pop("name", None)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            problem = "has no name" if name is None else f"has the name {name!r}"
            raise ValueError(f"{path}, run {number} {problem}; {NAMES}")
        try:
            trainings += expand(name, flat(shared) | flat(own))
        except ValueError as error:
            raise ValueError(f"{path}, run {name!r}: {error}") from None
    twice = [name for name, count in Counter(training.name for training in trainings).items() if count > 1]
    if twice:
        raise ValueError(f"{path}: {twice[0]} is listed twice; give each run a name of its own, and each seed once")
    return trainings


def expand(name: str, settings: dict[str, Any]) -> list[Training]:
    """One training for each seed."""
    seeds = settings.pop("seeds", [0])
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise ValueError(f"seeds is {seeds!r}; it must be a list of whole numbers of at least 0, such as [0, 1, 2]")
    config = settled(build_config(settings), threads=1)  # cores are for trainings side by side
    Laboratory(config.task, config.optics)  # also checks whether the gaze can reach the task's boxes
    share_of(config)
    device_for(config.learning)
    return [Training(f"{name}-{seed}", replace(config, seed=seed)) for seed in seeds]


def build_config(settings: dict[str, Any]) -> RunConfig:
    """The preset with these settings, whose names are flat."""
    base = {key: settings.get(key, default) for key, default in CHOICES.items()}
    base["controller"] = settings.get("controller", "lstm")
    for key, value in base.items():
        if not isinstance(value, str):
            raise ValueError(f"{key} is {value!r}; it must be a text in quotes")
    config = preset(base["preset"], base["task_name"], base["controller"])
    kinds = setting_kinds(config)
    changes: dict[str, Any] = {}
    for key, written in settings.items():
        if key in CHOICES:
            continue
        if key not in kinds:
            raise ValueError(unknown(key, [*CHOICES, "seeds", *kinds]))
        *tables, name = key.split(".") if "." in key else ("agent", key)
        inner = changes
        for table in tables:
            inner = inner.setdefault(table, {})
        inner[name] = as_declared(key, kinds[key], written)
    return changed(config, changes)


def changed(config: Any, changes: dict[str, Any]) -> Any:
    """A config of any depth with these settings changed; settings that belong together are checked together."""
    return replace(
        config,
        **{
            name: changed(getattr(config, name), value) if isinstance(value, dict) else value
            for name, value in changes.items()
        },
    )


def setting_kinds(config: RunConfig) -> dict[str, Any]:
    """The declared type of every setting that a run with this task has, by its flat name."""
    kinds = declared_kinds(config.agent)
    for part in PARTS:
        kinds |= declared_kinds(getattr(config, part), f"{part}.")
    return kinds


def declared_kinds(settings: Any, prefix: str = "") -> dict[str, Any]:
    """The declared types of a dataclass's settings, and of those within them."""
    hints = typing.get_type_hints(type(settings))
    kinds: dict[str, Any] = {}
    for each in fields(settings):
        value, name = getattr(settings, each.name), prefix + each.name
        kinds |= declared_kinds(value, f"{name}.") if is_dataclass(value) else {name: hints[each.name]}
    return kinds


def unknown(key: str, known: list[str]) -> str:
    """What to say about a setting that does not exist: what was meant, or all settings of its table."""
    table, _, name = key.rpartition(".")
    tables = {each: each.rpartition(".")[::2] for each in known}  # learning.frames: (learning, frames)
    same = {last: each for each, (first, last) in tables.items() if first == table}
    meant = [same[near] for near in get_close_matches(name, same, n=1)]
    meant += [each for each, (_, last) in tables.items() if last == name]  # in another table
    return f"unknown setting {key!r}; " + (
        f"did you mean {meant[0]}?" if meant else f"choose {', '.join(same.values())}"
    )
