"""Does the Bayesian observer explain the productions, or only better than its relatives? Rivals, and a test of fit.

    clock with an end   t_m = N(t_s, (w_m t_s)^2), t_e = min(t_m, ceiling), t_p = N(t_e, (w_p t_e)^2), and lapses: a
                        noisy clock without any prior, which runs out before the longest intervals
    normals             a normal of its own for each sample interval, and lapses: what a model with one hump could reach

A model may be the best of those compared and still be wrong. So each is judged by itself as well: by chi-square of its
binned productions, by the share of productions that it puts into the wrong bin, and by what is left of bias and s.d.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit, logit, ndtr
from scipy.stats import chi2

from gnomon.analysis.bootstrap import N_BOOTSTRAP, Array, intervals_over_lanes, lane_moments
from gnomon.analysis.observer import Observer
from gnomon.analysis.observer_fit import LAPSE_BOUNDS, W_BOUNDS, Comparison, ObserverFit, fit
from gnomon.analysis.performance import productions

Family = Literal["bayesian", "no_prior", "clock", "normals"]

CLOCK = "clock with an end"
NORMALS = "a normal for each interval"
BEYOND = 2.0  # times the longest interval or production: where the frames that are looked at end
MIN_EXPECTED = 5.0  # productions expected in a bin
MOST_BINS = 12  # of one sample interval
NARROWEST = 0.1  # frames; the least s.d. of a normal
EM_STEPS = 100
START_NOISE = ((0.1, 0.05), (0.05, 0.1))  # w_m, w_p from which the clock's fit sets out
REJECTED = 0.01  # p below which a model does not fit


@dataclass(frozen=True, eq=False)
class ModelFit:
    """One model beside the productions; arrays run over the I sample intervals."""

    name: str
    family: Family
    parameters: tuple[tuple[str, float], ...]
    n_parameters: int
    converged: bool  # the fit ended, and within its bounds
    log_likelihood: float  # natural log
    aic: float
    bic: float
    predicted_mean: Array  # [I] frames, lapses included
    predicted_sd: Array  # [I] frames
    residual: Array  # [I] frames; observed mean less predicted: the bias that the model leaves unexplained
    sd_residual: Array  # [I] frames
    misplaced: Array  # [I] share of the productions that would have to change bins to agree with the model
    chi_square: Array  # [I]
    degrees: NDArray[np.int64]  # [I] bins - 1
    p_value: float  # of all intervals together; trials count as independent, so clustered errors make it too small
    rejected: bool  # p below 0.01
    r2_mean: float  # predicted against observed means: 1 - squared residuals / variance
    r2_bias: float  # of the bias; below 0 if the model is worse than one bias for all
    r2_sd: float  # of the s.d.


@dataclass(frozen=True, eq=False)
class Rivals:
    """All models of the same productions, best AIC first."""

    sample_interval: Array  # [I] frames
    n_productions: NDArray[np.int64]  # [I]
    mean: Array  # [I] frames
    sd: Array  # [I] frames
    bias: Array  # [I] frames
    bias_interval: Array  # [I, 2] 95 % over lanes
    models: tuple[ModelFit, ...]

    def best(self, family: Family | None = None) -> ModelFit:
        """The best model by AIC, of all or of one family."""
        return next(each for each in self.models if family in (None, each.family))

    def behind(self, family: Family, *against: Family) -> float:
        """AIC of the best of a family above the best of others (by default all): negative if the family wins."""
        other = min(
            each.aic for each in self.models if each.family != family and (not against or each.family in against)
        )
        return self.best(family).aic - other


@dataclass(frozen=True)
class CeilingClock:
    """A fitted clock with an end."""

    w_m: float
    w_p: float
    ceiling: float  # frames
    lapse: float
    lapse_span: float  # frames; lapses are uniform from 0 to here
    log_likelihood: float
    converged: bool  # and away from every bound


def rivals(
    trials: pl.DataFrame,
    comparison: Comparison,
    intervals: Sequence[float] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Rivals:
    """The compared observers, the BLS observer with lapses, the clock with an end, and normals, each with its test.

    `trials` are those to which `comparison` was fitted, `intervals` those of the prior.
    """
    produced = productions(trials)
    t_s, t_p = (produced[name].cast(pl.Float64).to_numpy() for name in ("sample_interval", "production_interval"))
    data = _Counts(t_s, t_p)
    moments = lane_moments(produced)
    (mean,), (sd,) = moments.moments()
    resampled, _ = moments.resampled(n_bootstrap, seed)
    lapsing = fit(trials, "bls", "discrete", lapse=True, intervals=intervals)
    observers = [_of_observer(data, each) for each in (*comparison.fits, lapsing)]
    models = (*observers, _of_clock(data, fit_clock((t_s, t_p))), _of_normals(data))
    return Rivals(
        sample_interval=data.sample_interval,
        n_productions=data.n.astype(np.int64),
        mean=mean,
        sd=sd,
        bias=mean - data.sample_interval,
        bias_interval=intervals_over_lanes(resampled - moments.sample_interval, moments.lanes),
        models=tuple(sorted(models, key=lambda each: each.aic)),
    )


def fit_clock(pairs: tuple[ArrayLike, ArrayLike]) -> CeilingClock:
    """Maximum likelihood of the clock with an end, from arrays (t_s, t_p) in frames."""
    t_s, t_p = (np.asarray(each, dtype=np.float64) for each in pairs)
    distinct, count = np.unique(np.stack([t_s, t_p]), axis=1, return_counts=True)
    support, span = tuple(np.unique(t_s).tolist()), float(t_p.max())
    if len(support) < 2:
        raise ValueError(f"the productions are of {len(support)} sample interval; a clock's end shows from two on")
    bounds = np.array([np.log(W_BOUNDS), np.log(W_BOUNDS), np.log([support[0], 2 * support[-1]]), logit(LAPSE_BOUNDS)])

    def unpack(theta: Array) -> tuple[float, float, float, float]:
        w_m, w_p, ceiling = np.exp(theta[:3])
        return float(w_m), float(w_p), float(ceiling), float(expit(theta[3]))

    def loss(theta: Array) -> float:
        w_m, w_p, ceiling, lapse = unpack(theta)
        produced = Observer("identity", "none", support, ceiling).probability(distinct[0], distinct[1], w_m, w_p)
        return -float(count @ np.log(np.maximum((1 - lapse) * produced + lapse / (span + 1), 1e-300)))

    at_the_longest = np.clip(np.median(t_p[t_s == support[-1]]), support[0] * 1.01, support[-1] * 1.9)
    starts = [[np.log(w_m), np.log(w_p), np.log(at_the_longest), logit(0.02)] for w_m, w_p in START_NOISE]
    scouts = [_climb(loss, np.array(start), bounds, 0.3, 0.05, 2.0) for start in starts]
    found = _climb(loss, min(scouts, key=lambda each: each.fun).x, bounds, 0.05, 1e-3, 1e-2)
    inside = (found.x > bounds[:, 0] + 1e-3) & (found.x < bounds[:, 1] - 1e-3)
    inside[3] = found.x[3] < bounds[3, 1] - 1e-3  # that there are no lapses is a finding
    return CeilingClock(*unpack(found.x), span, -float(found.fun), bool(found.success and inside.all()))


def _climb(
    loss: Callable[[Array], float], start: Array, bounds: Array, step: float, end: float, gain: float
) -> OptimizeResult:
    inwards = np.where(start + step < bounds[:, 1], step, -step)
    simplex = np.vstack([start, start + np.diag(inwards)])
    options = {"initial_simplex": simplex, "xatol": end, "fatol": gain}
    return minimize(loss, start, method="Nelder-Mead", bounds=bounds, options=options)


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often each frame was produced, per sample interval."""

    t_s: Array
    t_p: Array

    @property
    def sample_interval(self) -> Array:
        return np.unique(self.t_s)

    @property
    def frames(self) -> Array:
        """[K] the frames that are looked at, from 0 on."""
        return np.arange(BEYOND * max(self.t_p.max(), self.t_s.max()) + 1)

    @property
    def table(self) -> Array:
        """[I, K]"""
        size = len(self.frames)
        return np.stack(
            [np.bincount(self.t_p[self.t_s == each].astype(int), minlength=size) for each in self.sample_interval]
        ).astype(np.float64)

    @property
    def n(self) -> Array:
        return np.array([np.sum(self.t_s == each) for each in self.sample_interval], dtype=np.float64)


def _of_observer(data: _Counts, fitted: ObserverFit) -> ModelFit:
    model = Observer(fitted.observer, fitted.prior, fitted.intervals)
    rows = [model.probability(each, data.frames, fitted.w_m, fitted.w_p) for each in data.sample_interval]
    prior = "" if fitted.prior == "none" else f", {fitted.prior} prior"
    kind = fitted.observer if fitted.observer == "identity" else fitted.observer.upper()
    name = f"{kind}{prior}{' and lapses' if fitted.lapse_fitted else ''}"
    family: Family = "no_prior" if fitted.prior == "none" else "bayesian"
    parameters = [("w_m", fitted.w_m), ("w_p", fitted.w_p)] + [("lapse", fitted.lapse)] * fitted.lapse_fitted
    masses = _lapsing(data, np.array(rows), fitted.lapse, fitted.lapse_span)
    return _judged(data, name, family, parameters, masses, fitted.log_likelihood, fitted.converged)


def _of_clock(data: _Counts, clock: CeilingClock) -> ModelFit:
    model = Observer("identity", "none", tuple(data.sample_interval.tolist()), clock.ceiling)
    rows = [model.probability(each, data.frames, clock.w_m, clock.w_p) for each in data.sample_interval]
    parameters = [(name, getattr(clock, name)) for name in ("w_m", "w_p", "ceiling", "lapse")]
    masses = _lapsing(data, np.array(rows), clock.lapse, clock.lapse_span)
    return _judged(data, CLOCK, "clock", parameters, masses, clock.log_likelihood, clock.converged)


def _of_normals(data: _Counts) -> ModelFit:
    """Means, s.d.s and one lapse rate by expectation maximisation."""
    table, frames, span = data.table, data.frames, float(data.t_p.max())
    edges = np.append(frames - 0.5, np.inf)
    edges[0] = -np.inf
    weight, lapse = table, 0.02
    mean, spread, masses = np.empty(len(table)), np.empty(len(table)), table
    for _ in range(EM_STEPS):
        n = np.maximum(weight.sum(axis=1), 1e-9)
        mean = weight @ frames / n
        variance = np.maximum(weight @ frames**2 / n - mean**2 - 1 / 12, NARROWEST**2)  # rounding adds 1/12 (Sheppard)
        spread = np.sqrt(variance)
        normal = np.diff(ndtr((edges - mean[:, None]) / spread[:, None]), axis=1)
        masses = _lapsing(data, normal, lapse, span)
        weight = table * (1 - lapse) * normal / np.maximum(masses, 1e-300)
        lapse = float(np.clip(1 - weight.sum() / table.sum(), *LAPSE_BOUNDS))
    parameters = [(f"mean at {t_s:g}", float(m)) for t_s, m in zip(data.sample_interval, mean, strict=True)]
    parameters += [(f"s.d. at {t_s:g}", float(s)) for t_s, s in zip(data.sample_interval, spread, strict=True)]
    log_likelihood = float(np.sum(table * np.log(np.maximum(masses, 1e-300))))
    return _judged(data, NORMALS, "normals", [*parameters, ("lapse", lapse)], masses, log_likelihood, True)


def _lapsing(data: _Counts, masses: Array, lapse: float, span: float) -> Array:
    return (1 - lapse) * masses + lapse * (data.frames <= span) / (span + 1)


def _judged(
    data: _Counts,
    name: str,
    family: Family,
    parameters: Sequence[tuple[str, float]],
    masses: Array,  # [I, K] the model's probability of each frame
    log_likelihood: float,
    converged: bool,
) -> ModelFit:
    share = masses / masses.sum(axis=1, keepdims=True)
    mean = share @ data.frames
    sd = np.sqrt(np.maximum(share @ data.frames**2 - mean**2, 0.0))
    table, n = data.table, data.n
    observed = table @ data.frames / n
    observed_sd = np.sqrt(np.maximum(table @ data.frames**2 / n - observed**2, 0.0) * n / np.maximum(n - 1, 1))
    tests = [_chi_square(counts, expected) for counts, expected in zip(table, share * n[:, None], strict=True)]
    chi_square, bins, misplaced = (np.array(each) for each in zip(*tests, strict=True))
    degrees = int(bins.sum()) - len(tests) - len(parameters)
    p_value = float(chi2.sf(chi_square.sum(), degrees)) if degrees > 0 else float("nan")
    k = len(parameters)
    return ModelFit(
        name=name,
        family=family,
        parameters=tuple(parameters),
        n_parameters=k,
        converged=converged,
        log_likelihood=log_likelihood,
        aic=2 * k - 2 * log_likelihood,
        bic=float(k * np.log(n.sum()) - 2 * log_likelihood),
        predicted_mean=mean,
        predicted_sd=sd,
        residual=observed - mean,
        sd_residual=observed_sd - sd,
        misplaced=misplaced,
        chi_square=chi_square,
        degrees=bins.astype(np.int64) - 1,
        p_value=p_value,
        rejected=p_value < REJECTED,
        r2_mean=_explained(observed, mean),
        r2_bias=_explained(observed - data.sample_interval, mean - data.sample_interval),
        r2_sd=_explained(observed_sd, sd),
    )


def _chi_square(counts: Array, expected: Array) -> tuple[float, int, float]:
    """Of one sample interval: chi-square over bins of consecutive frames, the bins, and the share misplaced.

    A bin closes as soon as it is expected to hold its share of the productions, 5 at least; the last takes the rest.
    """
    wanted = max(MIN_EXPECTED, expected.sum() / MOST_BINS)
    bin_of, held = np.zeros(len(expected), dtype=int), 0.0
    for frame, mass in enumerate(expected[:-1]):
        held += mass
        closes = held >= wanted and expected[frame + 1 :].sum() >= MIN_EXPECTED
        bin_of[frame + 1] = bin_of[frame] + closes
        held = 0.0 if closes else held
    found, predicted = np.bincount(bin_of, counts), np.bincount(bin_of, expected)
    gap = found - predicted
    return float(np.sum(gap**2 / predicted)), len(predicted), float(np.abs(gap).sum() / 2 / counts.sum())


def _explained(observed: Array, predicted: Array) -> float:
    total = np.sum((observed - observed.mean()) ** 2)
    return float(1 - np.sum((observed - predicted) ** 2) / total) if total > 0 else float("nan")
