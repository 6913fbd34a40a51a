"""Fits of the Bayesian observer: recovery of its parameters, the comparison, and how far to trust them."""

import numpy as np
import polars as pl
import pytest

from gnomon.analysis.observer import Kind, Observer, Prior
from gnomon.analysis.observer_fit import CANDIDATES, Comparison, ObserverFit, compare, fit, predict, simulate
from gnomon.analysis.observer_uncertainty import ObserverBootstrap, Profile, bootstrap, profile, recovery
from gnomon.analysis.results import from_json, to_json

INTERVALS = tuple(float(t_s) for t_s in range(10, 101, 10))


def test_parameters_are_recovered() -> None:
    grid = [(w_m, w_p) for w_m in (0.05, 0.1, 0.2) for w_p in (0.05, 0.1, 0.2)]
    found = recovery(grid, n=20_000)
    # The one exception is no fault of the fit: with w_p 0.2 the standard error of a w_m of 0.05 is 7 %.
    hard = (found.true_w_m == 0.05) & (found.true_w_p == 0.2)
    np.testing.assert_allclose(found.w_m[~hard], found.true_w_m[~hard], rtol=0.05)
    np.testing.assert_allclose(found.w_m[hard], found.true_w_m[hard], rtol=0.2)
    np.testing.assert_allclose(found.w_p, found.true_w_p, rtol=0.05)


@pytest.mark.parametrize(("kind", "prior"), [("bls", "uniform"), ("map", "discrete"), ("map", "uniform")])
def test_other_observers_are_recovered(kind: Kind, prior: Prior) -> None:
    result = fit(simulate(0.1, 0.1, INTERVALS, 8000, np.random.default_rng(0), kind, prior), kind, prior)
    assert (result.w_m, result.w_p) == pytest.approx((0.1, 0.1), rel=0.1)
    assert result.w_m == pytest.approx(0.1, rel=4 * result.w_m_error)


def test_whole_frames_do_not_bias_the_fit() -> None:
    # the density at the frame in place of its probability overstates this w_p by 4 %, five standard errors
    result = fit(simulate(0.05, 0.05, INTERVALS, 60_000, np.random.default_rng(1)))
    assert result.w_p_error < 0.005
    assert result.w_m == pytest.approx(0.05, rel=3 * result.w_m_error)
    assert result.w_p == pytest.approx(0.05, rel=3 * result.w_p_error)


def test_productions_without_noise_earn_a_complaint() -> None:
    t_s = np.repeat(INTERVALS, 20)
    result = fit((t_s, t_s))
    assert max(result.w_m, result.w_p) < 0.03
    assert not result.converged
    assert result.complaint == "w_p is at its bound, 0.002: noise too small to be seen in whole frames"


@pytest.fixture(scope="module")
def productions() -> tuple[np.ndarray, np.ndarray]:
    return simulate(0.12, 0.08, INTERVALS, 3000, np.random.default_rng(5))


@pytest.fixture(scope="module")
def fitted(productions: tuple[np.ndarray, np.ndarray]) -> ObserverFit:
    return fit(productions)


def test_log_likelihood_aic_and_bic_are_what_they_say(
    productions: tuple[np.ndarray, np.ndarray], fitted: ObserverFit
) -> None:
    t_s, t_p = productions
    literal = np.log(Observer("bls", "discrete", INTERVALS).probability(t_s, t_p, fitted.w_m, fitted.w_p)).sum()
    assert fitted.log_likelihood == pytest.approx(literal, rel=1e-9)  # grouping pairs changes nothing
    assert fitted.n == fitted.count.sum() == 3000
    assert fitted.aic == pytest.approx(4 - 2 * literal)
    assert fitted.bic == pytest.approx(2 * np.log(3000) - 2 * literal)
    assert fitted.converged
    assert fitted.complaint == ""


def test_a_trial_table_and_its_arrays_give_the_same_fit(
    productions: tuple[np.ndarray, np.ndarray], fitted: ObserverFit, trial_table
) -> None:
    rows = [(int(t_s), int(t_p), "correct") for t_s, t_p in zip(*productions, strict=True)]
    trials = trial_table([*rows, (10, None, "early"), (10, 70, "aborted")])
    assert to_json(fit(trials)) == to_json(fitted)


def test_probes_are_explained_but_are_no_part_of_the_prior(trial_table) -> None:
    rows = [(t_s, t_s + error, "correct") for t_s in (20, 30, 45) for error in (-2, 0, 2) for _ in range(10)]
    trials = trial_table(rows).with_columns(probe=pl.col("sample_interval") == 45)
    result = fit(trials)
    assert result.intervals == (20.0, 30.0)
    assert set(result.sample_interval) == {20.0, 30.0, 45.0}


def test_the_true_observer_wins_the_comparison(productions: tuple[np.ndarray, np.ndarray]) -> None:
    result = compare(productions)
    table = result.table()
    assert table.height == len(CANDIDATES)
    assert table.row(0, named=True)["observer"] == "bls"
    assert table["delta_aic"][0] == 0
    assert table["aic"].is_sorted()
    # the two priors are hard to tell apart in so much noise; mle has no prior to lean on
    assert table.filter(observer="mle")["delta_aic"].item() > 100
    assert to_json(from_json(Comparison, to_json(result))) == to_json(result)


def test_lapses_are_found_and_do_not_spoil_the_rest() -> None:
    rng = np.random.default_rng(7)
    t_s, t_p = simulate(0.1, 0.1, INTERVALS, 4000, rng)
    lapsed = rng.random(4000) < 0.05
    t_p = np.rint(np.where(lapsed, rng.uniform(0, 250, 4000), t_p))
    with_lapse, without = fit((t_s, t_p), lapse=True), fit((t_s, t_p))
    assert with_lapse.lapse == pytest.approx(0.05, abs=0.015)
    assert (with_lapse.w_m, with_lapse.w_p) == pytest.approx((0.1, 0.1), rel=0.15)
    assert with_lapse.aic == pytest.approx(6 - 2 * with_lapse.log_likelihood)
    assert with_lapse.aic < without.aic - 100
    assert without.lapse == 0


@pytest.fixture(scope="module")
def profiled(fitted: ObserverFit) -> Profile:
    return profile(fitted)


def test_profile_peaks_at_the_fit_and_bounds_the_truth(fitted: ObserverFit, profiled: Profile) -> None:
    result = profiled
    assert result.log_likelihood.shape == (len(result.w_m), len(result.w_p))
    assert result.log_likelihood.max() == pytest.approx(fitted.log_likelihood, abs=0.05)
    assert (result.profile_w_m >= result.log_likelihood.max(axis=1) - 1e-9).all()
    for interval, estimate, truth in (
        (result.w_m_interval, fitted.w_m, 0.12),
        (result.w_p_interval, fitted.w_p, 0.08),
    ):
        assert interval[0] < estimate < interval[1]
        assert interval[0] < truth < interval[1]
    # more of one noise means less of the other: the ridge falls
    best_w_p = result.w_p[np.argmax(result.log_likelihood, axis=1)]
    assert best_w_p[4] > best_w_p[-5]
    assert to_json(from_json(Profile, to_json(result))) == to_json(result)


def test_profile_that_ends_too_soon_leaves_the_interval_open(fitted: ObserverFit) -> None:
    result = profile(fitted, w_m=fitted.w_m * np.array([0.5, 0.75, 1.0]), w_p=[fitted.w_p])
    assert result.w_m_interval[0] < fitted.w_m
    assert np.isnan(result.w_m_interval[1])


def test_bootstrap_spreads_like_the_profile(
    productions: tuple[np.ndarray, np.ndarray], fitted: ObserverFit, profiled: Profile
) -> None:
    t_s, t_p = productions
    trials = pl.DataFrame({"sample_interval": t_s, "production_interval": t_p}).with_columns(
        task=pl.lit("ready_set_go"), outcome=pl.lit("correct"), lane=pl.int_range(pl.len()) % 100
    )
    result = bootstrap(trials, fitted, n=8)
    with pytest.raises(ValueError, match="not those to which the observer was fitted"):
        bootstrap(trials.head(100), fitted, n=2)
    expected = np.diff(profiled.w_m_interval)[0] / (2 * 1.96)
    assert expected / 2 < result.w_m.std(ddof=1) < expected * 2
    assert result.w_m.mean() == pytest.approx(fitted.w_m, abs=2 * expected)
    assert result.correlation < 0
    assert to_json(from_json(ObserverBootstrap, to_json(result))) == to_json(result)


def test_prediction_shows_the_pull_towards_the_prior(fitted: ObserverFit) -> None:
    mean, sd = predict(fitted, [10, 50, 100])
    assert mean[0] > 10
    assert mean[2] < 100
    assert sd[0] < sd[1]


def test_fit_survives_json(fitted: ObserverFit) -> None:
    again = from_json(ObserverFit, to_json(fitted))
    assert to_json(again) == to_json(fitted)
    np.testing.assert_array_equal(predict(again, INTERVALS), predict(fitted, INTERVALS))


def test_errors(trial_table) -> None:
    with pytest.raises(ValueError, match="49 productions are too few; fitting an observer needs 50"):
        fit((np.full(49, 10.0), np.full(49, 10.0)))
    with pytest.raises(ValueError, match="must be finite arrays of one length"):
        fit((np.full(60, 10.0), np.full(59, 10.0)))
    with pytest.raises(ValueError, match="sample intervals must be positive"):
        fit((np.full(60, 0.0), np.full(60, 10.0)))
    with pytest.raises(ValueError, match=r"60 productions, such as 10\.5, are no whole multiples of frame 1"):
        fit((np.full(60, 10.0), np.full(60, 10.5)))
    with pytest.raises(ValueError, match="must be two or more"):
        fit((np.full(60, 10.0), np.full(60, 10.0)))
    with pytest.raises(ValueError, match="is empty"):
        fit(trial_table([]))
    with pytest.raises(ValueError, match="unknown observer 'blz'; choose bls, map, mle or identity"):
        Observer("blz", "discrete", INTERVALS)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="choose discrete or uniform"):
        Observer("bls", "none", INTERVALS)
    with pytest.raises(ValueError, match="must be positive"):
        simulate(0.0, 0.1, INTERVALS, 10, np.random.default_rng(0))
