"""The Bayesian observer against slow literal integrals, its limits, and recovery of its parameters."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from gnomon.analysis.observer import Kind, Observer, Prior
from gnomon.analysis.observer_fit import (
    CANDIDATES,
    Comparison,
    ObserverBootstrap,
    ObserverFit,
    Profile,
    bootstrap,
    compare,
    fit,
    predict,
    profile,
    recovery,
    simulate,
)
from gnomon.analysis.results import from_json, to_json

INTERVALS = tuple(float(t_s) for t_s in range(10, 101, 10))
every_observer = pytest.mark.parametrize(("kind", "prior"), CANDIDATES)


def literal_estimate(kind: Kind, prior: Prior, t_m: float, w_m: float) -> float:
    """t_e by the definitions, with a fine grid in place of every integral and maximum."""
    reach = 20 * w_m * abs(t_m) + 1
    if kind == "identity":
        return t_m
    if kind == "mle":
        support = np.linspace(0.01, t_m + reach, 400_001)
    elif prior == "uniform":
        support = np.linspace(10, 100, 400_001)
    else:
        support = np.array(INTERVALS)
    log_likelihood = norm.logpdf(t_m, support, w_m * support)
    if kind in ("map", "mle"):
        return float(support[np.argmax(log_likelihood)])
    posterior = np.exp(log_likelihood - log_likelihood.max())
    if prior == "uniform":
        return float(np.trapezoid(support * posterior, support) / np.trapezoid(posterior, support))
    return float(np.sum(support * posterior) / np.sum(posterior))


@every_observer
@pytest.mark.parametrize("w_m", [0.02, 0.1, 0.3])
def test_estimate_follows_the_definition(kind: Kind, prior: Prior, w_m: float) -> None:
    t_m = np.array([4.0, 9.5, 14.0, 33.3, 47.0, 90.0, 99.0, 130.0])
    expected = [literal_estimate(kind, prior, float(value), w_m) for value in t_m]
    tolerance = 1e-6 if kind == "bls" else 1e-3  # the grid of the literal maximum is coarse
    np.testing.assert_allclose(Observer(kind, prior, INTERVALS).estimate(t_m, w_m), expected, rtol=tolerance)


def test_mle_is_the_printed_formula() -> None:
    t_m, w = np.array([12.0, 50.0]), 0.15
    expected = t_m * (-1 + np.sqrt(1 + 4 * w**2)) / (2 * w**2)
    np.testing.assert_allclose(Observer("mle", "none", INTERVALS).estimate(t_m, w), expected)


@pytest.mark.parametrize("prior", ["discrete", "uniform"])
def test_bls_tends_to_the_identity_without_noise_and_to_the_prior_under_it(prior: Prior) -> None:
    observer = Observer("bls", prior, INTERVALS)
    for w_m in (1e-2, 1e-4, 1e-6):
        np.testing.assert_allclose(observer.estimate(INTERVALS[1:-1], w_m), INTERVALS[1:-1], rtol=2 * w_m)
    # a measurement far outside the range, or below zero, stays within the prior
    extreme = observer.estimate([-50.0, 0.0, 1e-3, 500.0], 1e-3)
    assert ((extreme >= 10) & (extreme <= 100)).all()
    # when noise drowns the measurement only 1 / t_s is left of the likelihood: the prior's mean, so weighted
    support = np.array(INTERVALS)
    weighted = 10 / np.sum(1 / support) if prior == "discrete" else 90 / np.log(10)
    np.testing.assert_allclose(observer.estimate([10.0, 100.0], 1e4), weighted, rtol=1e-4)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(w_m=st.floats(0.01, 0.5), prior=st.sampled_from(["discrete", "uniform"]))
def test_bls_stays_in_range_and_grows_with_the_measurement(w_m: float, prior: Prior) -> None:
    t_m = np.linspace(-50, 200, 300)
    t_e = Observer("bls", prior, INTERVALS).estimate(t_m, w_m)
    assert t_e.min() >= 10 - 1e-9
    assert t_e.max() <= 100 + 1e-9
    # the odds of b over a grow with t_m from a b / (a + b) on, whatever w_m: for all pairs, from 50 frames on
    assert (np.diff(t_e[t_m > 50]) > -1e-9).all()


def literal_probability(
    observer: Observer, t_s: float, t_p: float, w_m: float, w_p: float, frame: float = 1.0
) -> float:
    """P(t_p | t_s) by adaptive quadrature over short pieces of t_m, for t_e has steps."""

    def integrand(t_m: float) -> float:
        t_e = float(observer.estimate(t_m, w_m))
        low = -np.inf if t_p == 0 else (t_p - frame / 2 - t_e) / (w_p * t_e)
        high = (t_p + frame / 2 - t_e) / (w_p * t_e)
        produced = ndtr(high) - ndtr(low) if low < 0 else ndtr(-low) - ndtr(-high)
        return float(np.exp(-(((t_m - t_s) / (w_m * t_s)) ** 2) / 2) / (np.sqrt(2 * np.pi) * w_m * t_s) * produced)

    # where map jumps and the others bend: between any two intervals, and at the ends of the range
    harmonic = [2 / (1 / a + 1 / b) for a, b in pairwise(INTERVALS)]
    pieces = np.linspace(t_s * (1 - 10 * w_m), t_s * (1 + 10 * w_m), 25)
    pieces = np.union1d(pieces, [t_m for t_m in harmonic if pieces[0] < t_m < pieces[-1]])
    total = 0.0
    for low, high in pairwise(pieces):
        total += quad(integrand, low, high, epsabs=1e-16, epsrel=1e-9, limit=100)[0]
    return total


@every_observer
@pytest.mark.parametrize(
    ("t_s", "t_p", "w_m", "w_p"),
    [
        (10, 11, 0.1, 0.1),
        (50, 46, 0.06, 0.05),
        (100, 83, 0.2, 0.08),
        (20, 27, 0.05, 0.05),  # the upper tail, where a difference of cdfs would have lost its digits
    ],
)
def test_probability_equals_slow_quadrature(
    kind: Kind, prior: Prior, t_s: float, t_p: float, w_m: float, w_p: float
) -> None:
    observer = Observer(kind, prior, INTERVALS)
    slow = literal_probability(observer, t_s, t_p, w_m, w_p)
    np.testing.assert_allclose(observer.probability(t_s, t_p, w_m, w_p), slow, rtol=1e-6)


def test_other_frames_and_a_production_of_nothing_equal_slow_quadrature() -> None:
    observer = Observer("bls", "discrete", INTERVALS)
    slow = literal_probability(observer, 30, 28.25, 0.1, 0.1, frame=0.25)
    np.testing.assert_allclose(observer.probability(30, 28.25, 0.1, 0.1, frame=0.25), slow, rtol=1e-6)
    slow = literal_probability(observer, 10, 0, 0.2, 0.3)  # all below half a frame, not only down to -0.5
    assert slow > 1.1 * (literal_probability(observer, 10, 1e-9, 0.2, 0.3))
    np.testing.assert_allclose(observer.probability(10, 0, 0.2, 0.3), slow, rtol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(w_m=st.floats(0.003, 0.3), w_p=st.floats(0.003, 0.2), candidate=st.sampled_from(CANDIDATES))
def test_the_frames_share_all_probability_with_the_predicted_moments(
    w_m: float, w_p: float, candidate: tuple[Kind, Prior]
) -> None:
    observer = Observer(*candidate, INTERVALS)
    t_p = np.arange(300.0)
    probability = observer.probability(20.0, t_p, w_m, w_p)
    mean, sd = observer.moments([20.0], w_m, w_p)
    assert (probability >= 0).all()
    assert np.sum(probability) == pytest.approx(1, abs=1e-7)
    if min(sd[0], 20 * w_p) > 1 and norm.cdf(0, mean[0], sd[0]) < 1e-6:  # smooth, and next to nothing below 0
        assert np.sum(probability * t_p) == pytest.approx(mean[0], rel=1e-5)
        assert np.sum(probability * (t_p - mean[0]) ** 2) == pytest.approx(sd[0] ** 2 + 1 / 12, rel=1e-3)


@every_observer
def test_simulated_trials_have_the_probabilities_of_their_frames(kind: Kind, prior: Prior) -> None:
    t_s, t_p = simulate(0.06, 0.05, INTERVALS, 40_000, np.random.default_rng(0), kind, prior)
    sample = t_p[t_s == 10]  # s.d. below one frame
    frames = np.arange(8.0, 13.0)
    expected = Observer(kind, prior, INTERVALS).probability(10, frames, 0.06, 0.05) * len(sample)
    found = np.array([(sample == frame).sum() for frame in frames])
    assert (np.abs(found - expected) < 4 * np.sqrt(expected) + 1).all()


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


def test_an_observer_without_prior_leaves_its_two_noises_exchangeable() -> None:
    observer, t_p = Observer("identity", "none", INTERVALS), np.arange(20.0, 90.0)
    ours, swapped = (observer.probability(50.0, t_p, *w) for w in ((0.1, 0.06), (0.06, 0.1)))
    np.testing.assert_allclose(ours, swapped, rtol=1e-6, atol=1e-12)


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
