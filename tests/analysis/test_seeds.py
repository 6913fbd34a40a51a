"""Comparisons over seeds: what several seeds decide, and that one seed decides nothing."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.performance import LearningCurve, Production, production
from gnomon.analysis.results import from_json, to_json
from gnomon.analysis.seeds import (
    Difference,
    EndBias,
    Widths,
    difference,
    end_bias,
    end_bias_over_seeds,
    over_seeds,
    time_to_half,
    widths,
)

NAN = (float("nan"), float("nan"))


def test_welch_is_that_of_scipy() -> None:
    a, b = [3.0, 4.5, 3.8, 4.1], [2.0, 2.9, float("nan"), 2.2]
    found = difference(a, b)
    expected = ttest_ind(a, [2.0, 2.9, 2.2], equal_var=False)
    assert (found.n_a, found.n_b) == (4, 3)
    assert found.p_value == pytest.approx(expected[1])
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()))
    assert found.decided
    assert from_json(Difference, to_json(found)) == found


@pytest.mark.parametrize(
    ("a", "b"), [([9.0], [1.0, 1.1, 1.2]), ([9.0, 9.1], [1.0]), ([], []), ([2.0, 2.0], [1.0, 1.0])]
)
def test_too_few_seeds_decide_nothing(a: list[float], b: list[float]) -> None:
    found = difference(a, b)
    assert np.isnan(found.interval).all()
    assert not found.decided


def test_seeds_that_overlap_decide_nothing() -> None:
    assert not difference([1.0, 2.0, 3.0], [1.5, 2.5, 2.2]).decided


def test_mean_over_seeds() -> None:
    found = over_seeds([1.0, 2.0, 3.0])
    assert found.value == 2
    assert found.interval == pytest.approx((2 - 4.303 / np.sqrt(3), 2 + 4.303 / np.sqrt(3)), abs=1e-3)
    assert not over_seeds([4.0]).known
    assert np.isnan(over_seeds([]).value)


def agent(trial_table, sd: float, bias: float, seed: int) -> Production:
    rng = np.random.default_rng(seed)
    middle = 30
    rows = [
        (t_s, int(np.rint(rng.normal(t_s - bias * (t_s - middle) / 20, sd))), "correct")
        for _ in range(100)
        for t_s in (10, 30, 50)
    ]
    return production(trial_table(rows, lanes=20), n_bootstrap=100)


def test_widths_of_wide_and_narrow_agents(trial_table) -> None:
    wide = [agent(trial_table, 6 + 0.1 * seed, 0, seed) for seed in range(3)]
    narrow = [agent(trial_table, 3 + 0.1 * seed, 0, 10 + seed) for seed in range(3)]
    found = widths(wide, narrow)
    assert found.sample_interval.tolist() == [10, 30, 50]
    assert found.overall.difference == pytest.approx(3, abs=0.5)
    assert found.overall.decided
    assert len(found.differences) == 3
    assert to_json(from_json(Widths, to_json(found))) == to_json(found)


def test_bias_at_both_ends(trial_table) -> None:
    drawn_to_the_mean = end_bias(agent(trial_table, 3, 4, 0))
    assert drawn_to_the_mean.shortest.value == pytest.approx(4, abs=1)
    assert drawn_to_the_mean.longest.value == pytest.approx(-4, abs=1)
    assert drawn_to_the_mean.mean_directed is True
    assert end_bias(agent(trial_table, 3, -4, 0)).mean_directed is False
    seeds = [agent(trial_table, 3, 4, seed) for seed in range(3)]
    assert end_bias_over_seeds(seeds).mean_directed is True
    assert end_bias_over_seeds(seeds[:1]).mean_directed is None
    assert EndBias(Estimate(1.0, (-1.0, 3.0)), Estimate(-9.0, (-10.0, -8.0))).mean_directed is None


def test_time_to_half_of_the_final_rate() -> None:
    grid = np.arange(0.0, 101.0)
    steady, late, never = np.minimum(grid / 50, 1), (grid >= 80) * 2.0, 0 * grid
    rates = np.stack([steady, late, never])
    curve = LearningCurve("frames", grid, rates, rates.mean(axis=0), rates.std(axis=0))
    np.testing.assert_array_equal(time_to_half(curve), [25, 80, np.nan])
