"""Numbers as words: means over seeds, intervals, shares, counts."""

import math
from collections.abc import Iterable, Sequence

NOTHING = "–"  # where there is no number
PERCENT = "\N{NO-BREAK SPACE}%"


def number(value: float, digits: int = 2, sign: str = "") -> str:
    """With a given number of decimals."""
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}" if math.isfinite(value) else NOTHING  # + 0.0: no "-0.00"


def share(value: float) -> str:
    """In percent."""
    return f"{number(100 * value, 0)}{PERCENT}" if math.isfinite(value) else NOTHING


def over_seeds(values: Iterable[float], digits: int = 2) -> str:
    """The mean, and the s.d. over seeds where there are several."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return number(mean(finite), digits)
    return f"{number(mean(finite), digits)} ± {number(sd(finite), digits)}"


def shares_over_seeds(values: Iterable[float]) -> str:
    """The mean share in percent, and the s.d. over seeds where there are several."""
    finite = [100 * value for value in values if math.isfinite(value)]
    return f"{over_seeds(finite, 0)}{PERCENT}" if finite else NOTHING


def within(interval: Sequence[float], digits: int = 2) -> str:
    """An interval, "0.10 to 0.20"; an end that is not known is a dash."""
    return " to ".join(number(end, digits) for end in interval)


def estimated(value: float, interval: Sequence[float], digits: int = 2, sign: str = "") -> str:
    """A number with its interval in brackets, "0.15 (0.10 to 0.20)"; alone if the interval is not known."""
    known = all(map(math.isfinite, interval))
    return number(value, digits, sign) + (f" ({within(interval, digits)})" if known else "")


def share_estimated(value: float, interval: Sequence[float]) -> str:
    """The same of a share, in percent."""
    known = all(map(math.isfinite, interval))
    return share(value) + (f" ({share(interval[0])} to {share(interval[1])})" if known else "")


def count(items: int, noun: str) -> str:
    """ "1 seed", "3 seeds"."""
    return f"{items:,} {noun}" + ("" if items == 1 else "s")


def listed(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else "none"


def sentence(text: str) -> str:
    """With a capital letter in front."""
    return text[:1].upper() + text[1:]


def mean(values: Sequence[float]) -> float:
    """nan of nothing."""
    return sum(values) / len(values) if values else math.nan


def sd(values: Sequence[float]) -> float:
    """Divided by n - 1."""
    centre = mean(values)
    return math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1))
