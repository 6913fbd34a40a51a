"""Scalar variability: how the spread of productions grows with the interval, sd = a + b t_s^c.

Weber's law is c = 1 with a = 0; the paper finds c = 0.7 for the feedforward agent. The three parameters trade
off, so each comes with a bootstrap interval. a and b are at least 0: a floor plus something that grows.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import least_squares

from gnomon.analysis.performance import (
    N_BOOTSTRAP,
    bootstrap_moments,
    per_interval,
    percentile_interval,
    samples,
)

MIN_INTERVALS = 4  # three parameters and one degree of freedom
MIN_PRODUCTIONS = 5  # per sample interval, below which its s.d. says nothing
EXPONENTS = (0.05, 4.0)  # bounds on c; at 0 the curve is flat and a, b are the same thing
STARTS = (0.3, 0.7, 1.0, 1.5, 2.5)  # exponents from which least squares sets out


@dataclass(frozen=True, eq=False)
class ScalarVariability:
    """The fit and the points it went through; arrays run over the I fitted sample intervals."""

    task: str
    sample_interval: NDArray[np.int64]  # [I] frames
    n_productions: NDArray[np.int64]  # [I]
    mean: NDArray[np.float64]  # [I] frames
    sd: NDArray[np.float64]  # [I] frames
    sd_interval: NDArray[np.float64]  # [I, 2] 95 % bootstrap
    weber_fraction: NDArray[np.float64]  # [I] sd / mean
    left_out: tuple[int, ...]  # sample intervals with fewer than 5 productions
    a: float  # frames
    b: float  # frames^(1 - c)
    c: float
    a_interval: tuple[float, float]  # 95 % bootstrap, trials resampled within sample intervals
    b_interval: tuple[float, float]
    c_interval: tuple[float, float]
    curve_interval: NDArray[np.float64]  # [I, 2] 95 % bootstrap of a + b t_s^c
    r_squared: float  # share of the variance of sd over sample intervals that the curve explains


def scalar_variability(trials: pl.DataFrame, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> ScalarVariability:
    """Fit sd(t_p) = a + b t_s^c by least squares, each sample interval counting once."""
    table = per_interval(trials)
    enough = table["n_productions"] >= MIN_PRODUCTIONS
    fitted = table.filter(enough)
    if fitted.height < MIN_INTERVALS:
        raise ValueError(
            f"{fitted.height} sample intervals have {MIN_PRODUCTIONS} or more productions; "
            f"fitting a + b x^c needs {MIN_INTERVALS}"
        )
    t_p = [values for values in samples(trials) if len(values) >= MIN_PRODUCTIONS]
    t_s, sd = fitted["sample_interval"].to_numpy(), fitted["sd"].to_numpy()
    if not sd.any():
        raise ValueError("every sd of the production interval is 0: there is no variability to fit")
    a, b, c = fit_power_law(t_s, sd)
    _, resampled = bootstrap_moments(t_p, n_bootstrap, seed)  # [n_bootstrap, I]
    draws = fit_power_law_to_each(t_s, resampled)
    curves = draws[:, :1] + draws[:, 1:2] * t_s ** draws[:, 2:]  # [n_bootstrap, I]
    residual, total = np.sum((sd - a - b * t_s**c) ** 2), np.sum((sd - sd.mean()) ** 2)
    return ScalarVariability(
        task=trials["task"][0],
        sample_interval=t_s,
        n_productions=fitted["n_productions"].to_numpy(),
        mean=fitted["mean"].to_numpy(),
        sd=sd,
        sd_interval=np.array([percentile_interval(column) for column in resampled.T]),
        weber_fraction=sd / fitted["mean"].to_numpy(),
        left_out=tuple(table.filter(~enough)["sample_interval"]),
        a=a,
        b=b,
        c=c,
        a_interval=percentile_interval(draws[:, 0]),
        b_interval=percentile_interval(draws[:, 1]),
        c_interval=percentile_interval(draws[:, 2]),
        curve_interval=np.array([percentile_interval(column) for column in curves.T]),
        r_squared=float(1 - residual / total) if total > 0 else float("nan"),
    )


def fit_power_law(t_s: NDArray[np.int64], sd: NDArray[np.float64]) -> tuple[float, float, float]:
    """(a, b, c) of least squares, a and b at least 0, the best of several starts."""
    longest = float(t_s.max())
    x = t_s / longest  # so that a and b * longest^c have the same scale, whatever c is

    def residual(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b, c = parameters
        return a + b * x**c - sd

    bounds = ([0.0, 0.0, EXPONENTS[0]], [np.inf, np.inf, EXPONENTS[1]])
    starts = [(sd.min() / 2, np.ptp(sd) + 1e-3, c) for c in STARTS]
    fits = [least_squares(residual, start, bounds=bounds, xtol=1e-12, ftol=1e-12) for start in starts]
    a, b, c = min(fits, key=lambda fit: fit.cost).x
    return float(a), float(b / longest**c), float(c)


def fit_power_law_to_each(t_s: NDArray[np.int64], sds: NDArray[np.float64], step: float = 0.005) -> NDArray[np.float64]:
    """The same fit for every row of `sds` [N, I] at once -> (a, b, c) [N, 3], c to the nearest `step`.

    Given c the curve is a straight line in t_s^c, whose non-negative least squares has a closed form; so the
    best c is found by looking at all of them.
    """
    longest = float(t_s.max())
    exponents = np.arange(EXPONENTS[0], EXPONENTS[1] + step / 2, step)  # [C]
    basis = (t_s / longest) ** exponents[:, None]  # [C, I]
    mean, square = basis.mean(axis=1), np.mean(basis**2, axis=1)  # [C]
    sd_mean, cross = sds.mean(axis=1, keepdims=True), sds @ basis.T / len(t_s)  # [N, 1], [N, C]
    b = (cross - sd_mean * mean) / (square - mean**2)
    a = sd_mean - b * mean
    b = np.where(a < 0, cross / square, b)
    a, b = np.where(b < 0, sd_mean, np.maximum(a, 0.0)), np.maximum(b, 0.0)
    cost = a**2 + 2 * a * b * mean + b**2 * square - 2 * a * sd_mean - 2 * b * cross  # less the mean of sd^2
    best = np.argmin(cost, axis=1)
    rows, c = np.arange(len(sds)), exponents[best]
    return np.stack([a[rows, best], b[rows, best] / longest**c, c], axis=1)
