"""Numbers over seeds with their uncertainty, and verdicts that follow from it.

An agent is drawn by its seed, so a statement about a kind of agent is judged by the interval over seeds: the mean
± t s / √n, with the 97.5 % quantile of Student's t. One seed has no such interval, and decides nothing.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from gnomon.report.statements.statement import Verdict
from gnomon.report.wording import count, number, within

LEVEL = 0.975  # quantile of the upper end: the interval holds 95 %
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True)
class Spread:
    """A number over seeds, or the difference of two such numbers."""

    mean: float
    interval: tuple[float, float]  # 95 %; nan with a single seed
    seeds: str  # "3 seeds", "3 and 1 seeds"

    @property
    def known(self) -> bool:
        return all(map(math.isfinite, self.interval))

    def above(self, value: float) -> bool:
        """Whether the whole interval lies above; never without one."""
        return self.known and self.interval[0] > value

    def below(self, value: float) -> bool:
        """Whether the whole interval lies below; never without one."""
        return self.known and self.interval[1] < value

    def written(self, digits: int = 2, sign: str = "") -> str:
        interval = f"95 % {within(self.interval, digits)}" if self.known else "no interval"
        return f"{number(self.mean, digits, sign)} ({interval}; {self.seeds})"


def spread(values: Iterable[float]) -> Spread:
    """Mean over seeds and its interval; seeds without a number are left out."""
    finite = np.array([value for value in values if math.isfinite(value)])
    seeds = count(len(finite), "seed")
    if len(finite) < 2:
        return Spread(float(finite[0]) if len(finite) else math.nan, UNKNOWN, seeds)
    half = student.ppf(LEVEL, len(finite) - 1) * finite.std(ddof=1) / math.sqrt(len(finite))
    return Spread(float(finite.mean()), (float(finite.mean() - half), float(finite.mean() + half)), seeds)


def difference(first: Iterable[float], second: Iterable[float]) -> Spread:
    """The first mean minus the second, with Welch's interval: the two may vary differently over seeds."""
    a, b = (np.array([value for value in values if math.isfinite(value)]) for values in (first, second))
    seeds = f"{len(a)} and {count(len(b), 'seed')}"
    mean = float(a.mean() - b.mean()) if len(a) and len(b) else math.nan
    if min(len(a), len(b)) < 2:
        return Spread(mean, UNKNOWN, seeds)
    parts = [each.var(ddof=1) / len(each) for each in (a, b)]
    error = math.sqrt(sum(parts))
    if error == 0:
        return Spread(mean, (mean, mean), seeds)
    freedom = error**4 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (a, b), strict=True))
    half = float(student.ppf(LEVEL, freedom)) * error
    return Spread(mean, (mean - half, mean + half), seeds)


def verdict(yes: bool, no: bool) -> Verdict:
    """What two tests say together; both cannot hold."""
    return "reproduced" if yes else "contradicted" if no else "not decided"


def both(*verdicts: Verdict) -> Verdict:
    """The verdict on a statement with several parts: all must be reproduced; one contradicted part contradicts it."""
    if "contradicted" in verdicts:
        return "contradicted"
    return "reproduced" if set(verdicts) == {"reproduced"} else "not decided"
