"""What a study leaves in its folder, and how it is read again.

    study.json                   who took part, with which settings (`Facts`)
    trials/NAME.parquet          an evaluation on the intervals of training
    trials/NAME-probes.parquet   another, most of its trials at intervals never trained
    recordings/NAME.zarr.zip     units and gaze in some lanes of the first
    recordings/NAME-untrained.zarr.zip   the units of the same network before training, shown the same frames
    results/NAME.json            every analysis of these (`Findings`)
    results/learning-NAME.json   reward rate over training, of a family (`Learning`)

The compared families are looked at closely; of the others only production and its spread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gnomon.analysis.results import from_json
from gnomon.study.findings import Findings, Learning

FACTS = "study.json"


@dataclass(frozen=True)
class Member:
    """One participant, as far as a report needs to know."""

    name: str
    seed: int
    frames: int | None  # of training
    minutes: float | None
    results: str  # fingerprint


@dataclass(frozen=True)
class Setting:
    """A setting of an agent and of the preset `paper`, both in plain words."""

    name: str  # flat: "learning.frames"
    value: str
    paper: str


@dataclass(frozen=True)
class Family:
    """Participants that differ in their seed only."""

    name: str
    controller: str  # of a scripted subject, its name
    trained: bool  # an agent; a scripted subject otherwise
    recurrent: bool
    units: int
    horizon: int | None  # steps that the learner sees at a time, if not the whole unroll
    compared: bool  # looked at closely
    members: tuple[Member, ...]
    settings: tuple[Setting, ...]
    learning: str | None  # fingerprint of the learning curve, if there is one


@dataclass(frozen=True)
class Live:
    """A training of which only the learning curve is shown."""

    controller: str
    seed: int
    frames: int | None
    minutes: float | None
    learning: str  # fingerprint


@dataclass(frozen=True)
class Facts:
    """Who took part, and in what."""

    task: str
    intervals: tuple[int, ...]  # of training, frames
    tolerance: float  # frames: the strictest
    trials: int  # of each evaluation
    seed: int
    families: tuple[Family, ...]
    live: Live | None
    versions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Study:
    """A study's folder, read."""

    folder: Path
    facts: Facts
    findings: dict[str, Findings]  # by participant
    learning: dict[str, Learning]  # by family; without those that have no metrics
    live: Learning | None

    @property
    def families(self) -> tuple[Family, ...]:
        return self.facts.families

    @cached_property
    def compared(self) -> tuple[Family, ...]:
        """The families looked at closely."""
        return tuple(family for family in self.families if family.compared)

    def of(self, family: Family) -> list[Findings]:
        return [self.findings[member.name] for member in family.members]

    def middle(self, family: Family) -> Findings:
        """The median seed by share within the tolerance: neither the best nor the worst is shown for all."""
        ordered = sorted(self.of(family), key=lambda each: each.share_within)
        return ordered[(len(ordered) - 1) // 2]

    def prints(self, found: Sequence[Findings]) -> list[str]:
        """Fingerprints of these results, for what is drawn from them."""
        names = {each.name for each in found}
        return [member.results for family in self.families for member in family.members if member.name in names]


def results_path(name: str) -> str:
    return f"results/{name}.json"


def learning_path(name: str) -> str:
    return f"results/learning-{name}.json"


LIVE = "live"  # in the place of a family's name


def read_study(folder: Path) -> Study:
    """The study in a folder; FileNotFoundError if there is none."""
    path = folder / FACTS
    if not path.exists():
        raise FileNotFoundError(f"there is no study in {folder}; `gnomon report RUN... --out {folder}` makes one")
    facts = from_json(Facts, path.read_text())
    findings = {
        member.name: from_json(Findings, (folder / results_path(member.name)).read_text())
        for family in facts.families
        for member in family.members
    }
    learning = {
        family.name: from_json(Learning, (folder / learning_path(family.name)).read_text())
        for family in facts.families
        if family.learning is not None
    }
    live = None if facts.live is None else from_json(Learning, (folder / learning_path(LIVE)).read_text())
    return Study(folder, facts, findings, learning, live)
