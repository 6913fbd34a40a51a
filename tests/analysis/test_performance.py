"""Production per sample interval on tables small enough to work out by hand, and learning curves."""

import numpy as np
import polars as pl
import pytest

from gnomon.analysis.performance import Production, learning_curve, production, share_within
from gnomon.analysis.results import from_json, to_json

ROWS = [
    (10, 8, "correct"),
    (10, 12, "correct"),
    (10, 19, "wrong"),
    (10, None, "early"),
    (20, 12, "wrong"),  # |12 - 20| = 8 is not within 8
    (20, 26, "correct"),
    (20, None, "timeout"),
    (20, None, "timeout"),
    (20, None, "cut_off"),
    (30, 27, "correct"),
    (30, 33, "wrong"),  # judged by the analysis's tolerance, not by the task's
    (30, 90, "aborted"),
    (40, None, "early"),
]


def test_golden_table(trial_table) -> None:
    result = production(trial_table(ROWS), tolerance=8)
    assert result.task == "ready_set_go"
    assert result.sample_interval.tolist() == [10, 20, 30, 40]
    assert result.n_trials.tolist() == [4, 4, 2, 1]
    assert result.n_productions.tolist() == [3, 2, 2, 0]
    np.testing.assert_allclose(result.mean, [13, 19, 30, np.nan])
    np.testing.assert_allclose(result.sd, [np.sqrt(31), np.sqrt(98), np.sqrt(18), np.nan])
    np.testing.assert_allclose(result.bias, [3, -1, 0, np.nan])
    np.testing.assert_allclose(result.share_within, [0.5, 0.25, 1, 0])
    np.testing.assert_allclose(result.share_early, [0.25, 0, 0, 1])
    np.testing.assert_allclose(result.share_timeout, [0, 0.5, 0, 0])
    # least squares through (10, 13), (20, 19), (30, 30)
    assert result.line.slope == pytest.approx(0.85)
    assert result.line.intercept == pytest.approx(62 / 3 - 17)
    assert result.error.bias == pytest.approx(np.sqrt(10 / 3))
    assert result.error.variance == pytest.approx((62 / 3 + 49 + 9) / 3)
    assert result.error.rmse**2 == pytest.approx(result.error.bias**2 + result.error.variance)
    assert result.bias_shortest == 3
    assert np.isnan(result.bias_longest)


def test_share_within_counts_all_judged_trials(trial_table) -> None:
    found = share_within(trial_table(ROWS))
    assert (found.value, found.n_trials) == (pytest.approx(5 / 11), 11)
    assert production(trial_table(ROWS)).within.value == found.value
    nothing = share_within(trial_table([(20, None, "cut_off")]))
    assert np.isnan(nothing.value)
    assert nothing.n_trials == 0


def test_three_trials_give_no_interval(trial_table) -> None:
    result = production(trial_table([(20, 21, "correct"), (40, 41, "correct"), (40, 41, "correct")], lanes=3))
    assert np.isnan(result.line.slope_interval).all()
    assert np.isnan(result.bias_interval).all()
    assert np.isnan(result.sd_interval).all()
    assert np.isnan(result.within.interval).all()


def test_histogram_puts_each_production_in_the_bin_of_its_left_edge(trial_table) -> None:
    result = production(trial_table(ROWS), bin_width=2)
    assert result.histogram.shape == (4, len(result.histogram_edges) - 1)
    assert result.histogram.sum(axis=1).tolist() == [3, 2, 2, 0]
    edges = [result.histogram_edges[np.flatnonzero(row)].tolist() for row in result.histogram]
    assert edges == [[8, 12, 18], [12, 26], [26, 32], []]


def test_rmse_is_the_root_mean_square_error_averaged_over_intervals(trial_table) -> None:
    by_interval = {10: [8, 12, 19], 20: [12, 26], 30: [27, 33]}
    literal = np.mean([np.mean([(t_p - t_s) ** 2 for t_p in values]) for t_s, values in by_interval.items()])
    assert production(trial_table(ROWS)).error.rmse == pytest.approx(np.sqrt(literal))


def test_one_sample_interval_has_no_line(trial_table) -> None:
    result = production(trial_table([(40, 38, "correct"), (40, 44, "correct")]))
    assert np.isnan(result.line.slope)
    assert np.isnan(result.line.slope_interval).all()


def test_slope_interval_is_the_standard_error_of_the_line(trial_table) -> None:
    rng = np.random.default_rng(2)
    rows = [(t_s, int(rng.normal(5 + 0.8 * t_s, 4)), "correct") for t_s in range(10, 101, 10) for _ in range(200)]
    line = production(trial_table(rows, lanes=100), n_bootstrap=2000).line
    t_s = np.arange(10, 101, 10)
    error = np.sqrt(4**2 / 200 / np.sum((t_s - t_s.mean()) ** 2))
    assert np.diff(line.slope_interval)[0] == pytest.approx(2 * 1.96 * error, rel=0.15)
    assert line.slope_interval[0] < 0.8 < line.slope_interval[1]


def test_survives_json(trial_table) -> None:
    result = production(trial_table(ROWS))
    text = to_json(result)
    again = from_json(Production, text)
    assert to_json(again) == text
    np.testing.assert_array_equal(again.histogram, result.histogram, strict=True)


def test_same_seed_same_result(trial_table) -> None:
    trials = trial_table(ROWS * 5, lanes=9)
    assert to_json(production(trials, seed=3)) == to_json(production(trials, seed=3))
    assert to_json(production(trials, seed=3)) != to_json(production(trials, seed=4))


def test_errors(trial_table) -> None:
    trials = trial_table(ROWS)
    with pytest.raises(ValueError, match="is empty"):
        production(trial_table([]))
    with pytest.raises(ValueError, match=r"lacks the columns \['outcome'\]"):
        production(trials.drop("outcome"))
    mixed = pl.concat([trials, trials.with_columns(task=pl.lit("cued_production"))])
    with pytest.raises(ValueError, match=r"mixes the tasks \['cued_production', 'ready_set_go'\]"):
        production(mixed)
    with pytest.raises(ValueError, match="none of the 1 trials has a production interval"):
        production(trial_table([(10, None, "early")]))
    with pytest.raises(ValueError, match="none of the 1 trials has a production interval"):
        production(trial_table([(10, 12, "aborted")]))


def metrics(frames: list[float], reward_rate: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame({"frames": frames, "minutes": [f / 60 for f in frames], "reward_rate": reward_rate})


def test_learning_curve_interpolates_each_seed_on_what_all_have_seen() -> None:
    curve = learning_curve([metrics([0, 10, 20], [0, 1, 2]), metrics([5, 15], [4, 6])], points=3)
    np.testing.assert_allclose(curve.grid, [5, 10, 15])
    np.testing.assert_allclose(curve.reward_rate, [[0.5, 1, 1.5], [4, 5, 6]])
    np.testing.assert_allclose(curve.mean, [2.25, 3, 3.75])
    np.testing.assert_allclose(curve.sd, np.array([3.5, 4, 4.5]) / np.sqrt(2))


def test_learning_curve_over_minutes_skips_rows_without_a_reward_rate() -> None:
    curve = learning_curve([metrics([0, 60, 120], [None, 1, 3])], x="minutes", points=3)
    np.testing.assert_allclose(curve.grid, [1, 1.5, 2])
    np.testing.assert_allclose(curve.mean, [1, 2, 3])
    assert np.isnan(curve.sd).all()  # one seed has no spread


def test_learning_curve_errors() -> None:
    with pytest.raises(ValueError, match="metrics_by_seed is empty"):
        learning_curve([])
    with pytest.raises(ValueError, match=r"seed 0 lack .*reward_rate"):
        learning_curve([pl.DataFrame({"frames": [1, 2]})])
    with pytest.raises(ValueError, match="seed 0 have 1 reward rates; 2 are needed"):
        learning_curve([metrics([1, 2], [None, 1])])
    with pytest.raises(ValueError, match="one starts at 5, another ends at 3"):
        learning_curve([metrics([1, 3], [0, 1]), metrics([5, 9], [0, 1])])
