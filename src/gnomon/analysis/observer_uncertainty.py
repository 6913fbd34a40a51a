"""How far to trust a fit of the Bayesian observer: likelihood profiles, bootstrap over lanes, parameter recovery."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from gnomon.analysis.bootstrap import interval_over_lanes, lane_index, lane_weights
from gnomon.analysis.observer import Array, Kind, Prior
from gnomon.analysis.observer_fit import ObserverFit, fit, productions_of, simulate
from gnomon.analysis.observer_likelihood import FLAT_ERROR, POLISHING
from gnomon.analysis.performance import productions


@dataclass(frozen=True, eq=False)
class Profile:
    """Log likelihood around a fit, its lapse held: how well w_m and w_p can be told apart."""

    w_m: Array  # [G]
    w_p: Array  # [H]
    log_likelihood: Array  # [G, H]
    profile_w_m: Array  # [G] the best over w_p
    profile_w_p: Array  # [H] the best over w_m
    w_m_interval: tuple[float, float]  # 95 %, likelihood ratio; nan where the grid ends before it
    w_p_interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class ObserverBootstrap:
    """Refits to N resamples of the lanes."""

    w_m: Array  # [N]
    w_p: Array  # [N]
    lapse: Array  # [N]
    w_m_interval: tuple[float, float]  # 95 % over lanes
    w_p_interval: tuple[float, float]
    correlation: float  # of w_m and w_p over the refits; near -1 means one is bought with the other


@dataclass(frozen=True, eq=False)
class Recovery:
    """Parameters put into simulated trials and what the fit made of them; K runs."""

    true_w_m: Array  # [K]
    true_w_p: Array  # [K]
    w_m: Array  # [K]
    w_p: Array  # [K]


def profile(fitted: ObserverFit, w_m: ArrayLike | None = None, w_p: ArrayLike | None = None) -> Profile:
    """Log likelihood on a grid (ascending), by default 4 standard errors around each estimate in 17 steps."""
    data = productions_of(fitted)
    error_m, error_p = np.nan_to_num([fitted.w_m_error, fitted.w_p_error], nan=FLAT_ERROR)
    steps = np.linspace(-4, 4, 17)
    w_m = np.asarray(fitted.w_m * np.exp(steps * error_m) if w_m is None else w_m, dtype=np.float64)
    w_p = np.asarray(fitted.w_p * np.exp(steps * error_p) if w_p is None else w_p, dtype=np.float64)
    surface = np.array([[data.log_likelihood(a, b, fitted.lapse) for b in w_p] for a in w_m])
    over_w_m = np.array([_peak(w_p, row) for row in surface])
    over_w_p = np.array([_peak(w_m, column) for column in surface.T])
    return Profile(
        w_m=w_m,
        w_p=w_p,
        log_likelihood=surface,
        profile_w_m=over_w_m,
        profile_w_p=over_w_p,
        w_m_interval=_likelihood_interval(w_m, over_w_m, fitted.log_likelihood),
        w_p_interval=_likelihood_interval(w_p, over_w_p, fitted.log_likelihood),
    )


def bootstrap(trials: pl.DataFrame, fitted: ObserverFit, n: int = 100, seed: int = 0) -> ObserverBootstrap:
    """Refit n resamples of the lanes of `trials`, to which the observer was fitted, setting out from the fit."""
    data, produced = productions_of(fitted), productions(trials)
    lane, lanes = lane_index(produced["lane"])
    columns = [produced[name].cast(pl.Float64).to_numpy() for name in ("sample_interval", "production_interval")]
    distinct, pair = np.unique(np.stack(columns), axis=1, return_inverse=True)
    if distinct.shape != (2, len(data.t_s)) or not (distinct == np.stack([data.t_s, data.t_p])).all():
        raise ValueError("trials are not those to which the observer was fitted")
    size = distinct.shape[1]
    by_lane = np.bincount(lane * size + pair.ravel(), minlength=lanes * size).reshape(lanes, size)  # [lane, pair]
    refits = np.empty((n, 3))
    for index, weights in enumerate(lane_weights(lanes, n, seed)):
        count = np.rint(weights @ by_lane).astype(np.int64)
        refits[index] = replace(data, count=count).climb(fitted.w_m, fitted.w_p, fitted.lapse, POLISHING)[:3]
    w_m, w_p, rate = refits.T
    correlation = float(np.corrcoef(w_m, w_p)[0, 1]) if n > 1 else float("nan")
    intervals = interval_over_lanes(w_m, lanes), interval_over_lanes(w_p, lanes)
    return ObserverBootstrap(w_m, w_p, rate, *intervals, correlation)


def recovery(
    grid: Sequence[tuple[float, float]],
    sample_intervals: Sequence[float] = tuple(range(10, 101, 10)),
    n: int = 20_000,
    observer: Kind = "bls",
    prior: Prior = "discrete",
    seed: int = 0,
) -> Recovery:
    """Simulate n trials in whole frames for each (w_m, w_p), and fit them."""
    fits = []
    for index, (w_m, w_p) in enumerate(grid):
        rng = np.random.default_rng([seed, index])
        t_s, t_p = simulate(w_m, w_p, sample_intervals, n, rng, observer, prior)
        fits.append(fit((t_s, t_p), observer, prior))
    true = np.array(grid, dtype=np.float64).reshape(-1, 2)
    return Recovery(true[:, 0], true[:, 1], np.array([f.w_m for f in fits]), np.array([f.w_p for f in fits]))


def _peak(w: Array, log_likelihood: Array) -> float:
    """The peak between grid points: of the parabola (in log w) through the highest and its neighbours."""
    top = int(np.argmax(log_likelihood))
    if not 0 < top < len(w) - 1:
        return float(log_likelihood[top])
    near = slice(top - 1, top + 2)
    quadratic, linear, constant = np.polyfit(np.log(w[near] / w[top]), log_likelihood[near], 2)
    return float(constant - linear**2 / (4 * quadratic)) if quadratic < 0 else float(log_likelihood[top])


def _likelihood_interval(w: Array, log_likelihood: Array, best: float) -> tuple[float, float]:
    """Where the profile crosses chi2(1) / 2 below the maximum, on each side, by linear interpolation."""
    above = log_likelihood - (max(best, log_likelihood.max()) - chi2.ppf(0.95, df=1) / 2)
    peak = int(np.argmax(above))

    def crossing(indices: NDArray[np.int64]) -> float:
        for inner, outer in pairwise(indices):
            if above[inner] >= 0 > above[outer]:
                share = above[inner] / (above[inner] - above[outer])
                return float(w[inner] + share * (w[outer] - w[inner]))
        return float("nan")

    return crossing(np.arange(peak, -1, -1)), crossing(np.arange(peak, len(w)))
