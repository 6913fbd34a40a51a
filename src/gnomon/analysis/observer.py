"""The Bayesian observer of Jazayeri & Shadlen (2010): from a sample interval to a production interval.

    measurement   p(t_m | t_s) = N(t_s, (w_m t_s)^2)
    estimate      t_e = f(t_m): posterior mean (bls), posterior mode (map), maximum likelihood (mle) or t_m (identity)
    production    p(t_p | t_e) = N(t_e, (w_p t_e)^2), observed as a whole number of frames

The prior is either discrete (the sample intervals, equally likely) or uniform over their range. P(t_p | t_s)
integrates over t_m. Time is seen through frames, so a production has a probability, not a density: that of all the
moments which are rounded to its frame.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, softmax

Array = NDArray[np.float64]
Kind = Literal["bls", "map", "mle", "identity"]
Prior = Literal["discrete", "uniform", "none"]
WITHOUT_PRIOR = ("mle", "identity")  # observers whose prior is "none"

REACH = 8.0  # measurement s.d.s on either side that the integral over t_m covers: all but 1e-15
PANEL = 3.0  # length of a quadrature panel, in units of the quickest thing that happens there
NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)  # on each panel
PRIOR_NODES, PRIOR_WEIGHTS = np.polynomial.legendre.leggauss(64)  # for the uniform prior
SHORTEST_ESTIMATE = 1e-3  # frames; what an observer without a prior makes of a measurement below zero


@dataclass(frozen=True)
class Observer:
    """What the subject computes, apart from its noise: an estimator and the prior it holds."""

    kind: Kind
    prior: Prior
    intervals: tuple[float, ...]  # frames, ascending; the discrete prior's support, the uniform prior's range
    ceiling: float = np.inf  # frames; where the clock of the "identity" observer ends

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"unknown observer {self.kind!r}; choose bls, map, mle or identity")
        if self.prior not in get_args(Prior) or (self.prior == "none" and self.kind not in WITHOUT_PRIOR):
            raise ValueError(f"unknown prior {self.prior!r} for {self.kind!r}; choose discrete or uniform")
        ascending = list(self.intervals) == sorted(set(self.intervals))
        if len(self.intervals) < 2 or min(self.intervals) <= 0 or not ascending:
            raise ValueError(f"intervals {self.intervals} must be two or more, positive, distinct, ascending")

    def estimate(self, t_m: ArrayLike, w_m: float) -> Array:
        """t_e (frames) for each measurement t_m (frames), in the shape of t_m."""
        t_m, support = np.asarray(t_m, dtype=np.float64), np.array(self.intervals)
        if self.kind == "identity":
            return np.clip(t_m, SHORTEST_ESTIMATE, self.ceiling)
        if self.kind == "mle":
            return np.maximum(t_m / _mode_of_measurement(w_m), SHORTEST_ESTIMATE)
        if self.prior == "uniform" and self.kind == "map":
            return np.clip(t_m / _mode_of_measurement(w_m), support[0], support[-1])
        if self.prior == "uniform":
            return _posterior_mean_uniform(t_m, w_m, support[0], support[-1])
        log_posterior = _log_likelihood(t_m[..., None], support, w_m)  # [..., I]
        if self.kind == "map":
            return support[np.argmax(log_posterior, axis=-1)]
        return softmax(log_posterior, axis=-1) @ support

    def probability(self, t_s: ArrayLike, t_p: ArrayLike, w_m: float, w_p: float, frame: float = 1.0) -> Array:
        """P(t_p | t_s) of each pair of t_s and t_p (frames; 1-D arrays or numbers).

        t_p is a multiple of `frame` and stands for everything within half a frame of it; 0 also for all below.
        Correct to 1e-6 of itself down to 1e-9; less likely productions only roughly.
        """
        t_s, t_p = np.broadcast_arrays(np.atleast_1d(t_s).astype(float), np.atleast_1d(t_p).astype(float))
        t_m, weight, t_e = self._measurements(t_s, w_m, w_p)
        probability = np.empty(t_s.shape)
        for sample in np.unique(t_s):
            pairs, near = t_s == sample, np.abs(t_m - sample) <= REACH * w_m * sample
            measured = weight[near] * _normal(t_m[near], sample, w_m * sample)  # [M]
            produced = _frame_masses(t_p[pairs], t_e[near], w_p * t_e[near], frame)  # [pairs, M]
            probability[pairs] = produced @ measured
        return probability

    def moments(self, t_s: ArrayLike, w_m: float, w_p: float) -> tuple[Array, Array]:
        """Mean and s.d. of t_p (frames) for each t_s of a 1-D array, before t_p is rounded to frames."""
        t_s = np.asarray(t_s, dtype=np.float64)
        t_m, weight, t_e = self._measurements(t_s, w_m, w_p)
        measured = weight * _normal(t_m, t_s[:, None], w_m * t_s[:, None])  # [len(t_s), M]
        mean, square = measured @ t_e, measured @ t_e**2
        return mean, np.sqrt(square - mean**2 + w_p**2 * square)

    def _measurements(self, t_s: Array, w_m: float, w_p: float) -> tuple[Array, Array, Array]:
        """Quadrature over t_m: nodes, weights and estimates, all [M].

        Panels are short where something happens quickly: the narrowest measurement density, the production
        noise as t_e moves, and the near-steps of t_e under a discrete prior, which sharpen as w_m shrinks.
        """
        shortest, longest = t_s.min(), t_s.max()
        low = min(shortest * (1 - REACH * w_m), longest * (1 - REACH * w_m))
        high = longest * (1 + REACH * w_m)
        switches, widths = self._switches(w_m)
        inside = (switches > low) & (switches < high)
        switches, widths = switches[inside], widths[inside]
        stretched = np.sinh(np.linspace(-12, 12, 49))
        around = (switches[:, None] + widths[:, None] * stretched).ravel()
        grid = np.unique(np.clip(np.concatenate([np.linspace(low, high, 600), switches, around]), low, high))
        # length in units of the narrowest measurement density that reaches t_m
        narrow = w_m * np.maximum(shortest, grid / (1 + REACH * w_m))
        length = np.concatenate([[0.0], np.cumsum(np.diff(grid) * 0.5 * (1 / narrow[1:] + 1 / narrow[:-1]))])
        if not (self.kind == "map" and self.prior == "discrete"):  # constant between switches
            log_estimate = np.log(np.maximum(self.estimate(grid, w_m), 0.1))
            length[1:] += np.cumsum(np.abs(np.diff(log_estimate))) / w_p
        if self.kind == "bls":
            length += np.arcsinh((grid[:, None] - switches) / widths).sum(axis=1)
            length -= length[0]
        panels = int(np.ceil(length[-1] / PANEL))
        edges = np.union1d(switches, np.interp(np.linspace(0, length[-1], panels + 1), length, grid))
        centre, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        t_m = (centre[:, None] + half[:, None] * NODES).ravel()
        return t_m, (half[:, None] * WEIGHTS).ravel(), self.estimate(t_m, w_m)

    def _switches(self, w_m: float) -> tuple[Array, Array]:
        """Measurements at which t_e jumps, bends or nearly jumps, and over how many frames: both [K]."""
        support = np.array(self.intervals)
        if self.kind in WITHOUT_PRIOR:
            bends = np.array([0.0, self.ceiling] if np.isfinite(self.ceiling) else [0.0])
            return bends, np.ones(len(bends))
        if self.prior == "uniform":
            ends = support[[0, -1]] * _mode_of_measurement(w_m)
            return (ends, np.ones(2)) if self.kind == "map" else (np.empty(0), np.empty(0))
        # where two neighbours are equally likely and nobody else is likelier: two roots for each pair
        first, second = (1 / support[index] for index in np.triu_indices(len(support), k=1))
        total = first + second
        root = np.sqrt(1 + 2 * w_m**2 * total * np.log(first / second) / (first - second))
        t_m = np.concatenate([(1 + root) / total, (1 - root) / total])
        pair = np.tile(1 / np.stack([first, second]), 2)  # [2, K]
        likelihood = _log_likelihood(t_m, pair[0], w_m)
        leader = _log_likelihood(t_m[:, None], support, w_m).max(axis=1)
        leading = leader <= likelihood + 1e-6 * (1 + np.abs(likelihood))
        slope = np.abs(np.diff((t_m - pair) / pair**2, axis=0)[0]) / w_m**2  # of the log odds of the pair
        return t_m[leading], np.pi / slope[leading]  # a logistic function's nearest pole is pi away


def _normal(x: Array, mean: Array | float, sd: Array | float) -> Array:
    return np.exp(-0.5 * ((x - mean) / sd) ** 2) / (np.sqrt(2 * np.pi) * sd)


def _frame_masses(t_p: Array, mean: Array, sd: Array, frame: float) -> Array:
    """What N(mean, sd^2) [M] holds within half a frame of t_p [P], or below it for a t_p of 0: [P, M].

    Neighbouring frames share an edge. At each, the tail away from the mean is taken, which keeps its digits; it is
    negative above the mean, so that the mass between two edges is a difference, and 1 more around the mean.
    """
    below, above = np.where(t_p > 0, t_p - frame / 2, -np.inf), t_p + frame / 2
    edges, index = np.unique(np.concatenate([below, above]), return_inverse=True)
    distance = (mean - edges[:, None]) / sd  # [edges, M]
    tail = np.copysign(ndtr(-np.abs(distance)), distance)
    around = (below[:, None] < mean) & (mean <= above[:, None])
    return tail[index[len(t_p) :]] - tail[index[: len(t_p)]] + around


def _log_likelihood(t_m: Array, t_s: Array, w_m: float) -> Array:
    """log p(t_m | t_s) up to a constant; the spread grows with t_s, hence its logarithm."""
    return -np.log(t_s) - 0.5 * ((t_m - t_s) / (w_m * t_s)) ** 2


def _mode_of_measurement(w_m: float) -> float:
    """t_m / t_s at which t_s is the likeliest, 2 w^2 / (sqrt(1 + 4 w^2) - 1), safe for small w."""
    return (1 + np.sqrt(1 + 4 * w_m**2)) / 2


def _posterior_mean_uniform(t_m: Array, w_m: float, shortest: float, longest: float) -> Array:
    """E[t_s | t_m] under a uniform prior: in u = 1 / t_s the likelihood is a Gaussian times a power of u.

    The integral covers only where the Gaussian is above e^-40 of its peak within the range.
    """
    low, high = 1 / longest, 1 / shortest
    peak = np.where(t_m > 0, np.clip(1 / np.maximum(t_m, 1e-9), low, high), low)
    z = np.abs(t_m * peak - 1) / w_m
    width = w_m * 80 / (np.sqrt(z**2 + 80) + z) / np.maximum(np.abs(t_m), 1e-9)
    start, end = np.maximum(low, peak - width), np.minimum(high, peak + width)
    u = ((start + end) / 2)[..., None] + ((end - start) / 2)[..., None] * PRIOR_NODES  # [..., nodes]
    exponent = 0.5 * z[..., None] ** 2 - 0.5 * ((t_m[..., None] * u - 1) / w_m) ** 2
    posterior = PRIOR_WEIGHTS * np.exp(exponent) / u  # (1 / t_s) dt_s = du / u
    return (posterior / u).sum(axis=-1) / posterior.sum(axis=-1)
