"""Who takes part in a study: trained agents (runs, published ones), scripted subjects and people, by family.

A family has the same controller and settings, and differs in the seed only.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from gnomon.agent.controllers import CONTROLLERS
from gnomon.config import RunConfig, read_config, settings_of
from gnomon.lab.tasks import PAPER, ReadySetGo
from gnomon.presets import preset
from gnomon.published.agents import NOTE, PUBLISHED, SHIPPED, find_agent, is_published, read_note, read_weights
from gnomon.records.people import is_people, read_people
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint, unnest
from gnomon.subjects.scripted import SUBJECTS

ORDER = tuple(CONTROLLERS)  # the registry has them in the paper's order
COMPARED = ORDER[:2]  # the two that the paper compares: they are looked at closely


@dataclass(frozen=True, eq=False)
class Participant:
    """Someone who does the task."""

    name: str
    asked: str  # what a user types to mean it
    path: Path | None  # folder of a trained agent; none for a scripted subject or a person
    config: RunConfig  # a scripted subject's or a person's has only its task
    weights: str  # hash
    metrics: pl.DataFrame | None  # of the training
    frames: int | None  # of training
    minutes: float | None

    @property
    def task(self) -> ReadySetGo:
        assert isinstance(self.config.task, ReadySetGo)
        return self.config.task

    @property
    def person(self) -> Path | None:
        """The file of a person's trials, which are there already; none for all others."""
        return Path(self.asked) if self.path is None and is_people(self.asked) else None

    @property
    def controller(self) -> str:
        """What keeps time in it, as a word."""
        return self.name if self.path is None else self.config.agent.controller

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting by its flat name; a scripted subject has none."""
        return {} if self.path is None else settings_of(self.config)


@dataclass(frozen=True, eq=False)
class Family:
    """Participants that differ in their seed only."""

    name: str
    members: tuple[Participant, ...]

    @property
    def controller(self) -> str:
        return self.members[0].controller

    @property
    def horizon(self) -> int | None:
        """Steps that the learner sees at a time ("10-step RL"), if not the whole unroll."""
        return setting(self.members[0].settings, "horizon") or None


def setting(settings: dict[str, Any], name: str) -> Any:
    """The value of a setting by its last name, whatever group it is in; none if there is no such setting."""
    return next((value for key, value in settings.items() if key.rpartition(".")[2] == name), None)


def participants(asked: Sequence[str]) -> list[Participant]:
    """Those that are named: runs' folders, `published/NAME`, scripted subjects, files of people's trials.

    Raises if one cannot take part.
    """
    if not asked:
        raise ValueError("no run is named; give at least one, such as runs/NAME, published/NAME or noisy")
    tasks: dict[str, str] = {}
    for each in asked:
        if is_people(each):
            tasks[each] = read_people(Path(each))["task"][0]
        else:
            tasks[each] = PAPER.name if is_scripted(each) else read_config(config_of(each)).task.name
    if len(set(tasks.values())) > 1:
        listed = ", ".join(f"{each} {task}" for each, task in tasks.items())
        raise ValueError(f"the runs are of several tasks ({listed}); a report is about one")
    if set(tasks.values()) != {ReadySetGo.name}:
        raise ValueError(f"a report is about {ReadySetGo.name}; the task here is {next(iter(tasks.values()))}")
    names = distinct_names(asked)
    return [participant(each, name) for each, name in zip(asked, names, strict=True)]


def participant(asked: str, name: str) -> Participant:
    """The one that is asked for, under this name."""
    if is_people(asked):
        digest = hashlib.sha256(Path(asked).read_bytes()).hexdigest()
        return Participant(name, asked, None, RunConfig(task=PAPER), digest, None, None, None)
    return scripted(asked) if is_scripted(asked) else trained(asked, name)


def shipped() -> list[str]:
    """The agents that ship with the package, as one asks for them: the paper's two first, then its variants."""
    return [f"{PUBLISHED}/{note.parent.name}" for note in sorted(SHIPPED.glob(f"*/{NOTE}"), key=place_of_note)]


def place_of_note(note: Path) -> tuple[bool, int, int, int, str]:
    """Where a shipped agent belongs in a list."""
    config = read_config(note.with_name("config.json"))
    agent, horizon = config.agent, setting(settings_of(config), "horizon") or 0
    usual = agent.units == preset("paper", config.task.name, agent.controller).agent.units and not horizon
    return (not usual, ORDER.index(agent.controller), horizon, agent.units, note.parent.name)


def is_scripted(asked: str) -> bool:
    return asked in SUBJECTS and not Path(asked).exists()


def config_of(asked: str) -> Path:
    folder = RunFolder(find_agent(Path(asked)))
    if not folder.path.exists():
        choose = ", ".join(SUBJECTS)
        raise FileNotFoundError(
            f"there is no run {asked}; name a run's folder, published/NAME, a subject ({choose}), or a person's .csv"
        )
    folder.require()
    return folder.config


def distinct_names(asked: Sequence[str]) -> list[str]:
    """A name for each: the folder's, and its parent's before it where two would have the same."""
    paths = [path_of(each) for each in asked]
    twice = [str(path) for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]} is named twice; name each run once")
    count = Counter(path.name for path in paths)
    names = [path.name if count[path.name] == 1 else f"{path.parent.name}-{path.name}" for path in paths]
    same = [name for name, times in Counter(names).items() if times > 1]
    if same:
        raise ValueError(f"two runs would be called {same[0]}; rename one of the folders")
    return names


def path_of(asked: str) -> Path:
    """Where someone is to be found: a scripted subject by its name, a person by the file without its ending."""
    if is_people(asked):
        return Path(asked).resolve().with_suffix("")
    return Path(asked) if is_scripted(asked) else find_agent(Path(asked)).resolve()


def scripted(name: str) -> Participant:
    return Participant(name, name, None, RunConfig(task=PAPER), name, None, None, None)


def trained(asked: str, name: str) -> Participant:
    """A trained agent; raises if it has no whole weights."""
    folder = RunFolder(find_agent(Path(asked)))
    config = read_config(folder.config)
    if is_published(folder.path):
        weights, counters = read_weights(folder.path), read_note(folder.path)
    else:
        checkpoint, _ = newest_checkpoint(folder.checkpoints)
        weights, counters = unnest("agent", checkpoint.tensors), checkpoint.counters
    digest = hashlib.sha256()
    for tensor_name in sorted(weights):
        digest.update(tensor_name.encode())
        digest.update(weights[tensor_name].contiguous().numpy().tobytes())
    metrics = metrics_of(folder)
    return Participant(
        name, asked, folder.path, config, digest.hexdigest(), metrics, counters.get("frames"), counters.get("minutes")
    )


def metrics_of(folder: RunFolder) -> pl.DataFrame | None:
    try:
        return folder.read_metrics()
    except FileNotFoundError:
        return None


def families(everyone: Sequence[Participant]) -> list[Family]:
    """Participants with the same settings but the seed together, in the order of their first members.

    Workers and device are the machine's, and do not count.
    """
    groups: dict[str, list[Participant]] = {}
    for each in everyone:
        learning = replace(each.config.learning, workers=1, device="cpu")
        key = each.name if each.path is None else replace(each.config, seed=0, learning=learning).to_json()
        groups.setdefault(key, []).append(each)
    short = [family_name(members) for members in groups.values()]
    names = [
        name if short.count(name) == 1 else members[0].name
        for name, members in zip(short, groups.values(), strict=True)
    ]
    return [Family(name, tuple(members)) for name, members in zip(names, groups.values(), strict=True)]


def family_name(members: Sequence[Participant]) -> str:
    """The first member's name without its seed."""
    return members[0].name.removesuffix(f"-{members[0].config.seed}")


def compared(every: Sequence[Family]) -> list[Family]:
    """The families that are looked at closely: of each compared controller the one with most seeds, else the first two.

    Families with a short horizon are variants, and never stand for their controller. People are always among them.
    """
    people = [family for family in every if family.members[0].person is not None]
    others = [family for family in every if family not in people]
    found = [
        max(candidates, key=lambda family: len(family.members))
        for controller in COMPARED
        if (candidates := [f for f in others if f.controller == controller and f.horizon is None])
    ]
    return [*(found or others[:2]), *people]
