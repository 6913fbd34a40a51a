"""An experiment: a TOML file that lists trainings, read into one checked config for each.

Settings above the first `[[run]]` are shared; a run's own win over them. The names are those of `gnomon train`:

    learning.frames = 40_000_000

    [[run]]
    name = "lstm"              # gives lstm-0 and lstm-1
    seeds = [0, 1]
    units = 256
"""

import re
import tomllib
import types
import typing
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import PAPER
from gnomon.learn.config import RunConfig, as_declared
from gnomon.presets import preset

PARTS = ("task", "optics", "learning")  # tables of settings; the agent's stand alone, as on the command line
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
    config = build_config(settings)
    Laboratory(config.task, config.optics)  # also checks whether the gaze can reach the task's boxes
    return [Training(f"{name}-{seed}", replace(config, seed=seed)) for seed in seeds]


def flat(table: dict[str, Any]) -> dict[str, Any]:
    """Tables with dotted names: {"learning": {"frames": 5}} -> {"learning.frames": 5}."""
    settings: dict[str, Any] = {}
    for name, value in table.items():
        inner = value if name in PARTS and isinstance(value, dict) else None
        settings |= {name: value} if inner is None else {f"{name}.{key}": item for key, item in inner.items()}
    return settings


def build_config(settings: dict[str, Any]) -> RunConfig:
    """The preset with these settings, whose names are flat."""
    base = {key: settings.get(key, default) for key, default in CHOICES.items()}
    for key, value in base.items():
        if not isinstance(value, str):
            raise ValueError(f"{key} is {value!r}; it must be {in_words(str)}")
    config = preset(base["preset"], base["task_name"], settings.get("controller", "lstm"))
    kinds = setting_kinds(config)
    changes: dict[str, dict[str, Any]] = {}
    for key, written in settings.items():
        if key in CHOICES:
            continue
        if key not in kinds:
            raise ValueError(unknown(key, [*CHOICES, "seeds", *kinds]))
        value = as_declared(kinds[key], written)
        if not fits(kinds[key], value):
            raise ValueError(f"{key} is {written!r}; it must be {in_words(kinds[key])}")
        part, _, name = key.rpartition(".")
        changes.setdefault(part or "agent", {})[name] = value
    return replace(config, **{part: replace(getattr(config, part), **new) for part, new in changes.items()})


def settings_of(config: RunConfig) -> dict[str, Any]:
    """Every setting of a config by its flat name: what an experiment would have to say to get it."""
    settings = asdict(config)
    return {"task_name": config.task.name, **settings.pop("agent"), **flat(settings)}


def setting_kinds(config: RunConfig) -> dict[str, Any]:
    """The declared type of every setting that a run with this task has."""
    kinds: dict[str, Any] = {}
    for part in ("agent", *PARTS):
        settings = getattr(config, part)
        hints = typing.get_type_hints(type(settings))
        prefix = f"{part}." if part in PARTS else ""
        kinds |= {prefix + field.name: hints[field.name] for field in fields(settings)}
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


def fits(kind: Any, value: Any) -> bool:
    """Whether a value (lists are tuples by now) is of a declared type."""
    if isinstance(kind, types.UnionType):
        return any(fits(each, value) for each in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        if not isinstance(value, tuple):
            return False
        if kinds[-1] is Ellipsis:
            kinds = kinds[:1] * len(value)
        return len(kinds) == len(value) and all(map(fits, kinds, value))
    return type(value) in ((int, float) if kind is float else (kind,))


def in_words(kind: Any) -> str:
    """A declared type as a user would call it."""
    if isinstance(kind, types.UnionType):
        return " or ".join(in_words(each) for each in typing.get_args(kind) if each is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        count = "" if kinds[-1] is Ellipsis else f"{len(kinds)}, "
        return f"a list ({count}each {in_words(kinds[0])})"
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text in quotes"}[kind]
