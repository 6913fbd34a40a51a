"""Numbers over seeds, written down with their uncertainty, and verdicts that follow from it.

An agent is drawn by its seed, so a statement about a kind of agent is judged by the interval over seeds
(`gnomon.analysis.seeds`). One seed has no such interval, and decides nothing.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from gnomon.analysis import seeds
from gnomon.analysis.bootstrap import Estimate, Interval
from gnomon.report.statements.statement import Verdict
from gnomon.report.wording import count, number, within


@dataclass(frozen=True)
class Spread(Estimate):
    """A number over seeds, or the difference of two such numbers; it knows how many seeds it comes from."""

    value: float
    interval: Interval  # 95 %; nan with a single seed
    seeds: str  # "3 seeds", "3 and 1 seed"

    def written(self, digits: int = 2, sign: str = "") -> str:
        """ "0.51 (95 % 0.40 to 0.62; 3 seeds)" """
        interval = f"95 % {within(self.interval, digits)}" if self.known else "no interval"
        return f"{number(self.value, digits, sign)} ({interval}; {self.seeds})"


def spread(values: Iterable[float]) -> Spread:
    """Mean over seeds and its t interval; seeds without a number are left out, one that is infinite undoes the mean."""
    kept = [value for value in values if not math.isnan(value)]
    if any(map(math.isinf, kept)):
        return Spread(math.inf, (math.nan, math.nan), count(len(kept), "seed"))
    return spread_of(seeds.over_seeds(kept), len(kept))


def spread_of(found: Estimate, n: int) -> Spread:
    """An estimate over n seeds."""
    return Spread(found.value, found.interval, count(n, "seed"))


def difference(first: Iterable[float], second: Iterable[float]) -> Spread:
    """The first mean minus the second, with Welch's interval: the two may vary differently over seeds."""
    return from_difference(seeds.difference(list(first), list(second)))


def from_difference(found: seeds.Difference) -> Spread:
    return Spread(found.difference, found.interval, f"{found.n_a} and {count(found.n_b, 'seed')}")


def verdict(yes: bool, no: bool) -> Verdict:
    """What two tests say together; both cannot hold."""
    return "reproduced" if yes else "contradicted" if no else "not decided"


def both(*verdicts: Verdict) -> Verdict:
    """The verdict on a statement with several parts: all must be reproduced; one contradicted part contradicts it."""
    if "contradicted" in verdicts:
        return "contradicted"
    return "reproduced" if set(verdicts) == {"reproduced"} else "not decided"
