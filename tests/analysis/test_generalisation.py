"""Trained, interpolated and extrapolated intervals side by side."""

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
    beyond = "extrapolated"
    assert result.kind == (beyond, "trained", between, "trained", between, "trained", beyond, beyond)
    assert result.n_trials.tolist() == [1, 2, 2, 2, 2, 2, 2, 2]
    assert result.n_productions.tolist() == [0, 2, 2, 2, 2, 2, 2, 2]
    np.testing.assert_allclose(result.mean, [np.nan, 20, 30, 40, 40, 60, 62, 62])
    np.testing.assert_allclose(result.bias, [np.nan, 0, 0, 0, -10, 0, -18, -38])
    np.testing.assert_allclose(result.sd[1:], np.sqrt([2, 8, 2, 8, 2, 8, 8]))
    slopes = (result.trained.slope, result.interpolated.slope, result.extrapolated.slope)
    assert slopes == pytest.approx((1, 0.5, 0), abs=1e-12)
    assert result.extrapolated.intercept == pytest.approx(62)


def test_a_kind_with_one_interval_has_no_slope(trial_table) -> None:
    result = generalisation(trial_table(ROWS[:8]), trained=[20, 40, 60])
    assert np.isnan(result.interpolated.slope)
    assert np.isnan(result.extrapolated.slope)
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
