"""Where the learner's unrolls come from: a laptop run and a cluster run differ in nothing else."""

from typing import Protocol

import polars as pl
from torch import Tensor

from gnomon.learn.actor import Actor
from gnomon.learn.unroll import Unroll
from gnomon.records.trials import take_trials


class SourceLost(ValueError):
    """Whoever acted for the learner is gone. The run can be saved, and go on with another source."""


class Source(Protocol):
    """Where unrolls come from: lanes of this process, of a team's (`gnomon.learn.team`), or of a cluster's pools."""

    def unroll(self) -> Unroll:
        """The next unroll to learn from."""
        ...

    def take_trials(self) -> pl.DataFrame:
        """The trials in the unrolls since the last call."""
        ...

    def metrics(self) -> dict[str, float]:
        """About the last unroll; a line of metrics has the means."""
        ...

    def counters(self) -> dict[str, int]:
        """Since the run's beginning; a line of metrics has the last."""
        ...

    def state_dict(self) -> dict[str, Tensor]: ...

    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        """Called when the agent's weights have been loaded."""
        ...


class OwnLanes:
    """The lanes of this process act when the learner asks, with the weights it has."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def unroll(self) -> Unroll:
        return self.actor.unroll()

    def take_trials(self) -> pl.DataFrame:
        return take_trials(self.actor.laboratory.trials)

    def metrics(self) -> dict[str, float]:
        return {}

    def counters(self) -> dict[str, int]:
        return {}

    def state_dict(self) -> dict[str, Tensor]:
        return self.actor.state_dict()

    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        if "generator" in saved:
            self.actor.load_state_dict(saved)
        else:  # a cluster's checkpoints have no lanes: ours begin anew, after the episodes that its lanes have had
            self.actor.laboratory.trials.episode += int(saved["pools.next_episode"].max())
