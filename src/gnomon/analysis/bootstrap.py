"""Uncertainty: a bootstrap that resamples lanes, since the errors of one lane resemble each other.

A lane is one copy of the laboratory, in which one copy of the subject does its trials. A resample draws as many lanes
as there are, with replacement, and takes all trials of each. Everything is computed from sums over each lane's trials,
so a thousand resamples of 60,000 trials are one matrix product. From fewer than `MIN_LANES` lanes no interval is given
(nan).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import beta, rankdata

Array = NDArray[np.float64]
Interval = tuple[float, float]

MIN_LANES = 8  # fewer say too little about how lanes differ
N_BOOTSTRAP = 1000
CONFIDENCE = (2.5, 97.5)  # percent; every interval is a 95 % percentile interval
FINITE = 0.9  # share of the resamples in which a number must exist
UNKNOWN: Interval = (math.nan, math.nan)


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval, which is nan where the lanes are too few to say."""

    value: float
    interval: Interval

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return all(math.isfinite(end) for end in self.interval)

    def above(self, value: float) -> bool:
        """Whether the whole interval lies above a value; never without an interval."""
        return self.known and self.interval[0] > value

    def below(self, value: float) -> bool:
        """Whether the whole interval lies below a value; never without an interval."""
        return self.known and self.interval[1] < value


@dataclass(frozen=True)
class Share:
    """A share of trials with its 95 % interval."""

    value: float  # nan without trials
    n_trials: int
    interval: Interval


def difference_of(one: Estimate, other: Estimate) -> Estimate:
    """The difference of two independent estimates; its interval joins theirs (the square-and-add method)."""
    value = one.value - other.value
    low = value - math.hypot(one.value - one.interval[0], other.interval[1] - other.value)
    high = value + math.hypot(one.interval[1] - one.value, other.value - other.interval[0])
    return Estimate(value, (low, high))


def lane_weights(lanes: int, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> Array:
    """How often each resample draws each lane: [n_bootstrap, lanes]."""
    if not lanes:
        return np.zeros((n_bootstrap, 0))
    return np.random.default_rng(seed).multinomial(lanes, np.full(lanes, 1 / lanes), size=n_bootstrap).astype(float)


def lane_index(lane: pl.Series) -> tuple[NDArray[np.int64], int]:
    """The lanes of trials as 0, 1, ... [trials], and how many there are."""
    distinct, index = np.unique(lane.to_numpy(), return_inverse=True)
    return index.astype(np.int64), len(distinct)


def percentile_interval(draws: Array) -> Interval:
    """The 95 % percentile interval of draws [N]; nan where too many of them are."""
    finite = draws[np.isfinite(draws)]
    if not len(finite) or len(finite) < FINITE * len(draws):
        return UNKNOWN
    low, high = np.percentile(finite, CONFIDENCE)
    return float(low), float(high)


def interval_over_lanes(draws: Array, lanes: int) -> Interval:
    """The interval of draws [N] that come from `lanes` lanes; nan with fewer than `MIN_LANES`."""
    return percentile_interval(draws) if lanes >= MIN_LANES else UNKNOWN


def intervals_over_lanes(draws: Array, lanes: Sequence[int] | NDArray[np.int64]) -> Array:
    """The interval of each column of draws [N, I], of which each comes from its own number of lanes [I]: [I, 2]."""
    pairs = [interval_over_lanes(column, int(count)) for column, count in zip(draws.T, lanes, strict=True)]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def share_over_lanes(hits: Array, trials: Array, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> Share:
    """The share of hits among trials, given both per lane [L].

    Where every lane has the same share the bootstrap knows no spread. Then the interval is that of Clopper and Pearson,
    each lane counting as one observation.
    """
    lanes = int((trials > 0).sum())
    value = float(hits.sum() / trials.sum()) if trials.sum() else math.nan
    if lanes < MIN_LANES:
        return Share(value, int(trials.sum()), UNKNOWN)
    weights = lane_weights(len(trials), n_bootstrap, seed)
    low, high = percentile_interval(ratio(weights @ hits, weights @ trials))
    if low == high:
        k, tail = value * lanes, CONFIDENCE[0] / 100
        low = float(beta.ppf(tail, k, lanes - k + 1)) if value > 0 else 0.0
        high = float(beta.ppf(1 - tail, k + 1, lanes - k)) if value < 1 else 1.0
    return Share(value, int(trials.sum()), (low, high))


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Array:
    """The quotient, nan where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full(np.shape(denominator), np.nan), where=denominator != 0)


def rank_correlation(x: NDArray[Any], rows: Array) -> Array:
    """Spearman's correlation of x [I] with every row [N, I]: [N]; nan where a row has a nan or does not vary."""
    ranks, other = rankdata(rows, axis=1), rankdata(x)
    ranks, other = ranks - ranks.mean(axis=1, keepdims=True), other - other.mean()
    return ratio(ranks @ other, np.sqrt((ranks**2).sum(axis=1) * (other @ other)))


@dataclass(frozen=True, eq=False)
class LaneMoments:
    """Sums over each lane's productions, enough for the mean and the s.d. of every resample."""

    sample_interval: NDArray[np.int64]  # [I] those that were answered, shortest first
    n: Array  # [L, I] productions
    error: Array  # [L, I] frames; sum of t_p - t_s
    square: Array  # [L, I] frames^2; sum of (t_p - t_s)^2

    @property
    def lanes(self) -> NDArray[np.int64]:
        """Lanes that have a production at each sample interval: [I]."""
        return (self.n > 0).sum(axis=0)

    def chosen(self, intervals: NDArray[np.bool_]) -> "LaneMoments":
        """Only some of the sample intervals [I]."""
        of = (each[:, intervals] for each in (self.n, self.error, self.square))
        return LaneMoments(self.sample_interval[intervals], *of)

    def moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        """Mean and s.d. (n - 1) of t_p, both [N, I], for weights [N, L]; by default those of the data, N = 1."""
        weights = np.ones((1, len(self.n))) if weights is None else weights
        n = weights @ self.n
        error = ratio(weights @ self.error, n)
        spread = np.maximum(weights @ self.square - n * error**2, 0.0)
        sd = np.sqrt(ratio(spread, np.where(n > 1, n - 1, 0.0)))
        return self.sample_interval + error, sd

    def resampled(self, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> tuple[Array, Array]:
        """Mean and s.d. of t_p in each resample, both [n_bootstrap, I]."""
        return self.moments(lane_weights(len(self.n), n_bootstrap, seed))


def lane_moments(produced: pl.DataFrame) -> LaneMoments:
    """The sums of a table whose every row has a production interval."""
    lane, lanes = lane_index(produced["lane"])
    t_s, place = np.unique(produced["sample_interval"].to_numpy(), return_inverse=True)
    error = produced["production_interval"].to_numpy().astype(np.float64) - t_s[place]

    def summed(values: Array) -> Array:
        flat = np.bincount(lane * len(t_s) + place, values, lanes * len(t_s)).astype(np.float64)
        return flat.reshape(lanes, len(t_s))

    return LaneMoments(t_s.astype(np.int64), summed(np.ones(len(error))), summed(error), summed(error**2))
