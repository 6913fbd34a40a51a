"""Fits of the Bayesian observer by maximum likelihood, and comparisons of several observers.

Such models are poorly identified: read `complaint`, and look at `gnomon.analysis.observer_uncertainty`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from gnomon.analysis.observer import WITHOUT_PRIOR, Array, Kind, Observer, Prior
from gnomon.analysis.observer_likelihood import POLISHING, SCOUTING, W_BOUNDS, Productions, read_productions

CANDIDATES: tuple[tuple[Kind, Prior], ...] = (
    ("bls", "discrete"),
    ("bls", "uniform"),
    ("map", "discrete"),
    ("map", "uniform"),
    ("mle", "none"),
    ("identity", "none"),
)

START_LAPSE = 0.02
START_WEBER = (0.04, 0.1, 0.25)  # every pair of these is tried; the best two are climbed from


@dataclass(frozen=True, eq=False)
class ObserverFit:
    """A maximum-likelihood fit, with the data and settings it came from."""

    observer: Kind
    prior: Prior
    intervals: tuple[float, ...]  # frames
    w_m: float
    w_p: float
    w_m_error: float  # standard error as a share of w_m, from the curvature of the likelihood; nan where it is flat
    w_p_error: float
    lapse: float  # share of productions drawn uniformly from the frames 0 to `lapse_span`; 0 unless fitted
    lapse_fitted: bool
    lapse_span: float  # frames; the longest production
    frame: float  # the step in which productions were observed: 1 frame, unless simulated otherwise
    log_likelihood: float  # natural log
    aic: float
    bic: float
    n: int  # productions
    converged: bool  # and away from the bounds on w_m, w_p and lapse
    complaint: str  # why w_m and w_p are not to be trusted, in one line; empty if nothing speaks against them
    sample_interval: Array  # [D] frames; the distinct pairs (t_s, t_p)
    production_interval: Array  # [D] frames
    count: NDArray[np.int64]  # [D] how often each pair occurred


@dataclass(frozen=True, eq=False)
class Comparison:
    """Fits of several observers to the same productions, best AIC first."""

    fits: tuple[ObserverFit, ...]

    def table(self) -> pl.DataFrame:
        """One row per observer; `delta_aic` is the AIC above the best."""
        names = ("observer", "prior", "w_m", "w_p", "lapse", "log_likelihood", "aic", "bic", "converged")
        rows = pl.DataFrame({name: [getattr(fitted, name) for fitted in self.fits] for name in names})
        return rows.with_columns(delta_aic=pl.col("aic") - pl.col("aic").min())


def simulate(
    w_m: float,
    w_p: float,
    sample_intervals: Sequence[float],
    n: int,
    rng: np.random.Generator,
    observer: Kind = "bls",
    prior: Prior = "discrete",
    frame: float = 1.0,
) -> tuple[Array, Array]:
    """n trials (t_s, t_p), both [n] in frames; t_s uniform over `sample_intervals`, t_p to the nearest `frame`."""
    if min(w_m, w_p) <= 0:
        raise ValueError(f"w_m {w_m:g} and w_p {w_p:g} must be positive")
    model = _observer(observer, prior, sample_intervals)
    t_s = rng.choice(np.array(model.intervals), size=n)
    t_e = model.estimate(rng.normal(t_s, w_m * t_s), w_m)
    return t_s, np.maximum(np.rint(rng.normal(t_e, w_p * t_e) / frame), 0) * frame


def fit(
    trials: pl.DataFrame | tuple[ArrayLike, ArrayLike],
    observer: Kind = "bls",
    prior: Prior = "discrete",
    lapse: bool = False,
    intervals: Sequence[float] | None = None,
    frame: float = 1.0,
) -> ObserverFit:
    """Maximum likelihood of w_m, w_p (and the lapse rate) from a trial table, or arrays (t_s, t_p) in frames.

    `intervals` are those of the subject's prior; by default the table's sample intervals, probes apart. Productions
    are multiples of `frame`.
    """
    t_s, t_p, trained = read_productions(trials, frame)
    pairs, count = np.unique(np.stack([t_s, t_p]), axis=1, return_counts=True)
    model = _observer(observer, prior, trained if intervals is None else intervals)
    data = Productions(model, pairs[0], pairs[1], count, float(t_p.max()), lapse, frame)
    starts = list(product(START_WEBER, START_WEBER))
    starts.sort(key=lambda start: -data.log_likelihood(*start, START_LAPSE * lapse))
    climbs = (data.climb(*start, START_LAPSE, SCOUTING) for start in starts[:2])
    w_m, w_p, rate, log_likelihood, converged = data.climb(*max(climbs, key=lambda climb: climb[3])[:3], POLISHING)
    errors = data.standard_errors(w_m, w_p, rate)
    k, n = 2 + lapse, len(t_s)
    return ObserverFit(
        observer=model.kind,
        prior=model.prior,
        intervals=model.intervals,
        w_m=w_m,
        w_p=w_p,
        w_m_error=errors[0],
        w_p_error=errors[1],
        lapse=rate,
        lapse_fitted=lapse,
        lapse_span=data.lapse_span,
        frame=frame,
        log_likelihood=log_likelihood,
        aic=2 * k - 2 * log_likelihood,
        bic=float(k * np.log(n) - 2 * log_likelihood),
        n=n,
        converged=converged,
        complaint=_complaint(w_m, w_p, errors),
        sample_interval=pairs[0],
        production_interval=pairs[1],
        count=count,
    )


def compare(
    trials: pl.DataFrame | tuple[ArrayLike, ArrayLike],
    candidates: Sequence[tuple[Kind, Prior]] = CANDIDATES,
    lapse: bool = False,
    intervals: Sequence[float] | None = None,
) -> Comparison:
    """Fit every (observer, prior) to the same productions."""
    fits = (fit(trials, kind, prior, lapse, intervals) for kind, prior in candidates)
    return Comparison(tuple(sorted(fits, key=lambda fitted: fitted.aic)))


def predict(fitted: ObserverFit, t_s: ArrayLike) -> tuple[Array, Array]:
    """Mean and s.d. of t_p (frames) that the fitted observer produces for each t_s, lapses apart.

    Rounding to frames adds frame^2 / 12 to the variance (Sheppard's correction, good from an s.d. of half a frame on).
    """
    mean, sd = productions_of(fitted).model.moments(t_s, fitted.w_m, fitted.w_p)
    return mean, np.sqrt(sd**2 + fitted.frame**2 / 12)


def productions_of(fitted: ObserverFit) -> Productions:
    """What an observer was fitted to."""
    model = Observer(fitted.observer, fitted.prior, fitted.intervals)
    t_s, t_p = fitted.sample_interval, fitted.production_interval
    return Productions(model, t_s, t_p, fitted.count, fitted.lapse_span, fitted.lapse_fitted, fitted.frame)


def _observer(kind: Kind, prior: Prior, intervals: Sequence[float]) -> Observer:
    support = tuple(sorted({float(interval) for interval in intervals}))
    return Observer(kind, "none" if kind in WITHOUT_PRIOR else prior, support)


def _complaint(w_m: float, w_p: float, errors: tuple[float, float]) -> str:
    """What speaks against an estimate: a bound, or a likelihood that is flat around it."""
    for name, value in (("w_m", w_m), ("w_p", w_p)):
        if value < W_BOUNDS[0] * 1.01:
            return f"{name} is at its bound, {W_BOUNDS[0]:g}: noise too small to be seen in whole frames"
        if value > W_BOUNDS[1] / 1.01:
            return f"{name} is at its bound, {W_BOUNDS[1]:g}: no amount of such noise explains these productions"
    if np.isnan(errors).any():
        return "w_m and w_p cannot be told apart here: the likelihood is flat around them (see the profile)"
    return ""
