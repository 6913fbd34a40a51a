"""Rollback: when the task is lost, continue from the weights of a better time, with smaller steps.

Snapshots of the learner are kept while the task is done about as well as ever. The last but one is restored when the
share of rewarded trials has fallen by too much: the newest may have the step that went wrong. The lanes then restart
from the initial state, since their states may be ones in which the old weights never were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnomon.learn.aids.base import Aid
from gnomon.learn.schedule import Progress
from gnomon.learn.unroll import Unroll
from gnomon.saving.checkpoint import load_optimiser, nest, optimiser_tensors, unnest

if TYPE_CHECKING:
    from gnomon.learn.learner import Learner

WORTH_KEEPING = 0.4  # best share of rewarded trials from which on there is something to lose
EVERY = 10  # rounds between two snapshots
GOOD = 0.95  # share of the best that is worth a snapshot
SMALLER, RECOVERY = 0.7, 1.005  # factors of the step size, after every rollback and after every round


@dataclass(frozen=True)
class RollbackSettings:
    """Rollback: when success falls below a share of its best, earlier weights are restored, and steps shrink."""

    below: float = 0.5
    """Share of the best running share of rewarded trials below which the task counts as lost."""

    def __post_init__(self) -> None:
        if not 0 <= self.below <= 1:
            raise ValueError(f"rollback.below is {self.below}; it is a share, from 0 to 1")


class Rollback(Aid):
    """Owns the factor `rollback` of the learning rate, and the snapshots."""

    name = "rollback"
    settings: RollbackSettings
    times = 0  # that weights were restored
    newest: dict[str, Tensor]
    older: dict[str, Tensor]

    def __init__(self, settings: RollbackSettings, learner: Learner) -> None:
        super().__init__(settings, learner)
        self.newest, self.older = {}, {}

    def after_unroll(self, unroll: Unroll, metrics: dict[str, float]) -> dict[str, float]:
        return {"rollbacks": self.times}

    def after_round(self, progress: Progress, rounds: int) -> bool:
        factors = self.learner.learning_rate.factors
        factors[self.name] = min(1.0, factors.get(self.name, 1.0) * RECOVERY)
        if rounds % EVERY == 0 and progress.success >= max(WORTH_KEEPING, GOOD * progress.best):
            self.older, self.newest = self.newest, self.snapshot()
        if progress.success >= self.settings.below * progress.best or not self.older:
            return False
        self.restore(self.older)
        factors[self.name] *= SMALLER
        self.newest = self.snapshot()
        progress.success = progress.best
        self.times += 1
        return True

    def snapshot(self) -> dict[str, Tensor]:
        """A copy of the weights, and of all that the optimisers and the other aids know."""
        learner = self.learner
        tensors = nest("agent", dict(learner.agent.state_dict()))
        tensors |= nest("optimiser", dict(optimiser_tensors(learner.optimiser)))
        tensors |= nest("vision_optimiser", dict(optimiser_tensors(learner.vision_optimiser)))
        for aid in learner.aids:
            tensors |= nest(f"aid.{aid.name}", aid.state_dict() if aid is not self else {})
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}

    @torch.no_grad()
    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Be as at a snapshot, which stays as it is. What waits for a batch is kept."""
        learner, snapshot = self.learner, {name: tensor.clone() for name, tensor in snapshot.items()}
        present = learner.agent.state_dict()
        for name, tensor in unnest("agent", snapshot).items():
            if not torch.equal(present[name], tensor.to(present[name])):  # what is the same need not be seen anew
                present[name].copy_(tensor)
        load_optimiser(learner.optimiser, unnest("optimiser", snapshot))
        load_optimiser(learner.vision_optimiser, unnest("vision_optimiser", snapshot))
        for aid in learner.aids:
            if aid is not self:
                aid.load_state_dict(unnest(f"aid.{aid.name}", snapshot))

    def state_dict(self) -> dict[str, Tensor]:
        own = {"times": torch.tensor(self.times)}
        return own | nest("newest", self.newest) | nest("older", self.older)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.times = int(state["times"])
        self.newest, self.older = unnest("newest", state), unnest("older", state)
