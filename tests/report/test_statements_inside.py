"""What the statements make of spreads, counters, gazes and variants that are like the paper's, or unlike."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from scripted_study import (
    BY_ID,
    LANES,
    TRAINED,
    blind,
    exact,
    findings,
    regressing,
    study_of,
    study_with,
    table,
    verdict_on,
)

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.counter import Counter, counter
from gnomon.analysis.scalar_variability import scalar_variability
from gnomon.study.files import Study

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


def test_ten_step_agents_are_judged_beside_those_of_their_kind() -> None:
    study = study_of(lstm=(exact, 3), feedforward=(exact, 3), short=(exact, 3), poor=(blind, 3))
    lstm, feedforward, short, poor = study.families
    families = (
        lstm,
        feedforward,
        replace(short, controller="lstm", horizon=10),
        replace(poor, controller="feedforward", recurrent=False, horizon=10),
    )
    study = study_with(families, study.findings)
    assert verdict_on("ten-step-recurrent", study) == "reproduced"
    assert verdict_on("ten-step-feedforward", study) == "reproduced"
