"""Checks of a task's settings: a ValueError names the setting, its value and what would be right."""

from itertools import pairwise

LARGEST = 1_000_000_000  # of a whole number in a task's settings: sums of a few fit into 32 bits
LONGEST = 1_000_000  # frames of an interval, which is more than four hours


def at_least(task: object, minimum: int, *names: str) -> None:
    for name in names:
        value = getattr(task, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {minimum}")
        if value > LARGEST:
            raise ValueError(f"{name} is {value!r}; it must be at most {LARGEST:,}")


def check_probability(task: object, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(task, name) <= 1:
            raise ValueError(f"{name} is {getattr(task, name)!r}; a probability lies between 0 and 1")


def check_intervals(name: str, intervals: tuple[int, ...], length: int | None = None) -> None:
    """Intervals are whole frames of at least 1, ascending; two of them (short, long) where `length` is 2."""
    if not intervals:
        raise ValueError(f"{name} is empty; give at least one interval, in frames")
    if length is not None and len(intervals) != length:
        raise ValueError(f"{name} is {intervals}; this task needs exactly {length}: short, long")
    if any(isinstance(i, bool) or not isinstance(i, int) or i < 1 for i in intervals):
        raise ValueError(f"{name} is {intervals}; every interval must be a whole number of frames, at least 1")
    if max(intervals) > LONGEST:
        raise ValueError(f"{name} is {intervals}; an interval has at most {LONGEST:,} frames")
    if any(later <= earlier for earlier, later in pairwise(intervals)):
        raise ValueError(f"{name} is {intervals}; intervals must be ascending, each listed once")


def check_timeout(factor: float, longest: int) -> None:
    """`factor` times the longest interval (frames) must be a number of frames."""
    if not 0 < factor <= LARGEST / longest:
        raise ValueError(f"timeout_factor is {factor}; it must be above 0, and not beyond all bounds")


def check_factors(name: str, factors: tuple[float, ...]) -> None:
    if not factors or any(not 0 < factor < LARGEST for factor in factors):
        raise ValueError(f"{name} is {factors}; give at least one tolerance factor, all above 0")
