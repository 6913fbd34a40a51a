"""Verdicts follow from the numbers and their uncertainty; every statement has an analysis, a rule and a verdict."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripted_study import (
    BY_ID,
    TRAINED,
    blind,
    ceiling,
    exact,
    findings,
    regressing,
    study_of,
    study_with,
    verdict_on,
)

from gnomon.analysis.performance import LearningCurve
from gnomon.report.statements.all import STATEMENTS, UNTESTED
from gnomon.report.statements.document import document
from gnomon.report.statements.seeds import both, difference, spread
from gnomon.study.files import Setting
from gnomon.study.findings import Learning

DOCUMENT = Path(__file__).parents[2] / "docs" / "paper.md"


# The list -------------------------------------------------------------------------------------------------


def test_every_statement_has_an_analysis_a_rule_and_a_verdict() -> None:
    nobody = study_with((), {})
    assert len(BY_ID) == len(STATEMENTS)
    for statement in STATEMENTS:
        assert statement.analysis.__module__.startswith("gnomon.analysis."), statement.id
        assert statement.says.endswith(".")
        assert statement.rule.endswith(".")
        assert statement.judge(nobody).verdict == "not decided", statement.id
        assert "took part" in statement.judge(nobody).here
    assert all(each.why.endswith(".") for each in UNTESTED)


def test_statements_are_in_the_papers_order() -> None:
    sections = [statement.where.split(",")[0] for statement in STATEMENTS]
    assert sections == sorted(sections)
    assert set(sections) == {"3.1", "3.2", "3.3", "3.4", "3.5"}


def test_the_document_is_not_stale() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), (
        "write it again: python -m gnomon.report.statements.document > docs/paper.md"
    )


# Seeds ----------------------------------------------------------------------------------------------------


def test_one_seed_has_no_interval() -> None:
    assert not spread([3.0]).known
    assert spread([3.0]).written(1) == "3.0 (no interval; 1 seed)"
    assert not spread([1.0, math.inf]).known
    assert not difference([1.0, 2.0], [3.0]).known


def test_intervals_over_seeds() -> None:
    found = spread([1.0, 2.0, 3.0, math.nan])
    assert found.interval == pytest.approx((2 - 4.303 / math.sqrt(3), 2 + 4.303 / math.sqrt(3)), abs=1e-3)
    assert found.seeds == "3 seeds"
    assert difference([5.0, 6.0, 7.0], [1.0, 2.0, 3.0]).value == 4.0


def test_one_contradicted_part_contradicts_the_whole() -> None:
    assert both("reproduced", "reproduced") == "reproduced"
    assert both("reproduced", "not decided") == "not decided"
    assert both("not decided", "contradicted") == "contradicted"


# Behaviour ------------------------------------------------------------------------------------------------


def test_verdicts_on_accuracy_and_generalisation() -> None:
    good, bad, one = study_of(lstm=(exact, 3)), study_of(lstm=(blind, 3)), study_of(lstm=(exact, 1))
    names = [name for name in BY_ID if name.startswith(("recurrent-acc", "recurrent-int", "recurrent-ext"))]
    assert len(names) == 3
    for name in names:
        assert verdict_on(name, good) == "reproduced", name
        assert verdict_on(name, one) == "not decided", name
        assert verdict_on(name, bad) == "contradicted", name


def test_a_clock_that_falls_behind_beyond_the_nearest_interval_decides_nothing() -> None:
    def slowing(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.minimum(t_s, 100 + 0.4 * (t_s - 100)) + rng.normal(0, 0.3, len(t_s))

    study = study_of(lstm=(slowing, 3))
    assert verdict_on("recurrent-extrapolates", study) == "not decided"
    assert "6.0 (" in BY_ID["recurrent-extrapolates"].judge(study).here
    assert verdict_on("recurrent-extrapolates", study_of(lstm=(ceiling, 3))) == "contradicted"


def test_answering_early_everywhere_is_no_lack_of_interpolation() -> None:
    def early(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return t_s - 4 + rng.normal(0, 0.3, len(t_s))

    assert verdict_on("recurrent-interpolates", study_of(lstm=(early, 3))) == "reproduced"


def test_a_list_learned_by_heart_is_no_general_rule() -> None:
    """Between two intervals, either is within the tolerance, and still not the right answer."""

    def nearest(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        trained = np.array(TRAINED)
        return trained[np.abs(t_s[:, None] - 0.1 - trained).argmin(axis=1)] + rng.normal(0, 0.3, len(t_s))

    study = study_of(lstm=(nearest, 3))
    assert verdict_on("recurrent-accuracy", study) == "reproduced"
    for name in ("recurrent-interpolates", "recurrent-extrapolates"):
        assert verdict_on(name, study) == "contradicted", name


def test_seeds_that_disagree_decide_nothing() -> None:
    study = study_of(lstm=(exact, 3))
    study.findings["lstm-0"] = findings("lstm-0", ceiling, 7)
    assert verdict_on("recurrent-extrapolates", study) == "not decided"


def test_comparisons_of_the_two_agents() -> None:
    study = study_of(lstm=(exact, 3), feedforward=(regressing, 3))
    for name in ("feedforward-learns", "feedforward-less-accurate", "feedforward-wider", "feedforward-bias-short"):
        assert verdict_on(name, study) == "reproduced", name
    assert verdict_on("feedforward-bias-long", study) == "reproduced"
    assert verdict_on("feedforward-sigmoid", study) == "reproduced"
    assert verdict_on("feedforward-generalises-worse", study) == "reproduced"
    other_way = study_of(lstm=(regressing, 3), feedforward=(exact, 3))
    for name in ("feedforward-less-accurate", "feedforward-wider", "feedforward-generalises-worse"):
        assert verdict_on(name, other_way) == "contradicted", name


def test_a_fixed_answer_is_not_learning() -> None:
    study = study_of(feedforward=(blind, 3))
    assert "without a clock at most 0.20" in BY_ID["feedforward-learns"].judge(study).here
    assert verdict_on("feedforward-learns", study) != "reproduced"


def test_speed_is_compared_only_between_like_settings() -> None:
    def curve(half: float) -> Learning:
        grid = np.linspace(0.0, 10e6, 101)
        rates = np.stack([np.where(grid >= (half + shift) * 1e6, 1.0, 0.0) for shift in (0, 0.1, 0.2)])
        result = LearningCurve("frames", grid, rates, rates.mean(0), rates.std(0))
        return Learning(result, result)

    study = study_of(lstm=(exact, 3), feedforward=(exact, 3))
    learning = {"lstm": curve(1), "feedforward": curve(5)}
    alike = study_with(study.families, study.findings, learning)
    assert verdict_on("feedforward-slower", alike) == "reproduced"
    unlike = [replace(each, settings=(Setting("learning.batch", each.name, "32"),)) for each in study.families]
    judged = BY_ID["feedforward-slower"].judge(study_with(unlike, study.findings, learning))
    assert (judged.verdict, "differ in 1 settings" in judged.here) == ("not decided", True)
