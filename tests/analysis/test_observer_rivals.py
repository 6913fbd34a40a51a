"""Simulated subjects come out as what they are: a Bayesian observer, a clock with an end, or neither."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gnomon.analysis.goodness_of_fit import chi_square
from gnomon.analysis.observer import Observer
from gnomon.analysis.observer_fit import Comparison, compare, fit, simulate
from gnomon.analysis.observer_rivals import CLOCK, Rivals, fit_clock, rivals
from gnomon.analysis.results import from_json, to_json

T_S = tuple(range(10, 101, 10))  # frames


def clock(w_m: float, w_p: float, ceiling: float, lapse: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy clock that runs out, and answers at random now and then."""
    rng = np.random.default_rng(seed)
    t_s = rng.choice(np.array(T_S, dtype=float), n)
    t_e = np.clip(rng.normal(t_s, w_m * t_s), 1e-3, ceiling)
    t_p = np.maximum(np.rint(rng.normal(t_e, w_p * t_e)), 0)
    return t_s, np.where(rng.random(n) < lapse, rng.integers(0, 201, n), t_p)


def table(pairs: tuple[np.ndarray, np.ndarray]) -> pl.DataFrame:
    t_s, t_p = pairs
    return pl.DataFrame({"sample_interval": t_s, "production_interval": t_p}).with_columns(
        task=pl.lit("ready_set_go"), outcome=pl.lit("correct"), lane=pl.int_range(pl.len()) % 40
    )


def against(pairs: tuple[np.ndarray, np.ndarray]) -> Rivals:
    trials = table(pairs)
    return rivals(trials, Comparison((fit(trials),)), n_bootstrap=50)


@pytest.fixture(scope="module")
def of_clock() -> Rivals:
    return against(clock(0.1, 0.05, 88, 0.02, 3000, seed=1))


@pytest.fixture(scope="module")
def of_observer() -> Rivals:
    return against(simulate(0.15, 0.08, T_S, 3000, np.random.default_rng(2)))


@pytest.mark.parametrize(("w_m", "w_p", "ceiling", "lapse"), [(0.1, 0.05, 88, 0.03), (0.05, 0.1, 75, 0.0)])
def test_the_clock_is_recovered(w_m: float, w_p: float, ceiling: float, lapse: float) -> None:
    found = fit_clock(clock(w_m, w_p, ceiling, lapse, 6000, seed=0))
    assert found.ceiling == pytest.approx(ceiling, rel=0.02)
    assert (found.w_m, found.w_p) == pytest.approx((w_m, w_p), rel=0.12)
    assert found.lapse == pytest.approx(lapse, abs=0.01)
    assert found.converged


def test_a_clock_that_never_ends_has_its_end_at_the_bound() -> None:
    assert fit_clock(clock(0.1, 0.05, 1000, 0.0, 2000, seed=3)).ceiling > 120


def test_a_clock_with_an_end_is_told_from_a_bayesian_observer(of_clock: Rivals) -> None:
    assert of_clock.best().name == CLOCK
    assert of_clock.behind("bayesian", "clock") > 50
    ours, bayesian = of_clock.best("clock"), of_clock.best("bayesian")
    assert not ours.rejected
    assert bayesian.rejected
    assert abs(ours.residual[-1]) < 1 < abs(bayesian.residual[-1])  # the bias at the longest interval
    assert ours.r2_bias > 0.9 > bayesian.r2_bias
    assert ours.mean_misplaced < bayesian.mean_misplaced


def test_too_few_productions_for_two_bins_tell_nothing_of_what_is_misplaced(of_clock: Rivals) -> None:
    model = of_clock.best()
    assert model.mean_misplaced == pytest.approx(model.misplaced.mean())
    assert np.isnan(replace(model, degrees=np.zeros_like(model.degrees)).mean_misplaced)


def test_a_bayesian_observer_is_told_from_a_clock_with_an_end(of_observer: Rivals) -> None:
    best = of_observer.best()
    assert best.family == "bayesian"
    assert of_observer.behind("bayesian") < 0 < of_observer.behind("clock")
    assert not best.rejected
    assert min(best.r2_mean, best.r2_bias, best.r2_sd) > 0.8
    assert of_observer.best("clock").rejected


def test_observed_and_predicted_moments(of_observer: Rivals) -> None:
    best = of_observer.best()
    fitted = dict(best.parameters)
    mean, sd = Observer("bls", "discrete", tuple(map(float, T_S))).moments(T_S, fitted["w_m"], fitted["w_p"])
    np.testing.assert_allclose(best.predicted_mean, mean, atol=0.05)
    np.testing.assert_allclose(best.predicted_sd, np.sqrt(sd**2 + 1 / 12), rtol=0.01)
    np.testing.assert_allclose(best.residual, of_observer.mean - best.predicted_mean, atol=1e-9)
    assert (of_observer.bias_interval[:, 0] < of_observer.bias).all()
    normals = of_observer.best("normals")
    np.testing.assert_allclose(normals.residual, 0, atol=0.3)
    assert normals.n_parameters == 2 * len(T_S) + 1


def test_two_humps_are_beyond_every_model() -> None:
    rng = np.random.default_rng(4)
    t_s = rng.choice(np.array(T_S, dtype=float), 2000)
    t_p = np.rint(t_s + rng.choice([-9, 9], 2000) + rng.normal(0, 1, 2000)).clip(0)
    assert all(model.rejected for model in against((t_s, t_p)).models)


def test_chi_square_of_bins_worked_out_by_hand() -> None:
    # 120 productions over 4 frames; every frame is a bin of its own.
    found, expected = np.array([20.0, 40, 40, 20]), np.array([30.0, 30, 30, 30])
    assert chi_square(found, expected) == (pytest.approx(4 * 100 / 30), 4, pytest.approx(20 / 120))
    # frames that are expected to hold fewer than 5 productions share a bin
    assert chi_square(np.array([1.0, 2, 5, 4]), np.array([2.0, 3, 4, 3]))[1] == 2


def test_all_observers_stand_beside_the_rivals_and_survive_json() -> None:
    trials = table(simulate(0.15, 0.08, T_S, 400, np.random.default_rng(5)))
    compared = compare(trials, [("bls", "discrete"), ("identity", "none")])
    result = rivals(trials, compared, n_bootstrap=10)
    assert {model.name for model in result.models} == {
        "BLS, discrete prior", "BLS, discrete prior and lapses", "identity", CLOCK, "a normal for each interval"
    }  # fmt: skip
    assert [model.aic for model in result.models] == sorted(model.aic for model in result.models)
    text = to_json(result)
    assert to_json(from_json(Rivals, text)) == text
