"""Fits of the Bayesian observer by maximum likelihood, and how far to trust them.

Productions are whole frames, and their likelihood is the probability of the frame. (The density at the frame, which is
simpler, overstates w_p by 4 to 7 % at 0.05 and 10 to 100 frames, where the s.d. is below one frame.) Such models are
poorly identified: read `complaint`, look at `profile`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2

from gnomon.analysis.bootstrap import interval_over_lanes, lane_index, lane_weights
from gnomon.analysis.observer import WITHOUT_PRIOR, Array, Kind, Observer, Prior
from gnomon.analysis.performance import judged, productions

CANDIDATES: tuple[tuple[Kind, Prior], ...] = (
    ("bls", "discrete"),
    ("bls", "uniform"),
    ("map", "discrete"),
    ("map", "uniform"),
    ("mle", "none"),
    ("identity", "none"),
)

MIN_PRODUCTIONS = 50
W_BOUNDS = (0.002, 1.5)  # of w_m and w_p in fits; at the lowest, the s.d. at 100 frames is a fifth of a frame
FLAT_ERROR = 0.25  # standard error of log w above which the likelihood counts as flat
LAPSE_BOUNDS = (1e-6, 0.5)
START_LAPSE = 0.02
START_WEBER = (0.04, 0.1, 0.25)  # every pair of these is tried; the best two are climbed from
SCOUTING = (0.3, 0.1, 3.0)  # first step, last step (both of log w) and last gain (of log likelihood) of a climb
POLISHING = (0.03, 3e-4, 1e-3)


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
    t_s, t_p, trained = _productions(trials, frame)
    pairs, count = np.unique(np.stack([t_s, t_p]), axis=1, return_counts=True)
    model = _observer(observer, prior, trained if intervals is None else intervals)
    data = _Data(model, pairs[0], pairs[1], count, float(t_p.max()), lapse, frame)
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
    mean, sd = _data_of(fitted).model.moments(t_s, fitted.w_m, fitted.w_p)
    return mean, np.sqrt(sd**2 + fitted.frame**2 / 12)


def profile(fitted: ObserverFit, w_m: ArrayLike | None = None, w_p: ArrayLike | None = None) -> Profile:
    """Log likelihood on a grid (ascending), by default 4 standard errors around each estimate in 17 steps."""
    data = _data_of(fitted)
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
    data, produced = _data_of(fitted), productions(trials)
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


# Helpers ------------------------------------------------------------------------------------------------


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


def _data_of(fitted: ObserverFit) -> "_Data":
    model = Observer(fitted.observer, fitted.prior, fitted.intervals)
    t_s, t_p = fitted.sample_interval, fitted.production_interval
    return _Data(model, t_s, t_p, fitted.count, fitted.lapse_span, fitted.lapse_fitted, fitted.frame)


def _productions(trials: pl.DataFrame | tuple[ArrayLike, ArrayLike], frame: float) -> tuple[Array, Array, list[float]]:
    """t_s and t_p of every production, and the sample intervals that are not probes."""
    if isinstance(trials, pl.DataFrame):
        produced = judged(trials).drop_nulls("production_interval")
        usual = produced.filter(~pl.col("probe")) if "probe" in produced.columns else produced
        t_s = produced["sample_interval"].cast(pl.Float64).to_numpy()
        t_p = produced["production_interval"].to_numpy()
        trained = usual["sample_interval"].unique().to_list()
    else:
        t_s, t_p = (np.asarray(column, dtype=np.float64) for column in trials)
        if t_s.ndim != 1 or t_s.shape != t_p.shape or not np.isfinite([t_s, t_p]).all():
            raise ValueError(f"t_s {t_s.shape} and t_p {t_p.shape} must be finite arrays of one length")
        if len(t_s) and t_s.min() <= 0:
            raise ValueError(f"the shortest t_s is {t_s.min():g} frames; sample intervals must be positive")
        trained = np.unique(t_s).tolist()
    if len(t_p) < MIN_PRODUCTIONS:
        raise ValueError(f"{len(t_p)} productions are too few; fitting an observer needs {MIN_PRODUCTIONS}")
    off = t_p[(t_p < 0) | (np.abs(t_p / frame - np.rint(t_p / frame)) > 1e-6)]
    if len(off):
        raise ValueError(
            f"{len(off)} productions, such as {off[0]:g}, are no whole multiples of frame {frame:g}, 0 or more"
        )
    return t_s, t_p, trained


@dataclass(frozen=True, eq=False)
class _Data:
    """Productions and the observer that is to explain them."""

    model: Observer
    t_s: Array  # [D] the distinct pairs of sample and production interval
    t_p: Array  # [D]
    count: NDArray[np.int64]  # [D]
    lapse_span: float
    lapse_fitted: bool
    frame: float

    def log_likelihood(self, w_m: float, w_p: float, lapse: float) -> float:
        produced = self.model.probability(self.t_s, self.t_p, w_m, w_p, self.frame)
        lapsed = self.frame / (self.lapse_span + self.frame)  # one of the frames from 0 to the longest production
        return float(self.count @ np.log(np.maximum((1 - lapse) * produced + lapse * lapsed, 1e-300)))

    def climb(
        self, w_m: float, w_p: float, lapse: float, care: tuple[float, float, float]
    ) -> tuple[float, float, float, float, bool]:
        """Maximise from one start -> (w_m, w_p, lapse, log likelihood, converged within the bounds)."""
        size = 2 + self.lapse_fitted
        first_step, last_step, last_gain = care

        def unpack(theta: Array) -> tuple[float, float, float]:
            w_m, w_p = np.exp(theta[:2])
            return float(w_m), float(w_p), float(expit(theta[2])) if self.lapse_fitted else 0.0

        low, high = np.stack([np.log(W_BOUNDS), np.log(W_BOUNDS), logit(LAPSE_BOUNDS)])[:size].T
        within = float(np.clip(lapse, *LAPSE_BOUNDS))
        start = np.clip([np.log(w_m), np.log(w_p), logit(within)][:size], low, high)
        inwards = np.where(start - first_step > low, -first_step, first_step)
        found = minimize(
            lambda theta: -self.log_likelihood(*unpack(theta)),
            start,
            method="Nelder-Mead",
            bounds=list(zip(low, high, strict=True)),
            options={
                "initial_simplex": np.vstack([start, start + np.diag(inwards)]),
                "xatol": last_step,
                "fatol": last_gain,
            },
        )
        inside = bool(np.all((found.x > low + 1e-3) & (found.x < high - 1e-3)))
        return (*unpack(found.x), float(-found.fun), bool(found.success) and inside)

    def standard_errors(self, w_m: float, w_p: float, lapse: float, step: float = 0.03) -> tuple[float, float]:
        """Of log w_m and log w_p, from the curvature at the maximum; nan where that is too flat."""

        def at(i: int, j: int) -> float:
            return self.log_likelihood(w_m * np.exp(i * step), w_p * np.exp(j * step), lapse)

        centre, mixed = 2 * at(0, 0), at(1, 1) + at(-1, -1) - at(1, -1) - at(-1, 1)
        hessian = [[at(1, 0) + at(-1, 0) - centre, mixed / 4], [mixed / 4, at(0, 1) + at(0, -1) - centre]]
        information = -np.array(hessian) / step**2
        if np.linalg.eigvalsh(information).min() <= FLAT_ERROR**-2:
            return np.nan, np.nan
        error_m, error_p = np.sqrt(np.diag(np.linalg.inv(information)))
        return float(error_m), float(error_p)


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
