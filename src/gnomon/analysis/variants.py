"""Variants: the same production analysis for agents that differ in controller, size or horizon, side by side."""

from dataclasses import dataclass

from gnomon.analysis.performance import Production


@dataclass(frozen=True, eq=False)
class Variant:
    """One agent's production, or None if it never answered Set: some variants do not learn the task."""

    name: str
    n_trials: int  # of its table, whatever became of them
    production: Production | None


@dataclass(frozen=True, eq=False)
class Variants:
    """Agents on one task, in the order in which they were given."""

    task: str
    agents: tuple[Variant, ...]
