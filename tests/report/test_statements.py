"""Verdicts follow from the numbers and their uncertainty; every statement has an analysis, a rule and a verdict."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.counter import Counter, counter
from gnomon.analysis.generalisation import generalisation
from gnomon.analysis.performance import LearningCurve, production
from gnomon.analysis.scalar_variability import scalar_variability
from gnomon.report.statements import variants
from gnomon.report.statements.all import STATEMENTS, UNTESTED
from gnomon.report.statements.document import document
from gnomon.report.statements.seeds import both, difference, spread
from gnomon.report.statements.statement import Verdict
from gnomon.study.files import Facts, Family, Member, Setting, Study
from gnomon.study.findings import Findings, Learning

TRAINED = tuple(range(10, 101, 10))
PROBES = (5, 15, 55, 95, 110, 150)
LANES = 10
BY_ID = {statement.id: statement for statement in STATEMENTS}
DOCUMENT = Path(__file__).parents[2] / "docs" / "paper.md"

Answer = Callable[[np.ndarray, np.random.Generator], np.ndarray]


# Subjects -------------------------------------------------------------------------------------------------


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
    assert len(names) == 4
    for name in names:
        assert verdict_on(name, good) == "reproduced", name
        assert verdict_on(name, one) == "not decided", name
        assert verdict_on(name, bad) == "contradicted", name


def test_failing_above_is_not_hidden_by_success_below() -> None:
    study = study_of(lstm=(ceiling, 3))
    assert verdict_on("recurrent-extrapolates-below", study) == "reproduced"
    assert verdict_on("recurrent-extrapolates-above", study) == "contradicted"
    assert "below 1 in 0 of 3 seeds" in BY_ID["recurrent-extrapolates-above"].judge(study).here


def test_a_list_learned_by_heart_is_no_general_rule() -> None:
    """At 5 frames, the shortest trained interval (10) is within the tolerance, and still not the right answer."""

    def nearest(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        trained = np.array(TRAINED)
        return trained[np.abs(t_s[:, None] - 0.1 - trained).argmin(axis=1)] + rng.normal(0, 0.3, len(t_s))

    study = study_of(lstm=(nearest, 3))
    assert verdict_on("recurrent-accuracy", study) == "reproduced"
    for name in ("recurrent-interpolates", "recurrent-extrapolates-below", "recurrent-extrapolates-above"):
        assert verdict_on(name, study) == "contradicted", name


def test_seeds_that_disagree_decide_nothing() -> None:
    study = study_of(lstm=(exact, 3))
    study.findings["lstm-0"] = findings("lstm-0", ceiling, 7)
    assert verdict_on("recurrent-extrapolates-above", study) == "not decided"


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
    assert (judged.verdict, "1 different setting" in judged.here) == ("not decided", True)


# Spread ---------------------------------------------------------------------------------------------------


def with_spread(sd: Callable[[np.ndarray], np.ndarray]) -> Study:
    def answer(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return 2 * t_s + rng.normal(0, 1, len(t_s)) * sd(t_s)

    study = study_of(feedforward=(exact, 3))
    for seed in range(3):
        fit = scalar_variability(table(answer, seed=seed, repeats=400), n_bootstrap=200)
        study.findings[f"feedforward-{seed}"] = findings(f"feedforward-{seed}", exact, seed, scalar_variability=fit)
    return study


def test_a_spread_that_grows_and_one_that_falls_again() -> None:
    growing = with_spread(lambda t_s: 0.2 * t_s)
    assert verdict_on("feedforward-sd-grows", growing) == verdict_on("feedforward-sd-scalar", growing) == "reproduced"
    hump = with_spread(lambda t_s: np.where(t_s <= 70, 0.2 * t_s, 14 - 0.4 * (t_s - 70)))
    assert verdict_on("feedforward-sd-scalar", hump) == "contradicted"
    assert "largest at 70, 70, 70 frames" in BY_ID["feedforward-sd-scalar"].judge(hump).here
    falling = with_spread(lambda t_s: 22 - 0.2 * t_s)
    assert verdict_on("feedforward-sd-grows", falling) == "contradicted"


# Units ----------------------------------------------------------------------------------------------------


def counter_of(course: Callable[[int], np.ndarray]) -> Counter:
    """A component that takes this course at every sample interval, with a little noise."""
    rng = np.random.default_rng(1)
    t_s = np.repeat(np.array(TRAINED), LANES)
    lane = np.tile(np.arange(LANES), len(TRAINED))
    return counter([course(each) + rng.normal(0, 0.2, 2 * each) for each in t_s.tolist()], t_s, lane, n_bootstrap=20)


def with_counter(course: Callable[[int], np.ndarray]) -> Study:
    study = study_of(lstm=(exact, 3))
    units: Any = SimpleNamespace(counter=counter_of(course), explained_variance=np.array([0.5]))
    for seed in range(3):
        study.findings[f"lstm-{seed}"] = findings(f"lstm-{seed}", exact, seed, population=units)
    return study


def test_a_counter_that_rises_and_falls_and_one_that_does_not() -> None:
    study = with_counter(lambda t_s: np.concatenate([np.arange(t_s), np.arange(t_s, 0, -1)]).astype(float))
    names = [name for name in BY_ID if name.startswith("counter-")]
    assert len(names) == 4
    for name in names:
        assert verdict_on(name, study) == "reproduced", name
    clock = with_counter(lambda t_s: np.arange(2.0 * t_s))  # it goes on after Set
    assert verdict_on("counter-rises", clock) == "reproduced"
    assert verdict_on("counter-falls", clock) == "contradicted"
    assert verdict_on("counter-returns", clock) == "contradicted"
    reset = with_counter(lambda t_s: np.concatenate([np.arange(t_s), np.zeros(t_s)]).astype(float))
    assert verdict_on("counter-ordered", reset) == "reproduced"


# Gaze -----------------------------------------------------------------------------------------------------


def gaze_study(*, near: float, half: float, alike: float, branching: float, slope: float) -> Study:
    def sure(value: float) -> Estimate:
        return Estimate(value, (value, value))

    study = study_of(lstm=(exact, 3), feedforward=(exact, 3))
    for seed in range(3):
        jitter = 0.01 * seed
        strategy: Any = SimpleNamespace(
            hold=SimpleNamespace(
                within=(sure(0), sure(near + jitter)),
                drift=sure(1.0),
                distance_at_set=np.array([1.0]),
            ),
            shift=SimpleNamespace(half_way=sure(half + jitter), linearity=sure(0.9)),
            branch=SimpleNamespace(branching=sure(branching + jitter)),
            expansion=SimpleNamespace(slope=sure(slope + jitter), extent=np.array([1.0, 2.0])),
        )
        gaze: Any = SimpleNamespace(overall=(SimpleNamespace(stereotypy=alike + jitter, share_moved=0.7),) * 2)
        for name in ("lstm", "feedforward"):
            study.findings[f"{name}-{seed}"] = findings(f"{name}-{seed}", exact, seed, strategy=strategy, gaze=gaze)
    return study


def test_verdicts_on_the_gaze() -> None:
    names = [name for name in BY_ID if BY_ID[name].where.startswith("3.4, Fig.")]
    assert len(names) == 5
    like_the_paper = gaze_study(near=0.9, half=0.5, alike=0.8, branching=1.0, slope=0.1)
    unlike = gaze_study(near=0.1, half=0.9, alike=0.1, branching=-1.0, slope=-0.1)
    for name in names:
        assert verdict_on(name, like_the_paper) == "reproduced", name
        assert verdict_on(name, unlike) == "contradicted", name


# Variants -------------------------------------------------------------------------------------------------


def test_one_seed_of_a_variant_decides_nothing() -> None:
    study = study_of(lstm=(exact, 3), gru=(exact, 1), rnn=(blind, 1), frozen_lstm=(exact, 1))
    for name in ("gru-learns", "rnn-learns", "rnn-biased", "frozen-lstm"):
        judged = BY_ID[name].judge(study)
        assert judged.verdict == "not decided", name
        assert "one seed decides nothing" in judged.here, name


def test_several_seeds_of_a_variant_decide() -> None:
    study = study_of(lstm=(exact, 3), gru=(exact, 3), rnn=(regressing, 3), frozen_lstm=(exact, 3))
    assert verdict_on("gru-learns", study) == "reproduced"
    assert verdict_on("rnn-biased", study) == "reproduced"
    assert verdict_on("frozen-lstm", study) == "reproduced"
    worse = study_of(lstm=(exact, 3), frozen_lstm=(blind, 3))
    assert verdict_on("frozen-lstm", worse) == "contradicted"


def test_sizes_are_compared_with_the_usual_one() -> None:
    study = study_of(lstm=(exact, 3), lstm32=(blind, 3))
    small = replace(study.families[1], controller="lstm", units=32)
    resized = study_with((study.families[0], small), study.findings)
    assert verdict_on("recurrent-size", resized) == "contradicted"
    assert verdict_on("feedforward-size", resized) == "not decided"


def test_ten_step_agents_are_not_judged_until_they_are_trained_again(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(lstm=(exact, 3), feedforward=(exact, 3), short=(exact, 3), poor=(blind, 3))
    lstm, feedforward, short, poor = study.families
    families = (
        lstm,
        feedforward,
        replace(short, controller="lstm", horizon=10),
        replace(poor, controller="feedforward", recurrent=False, horizon=10),
    )
    study = study_with(families, study.findings)
    for name in ("ten-step-recurrent", "ten-step-feedforward"):
        judged = BY_ID[name].judge(study)
        assert judged.verdict == "not decided"
        assert "returns of up to 100 steps" in judged.here
    monkeypatch.setattr(variants, "CRITIC_SAW_WHOLE_UNROLL", False)
    assert verdict_on("ten-step-recurrent", study) == "reproduced"
    assert verdict_on("ten-step-feedforward", study) == "reproduced"
