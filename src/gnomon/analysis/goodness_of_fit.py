"""Whether a model fits productions: chi-square of what it expects in bins of frames, and what it leaves unexplained.

A model may be the best of those compared and still be wrong. So each is judged by itself as well: by chi-square of its
binned productions, by the share of productions that it puts into the wrong bin, and by what is left of bias and s.d.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from gnomon.analysis.bootstrap import Array

Family = Literal["bayesian", "no_prior", "clock", "normals"]

BEYOND = 2.0  # times the longest interval or production: where the frames that are looked at end
MIN_EXPECTED = 5.0  # productions expected in a bin
MOST_BINS = 12  # of one sample interval
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

    @property
    def mean_misplaced(self) -> float:
        """Mean share misplaced, over the intervals with enough productions for two bins; nan if there are none."""
        told = self.misplaced[self.degrees > 0]
        return float(told.mean()) if len(told) else float("nan")


@dataclass(frozen=True, eq=False)
class Counts:
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


def judged(
    data: Counts,
    name: str,
    family: Family,
    parameters: Sequence[tuple[str, float]],
    masses: Array,  # [I, K] the model's probability of each frame
    log_likelihood: float,
    converged: bool,
) -> ModelFit:
    """A fitted model beside the productions, with its tests."""
    share = masses / masses.sum(axis=1, keepdims=True)
    mean = share @ data.frames
    sd = np.sqrt(np.maximum(share @ data.frames**2 - mean**2, 0.0))
    table, n = data.table, data.n
    observed = table @ data.frames / n
    observed_sd = np.sqrt(np.maximum(table @ data.frames**2 / n - observed**2, 0.0) * n / np.maximum(n - 1, 1))
    tests = [chi_square(counts, expected) for counts, expected in zip(table, share * n[:, None], strict=True)]
    square, bins, misplaced = (np.array(each) for each in zip(*tests, strict=True))
    degrees = int(bins.sum()) - len(tests) - len(parameters)
    p_value = float(chi2.sf(square.sum(), degrees)) if degrees > 0 else float("nan")
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
        chi_square=square,
        degrees=bins.astype(np.int64) - 1,
        p_value=p_value,
        rejected=p_value < REJECTED,
        r2_mean=explained(observed, mean),
        r2_bias=explained(observed - data.sample_interval, mean - data.sample_interval),
        r2_sd=explained(observed_sd, sd),
    )


def chi_square(counts: Array, expected: Array) -> tuple[float, int, float]:
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


def explained(observed: Array, predicted: Array) -> float:
    """1 - squared residuals / variance, nan where nothing varies."""
    total = np.sum((observed - observed.mean()) ** 2)
    return float(1 - np.sum((observed - predicted) ** 2) / total) if total > 0 else float("nan")
