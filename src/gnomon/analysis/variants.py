"""Variants: the same production analysis for agents that differ in controller, size or horizon, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from gnomon.analysis.performance import N_BOOTSTRAP, PRODUCED, Production, production


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


def variants(
    trials_by_agent: Mapping[str, pl.DataFrame], tolerance: float = 8.0, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> Variants:
    """Production per sample interval of every agent, each from its own trial table."""
    if not trials_by_agent:
        raise ValueError("trials_by_agent is empty; give the trial table of at least one agent")
    empty = [name for name, trials in trials_by_agent.items() if trials.is_empty()]
    if empty:
        raise ValueError(f"the trial tables of {empty} are empty; record some trials first")
    tasks = sorted({task for trials in trials_by_agent.values() for task in trials["task"].unique()})
    if len(tasks) > 1:
        raise ValueError(f"the agents did the tasks {tasks}; variants are compared on one")

    def of_agent(name: str, trials: pl.DataFrame) -> Variant:
        produced = trials.filter(pl.col("outcome").is_in(PRODUCED), pl.col("production_interval").is_not_null())
        result = None if produced.is_empty() else production(trials, tolerance, n_bootstrap=n_bootstrap, seed=seed)
        return Variant(name, trials.height, result)

    return Variants(tasks[0], tuple(of_agent(name, trials) for name, trials in trials_by_agent.items()))
