"""The Bayesian observer against slow literal integrals, its limits, and recovery of its parameters."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from gnomon.analysis.observer import Kind, Observer, Prior
from gnomon.analysis.observer_fit import (
    CANDIDATES,
    simulate,
)

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


def test_an_observer_without_prior_leaves_its_two_noises_exchangeable() -> None:
    observer, t_p = Observer("identity", "none", INTERVALS), np.arange(20.0, 90.0)
    ours, swapped = (observer.probability(50.0, t_p, *w) for w in ((0.1, 0.06), (0.06, 0.1)))
    np.testing.assert_allclose(ours, swapped, rtol=1e-6, atol=1e-12)
