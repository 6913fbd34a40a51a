"""How far a run is, and what follows from it for the size of the steps and for exploration."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the config holds the settings of the aids, which read this file
    from gnomon.config import Schedule


@dataclass
class Progress:
    """How far a run is; the training loop keeps it, the learner and its aids read it."""

    frames: int = 0
    total: int = 1
    """Frames of the whole schedule."""

    @property
    def done(self) -> float:
        """Share of the schedule that is over."""
        return self.frames / self.total


@dataclass
class LearningRate:
    """The one owner of the step size: the schedule's, times one factor for each aid that has one."""

    schedule: Schedule
    factors: dict[str, float] = field(default_factory=dict)
    """By aid; an aid sets its own and nobody else's."""

    def factor(self, progress: Progress) -> float:
        """What both learning rates are multiplied with."""
        return self.scheduled(progress) * prod(self.factors.values())

    def scheduled(self, progress: Progress) -> float:
        """The schedule's share of it, without the aids'."""
        annealed = 1 - (1 - self.schedule.final_learning_rate) * self._annealed(progress)
        half = self.schedule.halving_frames
        return annealed / (1 + progress.frames / half) if half else annealed

    def entropy_cost(self, cost: float, progress: Progress) -> float:
        """The cost at the start, annealed: it falls in equal ratios."""
        return cost * self.schedule.final_entropy ** self._annealed(progress)

    def _annealed(self, progress: Progress) -> float:
        return ramp(progress.done, self.schedule.anneal_from, self.schedule.anneal_until)


def ramp(value: float, start: float, end: float) -> float:
    """From 0 at the start to 1 at the end, in a straight line."""
    return min(1.0, max(0.0, (value - start) / (end - start))) if end > start else float(value >= end)
