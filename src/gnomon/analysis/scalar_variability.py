"""Scalar variability: how the spread of productions grows with the interval, sd = a + b t_s^c.

Weber's law is c = 1 with a = 0; the paper finds c = 0.7 for the feedforward agent. The three parameters trade
off, so each comes with a bootstrap interval. a and b are at least 0: a floor plus something that grows.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import least_squares

from gnomon.analysis.bootstrap import (
    N_BOOTSTRAP,
    Array,
    Estimate,
    Interval,
    interval_over_lanes,
    intervals_over_lanes,
    lane_moments,
    rank_correlation,
)
from gnomon.analysis.performance import per_interval, productions

MIN_INTERVALS = 4  # three parameters and one degree of freedom
MIN_PRODUCTIONS = 5  # per sample interval, below which its s.d. says nothing
EXPONENTS = (0.05, 4.0)  # bounds on c; at 0 the curve is flat and a, b are the same thing
STARTS = (0.3, 0.7, 1.0, 1.5, 2.5)  # exponents from which least squares sets out
PROFILE_STEP = 0.05  # of c
IDENTIFIED = 0.5  # c counts as known if its interval is narrower: then 0.5 (random counts) and 1 (Weber) are told apart
LEFT_OUT = (0, 1, 2)  # how many of the longest sample intervals the other fits do without

Constraint = Literal["free", "a >= 0", "a = 0"]


@dataclass(frozen=True, eq=False)
class PowerLaw:
    """One of the fits of a + b t_s^c, which show how much c depends on how it is fitted."""

    constraint: Constraint  # "free": a and b of any sign; otherwise b is at least 0
    left_out: int  # how many of the longest sample intervals were left out
    a: float  # frames
    b: float  # frames^(1 - c)
    c: float  # to the nearest 0.005
    c_interval: Interval  # 95 % over lanes
    r_squared: float
    identified: bool  # the interval is narrower than 0.5 and reaches neither bound of c


@dataclass(frozen=True, eq=False)
class StraightLine:
    """The fit of a + b t_s."""

    a: float  # frames
    b: float
    r_squared: float
    aic: float


@dataclass(frozen=True, eq=False)
class ScalarVariability:
    """The fit and the points it went through; arrays run over the I fitted sample intervals."""

    task: str
    sample_interval: NDArray[np.int64]  # [I] frames
    n_productions: NDArray[np.int64]  # [I]
    mean: Array  # [I] frames
    sd: Array  # [I] frames
    sd_interval: Array  # [I, 2] 95 % over lanes
    weber_fraction: Array  # [I] sd / mean
    left_out: tuple[int, ...]  # sample intervals with fewer than 5 productions
    a: float  # frames, at least 0
    b: float  # frames^(1 - c), at least 0
    c: float
    a_interval: Interval  # 95 % over lanes
    b_interval: Interval
    c_interval: Interval
    curve_interval: Array  # [I, 2] 95 % over lanes, of a + b t_s^c
    residual: Array  # [I] frames; sd less the curve
    r_squared: float  # share of the variance of sd over sample intervals that the curve explains
    aic: float  # of the curve, corrected for few points
    linear: StraightLine
    fits: tuple[PowerLaw, ...]  # every constraint, with all sample intervals and without the longest one or two
    identified: bool  # c of the fit above, by the same rule, and the c of all other fits lie within 0.5 of each other
    profile_c: Array  # [C]
    profile_r_squared: Array  # [C] of the best a, b >= 0 for each c: flat where c makes no difference
    order: Estimate  # rank correlation of sd with the sample interval: 1 if it always grows
    widest: int  # frames; the sample interval with the largest sd
    drop: Estimate  # frames; sd at the longest sample interval less the largest sd, 0 if the longest is the widest


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
    t_s, sd = fitted["sample_interval"].to_numpy(), fitted["sd"].to_numpy()
    if not sd.any():
        raise ValueError("every sd of the production interval is 0: there is no variability to fit")
    moments = lane_moments(productions(trials).filter(pl.col("sample_interval").is_in(t_s.tolist())))
    _, resampled = moments.resampled(n_bootstrap, seed)  # [n_bootstrap, I]
    whole = resampled[np.isfinite(resampled).all(axis=1)]  # a resample may lack a sample interval
    lanes = int(moments.lanes.min())
    a, b, c = fit_power_law(t_s, sd)
    draws = fit_power_law_to_each(t_s, whole)
    c_interval = interval_over_lanes(draws[:, 2], lanes)
    curves = draws[:, :1] + draws[:, 1:2] * t_s ** draws[:, 2:]  # [n_bootstrap, I]
    profile_c = np.arange(EXPONENTS[0], EXPONENTS[1] + PROFILE_STEP / 2, PROFILE_STEP)
    widest = int(np.argmax(sd))
    fits = tuple(
        power_law(t_s, sd, whole, lanes, constraint, left_out)
        for constraint in get_args(Constraint)
        for left_out in LEFT_OUT
        if len(t_s) - left_out >= MIN_INTERVALS
    )
    return ScalarVariability(
        task=trials["task"][0],
        sample_interval=t_s,
        n_productions=fitted["n_productions"].to_numpy(),
        mean=fitted["mean"].to_numpy(),
        sd=sd,
        sd_interval=intervals_over_lanes(resampled, moments.lanes),
        weber_fraction=sd / fitted["mean"].to_numpy(),
        left_out=tuple(table.filter(~enough)["sample_interval"]),
        a=a,
        b=b,
        c=c,
        a_interval=interval_over_lanes(draws[:, 0], lanes),
        b_interval=interval_over_lanes(draws[:, 1], lanes),
        c_interval=c_interval,
        curve_interval=intervals_over_lanes(curves, np.full(len(t_s), lanes)),
        residual=sd - a - b * t_s**c,
        r_squared=explained(sd, a + b * t_s**c),
        aic=corrected_aic(sd - a - b * t_s**c, 3),
        linear=straight_line(t_s, sd),
        fits=fits,
        identified=is_identified(c_interval) and float(np.ptp([each.c for each in fits])) < IDENTIFIED,
        profile_c=profile_c,
        profile_r_squared=1 - costs(t_s, sd[None], profile_c, "a >= 0")[2][0] / max(float(np.var(sd)), 1e-300),
        order=Estimate(
            float(rank_correlation(t_s, sd[None])[0]), interval_over_lanes(rank_correlation(t_s, whole), lanes)
        ),
        widest=int(t_s[widest]),
        drop=Estimate(float(sd[-1] - sd[widest]), interval_over_lanes(whole[:, -1] - whole[:, widest], lanes)),
    )


def power_law(
    t_s: NDArray[np.int64], sd: Array, resampled: Array, lanes: int, constraint: Constraint, left_out: int
) -> PowerLaw:
    """One fit to sd [I] and to its resamples [N, I], without some of the longest sample intervals."""
    kept = slice(0, len(t_s) - left_out)
    a, b, c = fit_power_law_to_each(t_s[kept], sd[None, kept], constraint)[0]
    draws = fit_power_law_to_each(t_s[kept], resampled[:, kept], constraint)
    c_interval = interval_over_lanes(draws[:, 2], lanes)
    r_squared = explained(sd[kept], a + b * t_s[kept] ** c)
    return PowerLaw(
        constraint, left_out, float(a), float(b), float(c), c_interval, r_squared, is_identified(c_interval)
    )


def is_identified(c_interval: Interval) -> bool:
    """Whether c is known: a narrow interval that reaches neither bound."""
    low, high = c_interval
    return EXPONENTS[0] < low and high < EXPONENTS[1] and high - low < IDENTIFIED  # false if nan


def straight_line(t_s: NDArray[np.int64], sd: Array) -> StraightLine:
    """Least squares of a + b t_s."""
    b, a = np.polyfit(t_s, sd, 1)
    return StraightLine(float(a), float(b), explained(sd, a + b * t_s), corrected_aic(sd - a - b * t_s, 2))


def explained(sd: Array, curve: Array) -> float:
    """Share of the variance of sd that the curve explains; nan if sd does not vary."""
    total = np.sum((sd - sd.mean()) ** 2)
    return float(1 - np.sum((sd - curve) ** 2) / total) if total > 0 else float("nan")


def corrected_aic(residual: Array, parameters: int) -> float:
    """AIC of least squares with the correction for few points (AICc); nan with too few for it."""
    n, k = len(residual), parameters + 1  # and the variance
    if n - k - 1 <= 0:
        return float("nan")
    return float(n * np.log(max(np.mean(residual**2), 1e-12)) + 2 * k + 2 * k * (k + 1) / (n - k - 1))


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


def fit_power_law_to_each(
    t_s: NDArray[np.int64], sds: Array, constraint: Constraint = "a >= 0", step: float = 0.005
) -> Array:
    """The same fit for every row of `sds` [N, I] at once -> (a, b, c) [N, 3], c to the nearest `step`."""
    exponents = np.arange(EXPONENTS[0], EXPONENTS[1] + step / 2, step)  # [C]
    a, b, cost = costs(t_s, sds, exponents, constraint)
    best = np.argmin(cost, axis=1)
    rows, c = np.arange(len(sds)), exponents[best]
    return np.stack([a[rows, best], b[rows, best] / float(t_s.max()) ** c, c], axis=1)


def costs(t_s: NDArray[np.int64], sds: Array, exponents: Array, constraint: Constraint) -> tuple[Array, Array, Array]:
    """The best a and b for each row of sds [N, I] and exponent [C], and the mean squared residual; all [N, C].

    Given c the curve is a straight line in (t_s / longest)^c, whose least squares has a closed form, also with a and b
    at least 0; so the best c is found by looking at all of them. b is in units of that line.
    """
    basis = (t_s / float(t_s.max())) ** exponents[:, None]  # [C, I]
    mean, square = basis.mean(axis=1), np.mean(basis**2, axis=1)  # [C]
    sd_mean, cross = sds.mean(axis=1, keepdims=True), sds @ basis.T / len(t_s)  # [N, 1], [N, C]
    through_zero = cross / square
    if constraint == "a = 0":
        a, b = np.zeros_like(through_zero), through_zero
    else:
        b = (cross - sd_mean * mean) / (square - mean**2)
        a = sd_mean - b * mean
        if constraint == "a >= 0":
            b = np.where(a < 0, through_zero, b)
            a, b = np.where(b < 0, sd_mean, np.maximum(a, 0.0)), np.maximum(b, 0.0)
    cost = a**2 + 2 * a * b * mean + b**2 * square - 2 * a * sd_mean - 2 * b * cross
    return a, b, cost + np.mean(sds**2, axis=1, keepdims=True)
