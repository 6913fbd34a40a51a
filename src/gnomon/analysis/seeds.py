"""Agents compared over seeds: one value per trained agent, and what the seeds can decide.

A seed is one animal. Trials of one agent say how well that agent is known; only seeds say how agents of a kind differ.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from gnomon.analysis.bootstrap import UNKNOWN, Array, Estimate, Interval
from gnomon.analysis.performance import LearningCurve, Production

LAST = 0.1  # share of a learning curve's end over which its final reward rate is averaged
HALF = 0.5  # of the final reward rate


@dataclass(frozen=True)
class Difference:
    """The mean of one kind of agent less that of another, with a 95 % Welch interval over seeds."""

    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    difference: float
    interval: Interval  # nan with fewer than two seeds of either
    p_value: float  # two-sided; nan likewise

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0: then the sign of the difference is known."""
        return self.interval[0] > 0 or self.interval[1] < 0  # never if nan


@dataclass(frozen=True, eq=False)
class Widths:
    """S.d. of the production interval of two kinds of agent, per sample interval that all have."""

    sample_interval: NDArray[np.int64]  # [I] frames
    differences: tuple[Difference, ...]  # [I] frames
    overall: Difference  # of each seed's mean s.d. over the sample intervals


@dataclass(frozen=True)
class EndBias:
    """Bias at both ends of the sample intervals: mean-directed if above 0 at the short end and below 0 at the long."""

    shortest: Estimate  # frames
    longest: Estimate  # frames

    @property
    def mean_directed(self) -> bool | None:
        """Whether both ends are drawn to the middle; None if an interval contains 0 and neither end speaks against."""
        if self.shortest.above(0) and self.longest.below(0):
            return True
        return False if self.shortest.below(0) or self.longest.above(0) else None


def difference(values_a: Sequence[float], values_b: Sequence[float]) -> Difference:
    """Mean over seeds of a less that of b, by Welch; values that are nan are left out. One seed decides nothing."""
    a, b = (np.array([each for each in values if math.isfinite(each)]) for values in (values_a, values_b))
    mean_a, mean_b = (float(each.mean()) if len(each) else math.nan for each in (a, b))
    found = mean_a - mean_b
    if min(len(a), len(b)) < 2:
        return Difference(len(a), len(b), mean_a, mean_b, found, UNKNOWN, math.nan)
    parts = [float(each.var(ddof=1)) / len(each) for each in (a, b)]
    error = math.sqrt(sum(parts))
    if error == 0:  # seeds that are all the same tell nothing of how seeds differ
        return Difference(len(a), len(b), mean_a, mean_b, found, UNKNOWN, math.nan)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    reach = float(student.ppf(0.975, freedom)) * error
    p_value = float(2 * student.sf(abs(found) / error, freedom))
    return Difference(len(a), len(b), mean_a, mean_b, found, (found - reach, found + reach), p_value)


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over seeds with its 95 % t interval, which one seed does not have."""
    kept = np.array([each for each in values if math.isfinite(each)])
    if len(kept) < 2:
        return Estimate(float(kept.mean()) if len(kept) else math.nan, UNKNOWN)
    reach = float(student.ppf(0.975, len(kept) - 1) * kept.std(ddof=1) / math.sqrt(len(kept)))
    return Estimate(float(kept.mean()), (float(kept.mean()) - reach, float(kept.mean()) + reach))


def widths(of_a: Sequence[Production], of_b: Sequence[Production]) -> Widths:
    """How much wider the distributions of a are than those of b, one `Production` per seed."""
    spreads = [[dict(zip(p.sample_interval.tolist(), p.sd.tolist(), strict=True)) for p in of] for of in (of_a, of_b)]
    shared = sorted(set.intersection(*(set(each) for of in spreads for each in of)))
    if not shared:
        raise ValueError("the agents have no sample interval in common")
    means = [[float(np.nanmean([each[t_s] for t_s in shared])) for each in of] for of in spreads]
    at_each = tuple(difference(*([each[t_s] for each in of] for of in spreads)) for t_s in shared)
    return Widths(np.array(shared, dtype=np.int64), at_each, difference(*means))


def end_bias(production: Production) -> EndBias:
    """The bias of one agent at its shortest and longest sample interval, intervals over lanes."""
    ends = [
        Estimate(float(production.bias[end]), (float(production.bias_interval[end, 0]), float(high)))
        for end, high in ((0, production.bias_interval[0, 1]), (-1, production.bias_interval[-1, 1]))
    ]
    return EndBias(*ends)


def end_bias_over_seeds(productions: Sequence[Production]) -> EndBias:
    """The bias at both ends as a mean over seeds, intervals over seeds."""
    return EndBias(
        over_seeds([float(each.bias[0]) for each in productions]),
        over_seeds([float(each.bias[-1]) for each in productions]),
    )


def time_to_half(curve: LearningCurve) -> Array:
    """When each seed first has half of its final reward rate: [S] in the units of the curve's grid.

    The final rate is the mean over the last tenth of the curve. A seed that never earns anything has nan.
    """
    last = max(1, int(LAST * len(curve.grid)))
    final = curve.reward_rate[:, -last:].mean(axis=1, keepdims=True)  # [S, 1]
    reached = curve.reward_rate >= HALF * final
    first = np.where(reached.any(axis=1), curve.grid[reached.argmax(axis=1)], np.nan)
    return np.where(final[:, 0] > 0, first, np.nan)
