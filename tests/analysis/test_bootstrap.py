"""The bootstrap over lanes: wide where lanes differ, as theory says where they do not, silent where they are few."""

import numpy as np
import polars as pl
import pytest

from gnomon.analysis.bootstrap import (
    MIN_LANES,
    Estimate,
    interval_over_lanes,
    lane_moments,
    lane_weights,
    percentile_interval,
    share_over_lanes,
)
from gnomon.analysis.first_trials import FirstTrials, first_trials
from gnomon.analysis.results import from_json, to_json


def table(t_p: np.ndarray, lane: np.ndarray, t_s: int = 50) -> pl.DataFrame:
    return pl.DataFrame({"lane": lane, "sample_interval": [t_s] * len(t_p), "production_interval": t_p})


def test_independent_trials_have_the_standard_error_of_theory() -> None:
    rng = np.random.default_rng(0)
    t_p, lane = np.rint(rng.normal(50, 6, 4000)), np.arange(4000) % 200
    means, sds = lane_moments(table(t_p, lane)).resampled(2000, seed=1)
    assert means.std() == pytest.approx(t_p.std() / np.sqrt(4000), rel=0.1)
    assert sds.mean() == pytest.approx(t_p.std(ddof=1), rel=0.01)
    assert sds.std() == pytest.approx(t_p.std() / np.sqrt(8000), rel=0.15)


def test_trials_of_a_lane_stay_together() -> None:
    # Every lane has one error of its own: 4,000 trials say no more than 40 lanes do.
    rng = np.random.default_rng(0)
    of_lane, lane = np.rint(rng.normal(50, 6, 40)), np.repeat(np.arange(40), 100)
    means, _ = lane_moments(table(of_lane[lane], lane)).resampled(2000, seed=1)
    assert means.std() == pytest.approx(of_lane.std() / np.sqrt(40), rel=0.1)


def test_moments_are_those_of_the_trials() -> None:
    t_p, lane = np.array([48.0, 53, 61, 40, 50]), np.array([7, 7, 2, 2, 9])
    moments = lane_moments(table(t_p, lane))
    mean, sd = moments.moments()
    assert (mean[0, 0], sd[0, 0]) == pytest.approx((t_p.mean(), t_p.std(ddof=1)))
    assert moments.lanes.tolist() == [3]
    # a resample that draws lane 2 three times
    mean, sd = moments.moments(np.array([[3.0, 0, 0]]))
    drawn = np.tile([61.0, 40], 3)
    assert (mean[0, 0], sd[0, 0]) == pytest.approx((drawn.mean(), drawn.std(ddof=1)))


def test_every_resample_draws_as_many_lanes_as_there_are() -> None:
    weights = lane_weights(12, 50, seed=3)
    assert weights.shape == (50, 12)
    assert (weights.sum(axis=1) == 12).all()
    assert not (weights == 1).all(axis=1).any()


def test_few_lanes_and_missing_numbers_give_no_interval() -> None:
    draws = np.linspace(0, 1, 1001)
    assert interval_over_lanes(draws, MIN_LANES) == pytest.approx((0.025, 0.975))
    assert np.isnan(interval_over_lanes(draws, MIN_LANES - 1)).all()
    assert percentile_interval(np.where(draws < 0.05, np.nan, draws))[0] == pytest.approx(0.05 + 0.025 * 0.95, abs=1e-3)
    assert np.isnan(percentile_interval(np.where(draws < 0.2, np.nan, draws))).all()


def test_a_share_of_all_or_nothing_is_not_certain() -> None:
    for hits, ends in ((np.full(20, 5.0), (0.025 ** (1 / 20), 1.0)), (np.zeros(20), (0.0, 1 - 0.025 ** (1 / 20)))):
        found = share_over_lanes(hits, np.full(20, 5.0))
        assert found.interval == pytest.approx(ends)
        assert found.n_trials == 100


def test_an_estimate_without_an_interval_decides_nothing() -> None:
    assert Estimate(2.0, (1.5, 2.5)).above(1.0)
    assert not Estimate(2.0, (0.5, 2.5)).above(1.0)
    assert Estimate(-2.0, (-3.0, -1.0)).below(0.0)
    unknown = Estimate(2.0, (np.nan, np.nan))
    assert not unknown.known
    assert not unknown.above(1.0)
    assert not unknown.below(9.0)


def test_first_trials_are_shown_apart() -> None:
    # Ten lanes, two episodes of three trials each: the first is 20 frames late, the others 1 frame.
    rows = [
        {
            "task": "ready_set_go", "lane": lane, "episode": episode, "trial": trial, "sample_interval": t_s,
            "production_interval": t_s + (20 if trial == 0 else 1), "outcome": "wrong" if trial == 0 else "correct",
        }
        for lane in range(10)
        for episode, t_s in enumerate((30, 60))
        for trial in range(3)
    ]  # fmt: skip
    found = first_trials(pl.DataFrame(rows))
    assert (found.first_within.value, found.first_within.n_trials) == (0, 20)
    assert (found.later_within.value, found.later_within.n_trials) == (1, 40)
    assert (found.first_bias.value, found.later_bias.value) == (20, 1)
    text = to_json(found)
    assert to_json(from_json(FirstTrials, text)) == text
