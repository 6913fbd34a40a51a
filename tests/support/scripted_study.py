"""Studies whose agents answer like scripted subjects, to see what the paper's statements make of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gnomon.analysis.generalisation import generalisation
from gnomon.analysis.performance import production
from gnomon.report.statements.all import STATEMENTS
from gnomon.report.statements.statement import Verdict
from gnomon.study.files import Facts, Family, Member, Study
from gnomon.study.findings import Findings, Learning

TRAINED = tuple(range(10, 101, 10))
PROBES = (5, 15, 55, 95, 110, 150)
LANES = 10
BY_ID = {statement.id: statement for statement in STATEMENTS}

Answer = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def table(answer: Answer, intervals: Sequence[int] = TRAINED, seed: int = 0, repeats: int = 100) -> pl.DataFrame:
    """A subject that answers t_s frames with answer(t_s) frames."""
    t_s = np.tile(np.array(intervals), repeats)
    t_p = np.maximum(np.rint(answer(t_s, np.random.default_rng(seed))), 0).astype(int)
    right = np.abs(t_p - t_s) < 8
    return pl.DataFrame(
        {
            "task": "ready_set_go",
            "lane": np.arange(len(t_s)) // len(intervals) % LANES,
            "episode": 0,
            "trial": np.arange(len(t_s)),
            "sample_interval": t_s,
            "production_interval": t_p,
            "outcome": np.where(right, "correct", "wrong"),
        }
    )


def exact(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return t_s + rng.normal(0, 0.5, len(t_s))


def blind(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 15 + rng.normal(0, 1, len(t_s))


def ceiling(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.minimum(t_s, 100) + rng.normal(0, 1, len(t_s))


def regressing(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Drawn to the mean at the ends, with a spread that is in proportion to the interval."""
    bent = 55 + 42 * np.tanh((t_s - 55) / 42)
    return bent + rng.normal(0, 1, len(t_s)) * 0.15 * t_s


def findings(name: str, answer: Answer, seed: int, **more: Any) -> Findings:
    trials = table(answer, seed=seed)
    nothing: dict[str, Any] = dict.fromkeys(Findings.__dataclass_fields__)
    nothing |= {
        "name": name,
        "n_trials": trials.height,
        "production": production(trials, n_bootstrap=20),
        "generalisation": generalisation(table(answer, TRAINED + PROBES, seed), TRAINED, n_bootstrap=20),
        "missing": (),
    }
    return Findings(**(nothing | more))


def family(name: str, controller: str, seeds: int, **more: Any) -> Family:
    members = tuple(Member(f"{name}-{seed}", seed, 1, 1.0, "") for seed in range(seeds))
    plain = Family(name, controller, True, controller != "feedforward", 128, None, False, members, (), None)
    return replace(plain, **more)


def study_of(**subjects: tuple[Answer, int]) -> Study:
    """A study in which agents answer like scripted subjects: name of the controller -> answer and number of seeds."""
    families = [
        family(name, name, seeds, compared=name in ("lstm", "feedforward")) for name, (_, seeds) in subjects.items()
    ]
    found = {
        member.name: findings(member.name, subjects[each.name][0], member.seed)
        for each in families
        for member in each.members
    }
    return study_with(families, found)


def study_with(families: Sequence[Family], found: dict[str, Findings], learning: dict[str, Learning] | None = None):
    facts = Facts("ready_set_go", TRAINED, 8.0, 200, 0, tuple(families), None, ())
    return Study(Path("nowhere"), facts, found, learning or {}, None)


def verdict_on(name: str, study: Study) -> Verdict:
    return BY_ID[name].judge(study).verdict
