"""Does the Bayesian observer explain the productions, or only better than its relatives? Its rivals.

    clock with an end   t_m = N(t_s, (w_m t_s)^2), t_e = min(t_m, ceiling), t_p = N(t_e, (w_p t_e)^2), and lapses: a
                        noisy clock without any prior, which runs out before the longest intervals
    normals             a normal of its own for each sample interval, and lapses: what a model with one hump could reach

Every model is also tested by itself (`gnomon.analysis.goodness_of_fit`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr

from gnomon.analysis.bootstrap import N_BOOTSTRAP, Array, intervals_over_lanes, lane_moments
from gnomon.analysis.goodness_of_fit import Counts, Family, ModelFit, judged
from gnomon.analysis.observer import Observer
from gnomon.analysis.observer_fit import Comparison, ObserverFit, fit
from gnomon.analysis.observer_likelihood import LAPSE_BOUNDS, W_BOUNDS, climb
from gnomon.analysis.performance import productions

CLOCK = "clock with an end"
NORMALS = "a normal for each interval"
NARROWEST = 0.1  # frames; the least s.d. of a normal
EM_STEPS = 100
START_NOISE = ((0.1, 0.05), (0.05, 0.1))  # w_m, w_p from which the clock's fit sets out
SCOUTING, POLISHING = (0.3, 0.05, 2.0), (0.05, 1e-3, 1e-2)  # see `climb`


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
    data = Counts(t_s, t_p)
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
    scouts = [climb(loss, np.array(start), bounds, SCOUTING) for start in starts]
    found = climb(loss, min(scouts, key=lambda each: each.fun).x, bounds, POLISHING)
    inside = (found.x > bounds[:, 0] + 1e-3) & (found.x < bounds[:, 1] - 1e-3)
    inside[3] = found.x[3] < bounds[3, 1] - 1e-3  # that there are no lapses is a finding
    return CeilingClock(*unpack(found.x), span, -float(found.fun), bool(found.success and inside.all()))


def _of_observer(data: Counts, fitted: ObserverFit) -> ModelFit:
    model = Observer(fitted.observer, fitted.prior, fitted.intervals)
    rows = [model.probability(each, data.frames, fitted.w_m, fitted.w_p) for each in data.sample_interval]
    prior = "" if fitted.prior == "none" else f", {fitted.prior} prior"
    kind = fitted.observer if fitted.observer == "identity" else fitted.observer.upper()
    name = f"{kind}{prior}{' and lapses' if fitted.lapse_fitted else ''}"
    family: Family = "no_prior" if fitted.prior == "none" else "bayesian"
    parameters = [("w_m", fitted.w_m), ("w_p", fitted.w_p)] + [("lapse", fitted.lapse)] * fitted.lapse_fitted
    masses = _lapsing(data, np.array(rows), fitted.lapse, fitted.lapse_span)
    return judged(data, name, family, parameters, masses, fitted.log_likelihood, fitted.converged)


def _of_clock(data: Counts, clock: CeilingClock) -> ModelFit:
    model = Observer("identity", "none", tuple(data.sample_interval.tolist()), clock.ceiling)
    rows = [model.probability(each, data.frames, clock.w_m, clock.w_p) for each in data.sample_interval]
    parameters = [(name, getattr(clock, name)) for name in ("w_m", "w_p", "ceiling", "lapse")]
    masses = _lapsing(data, np.array(rows), clock.lapse, clock.lapse_span)
    return judged(data, CLOCK, "clock", parameters, masses, clock.log_likelihood, clock.converged)


def _of_normals(data: Counts) -> ModelFit:
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
    return judged(data, NORMALS, "normals", [*parameters, ("lapse", lapse)], masses, log_likelihood, True)


def _lapsing(data: Counts, masses: Array, lapse: float, span: float) -> Array:
    return (1 - lapse) * masses + lapse * (data.frames <= span) / (span + 1)
