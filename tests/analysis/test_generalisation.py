"""Trained intervals, those between them, those below and those above, never pooled."""

import numpy as np
import pytest

from gnomon.analysis.generalisation import Generalisation, generalisation
from gnomon.analysis.results import from_json, to_json

ROWS = [
    *[(t_s, t_s + error, "correct") for t_s in (20, 40, 60) for error in (-1, 1)],  # trained: exact on average
    *[(t_s, 15 + t_s // 2 + error, "wrong") for t_s in (30, 50) for error in (-2, 2)],  # between: slope 1/2
    *[(t_s, 60 + error, "wrong") for t_s in (80, 100) for error in (0, 4)],  # beyond: stuck at 62
    (10, None, "timeout"),
]


def test_golden_table(trial_table) -> None:
    result = generalisation(trial_table(ROWS), trained=[20, 40, 60])
    assert result.sample_interval.tolist() == [10, 20, 30, 40, 50, 60, 80, 100]
    between = "interpolated"
    assert result.kind == ("below", "trained", between, "trained", between, "trained", "above", "above")
    assert result.n_trials.tolist() == [1, 2, 2, 2, 2, 2, 2, 2]
    assert result.n_productions.tolist() == [0, 2, 2, 2, 2, 2, 2, 2]
    np.testing.assert_allclose(result.mean, [np.nan, 20, 30, 40, 40, 60, 62, 62])
    np.testing.assert_allclose(result.bias, [np.nan, 0, 0, 0, -10, 0, -18, -38])
    np.testing.assert_allclose(result.sd[1:], np.sqrt([2, 8, 2, 8, 2, 8, 8]))
    slopes = (result.trained.slope, result.interpolated.slope, result.above.slope)
    assert slopes == pytest.approx((1, 0.5, 0), abs=1e-12)
    assert result.above.intercept == pytest.approx(62)
    assert np.isnan(result.below.slope)
    assert result.region("above").tolist() == [False] * 6 + [True] * 2
    assert result.line("above") is result.above


def test_below_and_above_are_told_apart(trial_table) -> None:
    # Follows below the shortest interval, has levelled off above the longest; pooled, the slope would be near 1.
    rng = np.random.default_rng(0)
    rows = [
        (t_s, int(np.rint(min(t_s, 100) + rng.normal(0, 3))), "correct")
        for t_s in (4, 6, 20, 60, 100, 110, 130, 150)
        for _ in range(60)
    ]
    rng.shuffle(rows)
    result = generalisation(trial_table(rows, lanes=20), trained=[20, 60, 100])
    assert result.below.slope == pytest.approx(1, abs=0.5)
    low, high = result.above.slope_interval
    assert low < 0 < high < 0.2
    at_150 = result.sample_interval.tolist().index(150)
    assert result.bias[at_150] == pytest.approx(-50, abs=1.5)
    assert result.bias_interval[at_150, 0] < -50 < result.bias_interval[at_150, 1]
    assert np.diff(result.bias_interval[at_150])[0] == pytest.approx(2 * 1.96 * 3 / np.sqrt(60), rel=0.5)


def test_a_kind_with_one_interval_has_no_slope(trial_table) -> None:
    result = generalisation(trial_table(ROWS[:8]), trained=[20, 40, 60])
    assert np.isnan(result.interpolated.slope)
    assert np.isnan(result.above.slope)
    assert result.trained.slope == pytest.approx(1)


def test_survives_json(trial_table) -> None:
    text = to_json(generalisation(trial_table(ROWS), trained=[20, 40, 60]))
    assert to_json(from_json(Generalisation, text)) == text


def test_errors(trial_table) -> None:
    trials = trial_table(ROWS)
    with pytest.raises(ValueError, match="trained is empty"):
        generalisation(trials, trained=[])
    with pytest.raises(ValueError, match="needs probe trials"):
        generalisation(trials, trained=trials["sample_interval"].unique().to_list())
    with pytest.raises(ValueError, match="is empty"):
        generalisation(trial_table([]), trained=[20])
