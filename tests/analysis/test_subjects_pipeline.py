"""Scripted subjects go from the laboratory through the trial table to the analyses, and come out as what they are."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import norm

from gnomon.analysis.observer import Observer
from gnomon.analysis.observer_fit import compare, fit
from gnomon.analysis.performance import production
from gnomon.analysis.scalar_variability import scalar_variability
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import PAPER, Bisection, Task
from gnomon.records.trials import take_trials
from gnomon.subjects.scripted import BlindSubject, NoisySubject, PerfectSubject, RandomSubject, ScriptedSubject

BRISK = replace(PAPER, pause=1)  # the paper's task without its long pauses
W_M, W_P = 0.1, 0.06  # of the noisy and of the Bayesian subject


def run(
    subject: Callable[[Laboratory], ScriptedSubject], lanes: int, frames: int, trials: int, task: Task = BRISK
) -> pl.DataFrame:
    """The first trials of every lane, as many of each, so that quick trials are not over-represented."""
    laboratory = Laboratory(task, lanes=lanes, seed=0)
    someone = subject(laboratory)
    for _ in range(frames):
        laboratory.step(someone.act().action)
    table = take_trials(laboratory.trials).filter(pl.int_range(pl.len()).over("lane") < trials)
    assert table.height == lanes * trials
    return table


def noisy(laboratory: Laboratory) -> ScriptedSubject:
    return NoisySubject(laboratory, w_m=W_M, w_p=W_P)


class BayesianSubject(NoisySubject):
    """Knows which intervals there are, and takes the posterior mean of what it has measured."""

    def estimate(self, interval: torch.Tensor) -> torch.Tensor:
        observer = Observer("bls", "discrete", tuple(float(t_s) for t_s in BRISK.intervals))
        return torch.from_numpy(observer.estimate(super().estimate(interval).numpy(), self.w_m))


def test_the_perfect_subject_is_perfect() -> None:
    trials = run(PerfectSubject, lanes=20, frames=1700, trials=6)
    result = production(trials)
    np.testing.assert_array_equal(result.share_within, 1)
    np.testing.assert_array_equal(result.bias, 0)
    assert (result.line.slope, result.line.intercept) == pytest.approx((1, 0))
    assert result.error.rmse == 0
    fitted = fit(trials)
    assert max(fitted.w_m, fitted.w_p) < 0.01
    assert fitted.complaint.endswith("noise too small to be seen in whole frames")
    with pytest.raises(ValueError, match="there is no variability to fit"):
        scalar_variability(trials)


def test_the_noisy_subject_has_its_scalar_noise_and_no_prior() -> None:
    trials = run(noisy, lanes=1000, frames=1900, trials=7)
    result = production(trials)
    low, high = result.line.slope_interval
    assert low < 1 < high  # it does not regress to the mean
    spread = scalar_variability(trials)
    total = np.sqrt((1 + W_M**2) * (1 + W_P**2) - 1)
    rounding = np.sqrt((total * spread.sample_interval) ** 2 + 1 / 12)
    np.testing.assert_allclose(spread.sd, rounding, rtol=0.1)
    assert spread.c == pytest.approx(1, abs=0.15)
    best, second = compare(trials, [("bls", "discrete"), ("identity", "none")]).fits
    assert best.observer == "identity"
    assert second.aic > best.aic + 5
    # Without a prior the two noises may change places: only their sum is known well, and the larger is called w_m.
    w_p, w_m = sorted((best.w_m, best.w_p))
    assert np.hypot(w_m, w_p) == pytest.approx(np.hypot(W_M, W_P), rel=0.02)
    error = max(best.w_m_error, best.w_p_error)
    assert w_m == pytest.approx(W_M, rel=0.1)
    assert w_p == pytest.approx(W_P, rel=3 * error)


def test_the_noisy_subject_measures_as_badly_in_a_choice_task() -> None:
    # What its productions cannot say, which of its two noises is which, its choices can: they have no production.
    short, long = 40, 50
    trials = run(noisy, 400, 1500, 6, Bisection(durations=(short, long), pause=1))
    criterion = np.sqrt(short * long)

    def share_correct(w_m: float) -> float:
        return float(np.mean(norm.cdf([(criterion - short) / (w_m * short), (long - criterion) / (w_m * long)])))

    correct = (trials["outcome"] == "correct").mean()
    assert isinstance(correct, float)
    found = brentq(lambda w_m: share_correct(w_m) - correct, 0.01, 1.0)
    assert found == pytest.approx(W_M, rel=0.1)


def test_a_bayesian_subject_gives_back_both_its_noises() -> None:
    trials = run(lambda laboratory: BayesianSubject(laboratory, w_m=W_M, w_p=W_P), 600, 1900, 7)
    result = compare(trials, [("bls", "discrete"), ("map", "discrete"), ("mle", "none")])
    best = result.fits[0]
    assert (best.observer, best.prior, best.complaint) == ("bls", "discrete", "")
    assert best.w_m == pytest.approx(W_M, rel=3 * best.w_m_error)
    assert best.w_p == pytest.approx(W_P, rel=3 * best.w_p_error)
    assert max(best.w_m_error, best.w_p_error) < 0.05
    assert production(trials).line.slope_interval[1] < 1  # it does regress to the mean


def test_the_blind_subject_does_not_see_the_interval() -> None:
    trials = run(BlindSubject, lanes=20, frames=1700, trials=6)
    result = production(trials)
    assert result.line.slope == 0
    np.testing.assert_array_equal(result.mean, 55)
    np.testing.assert_array_equal(result.share_within, np.isin(result.sample_interval, [50, 60]))
    fitted = fit(trials)
    assert not fitted.converged
    assert fitted.complaint.startswith("w_m is at its bound, 1.5")  # a measurement that says nothing


def test_the_random_subject_knows_nothing() -> None:
    laboratory = Laboratory(BRISK, lanes=300, seed=0)
    subject = RandomSubject(laboratory)
    for _ in range(3000):
        laboratory.step(subject.act().action)
    trials = take_trials(laboratory.trials)
    result = production(trials)
    missed = result.share_early + result.share_timeout
    assert np.average(missed, weights=result.n_trials) > 0.6
    assert min(result.share_early.max(), result.share_timeout.max()) > 0.1  # of either kind
    assert np.average(result.share_within, weights=result.n_trials) < 0.1
    low, high = result.line.slope_interval
    assert low < 0 < high
    assert np.nanmean(result.sd) > 50
    assert fit(trials).complaint.endswith("no amount of such noise explains these productions")
