"""What an aid may change. Every method here leaves things as they are, so an aid overrides the few that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

if TYPE_CHECKING:
    from gnomon.agent.agent import Output
    from gnomon.learn.learner import Learner
    from gnomon.learn.schedule import Progress
    from gnomon.learn.unroll import Unroll


class Aid:
    """Something added to IMPALA. It is built with the learner, before the optimisers; it may change first weights."""

    name: ClassVar[str]
    """As in `learning.aids.use`, and of its settings."""
    reads_units: ClassVar[bool] = False
    """Whether `critic` reads the units of every frame, so that they must be there."""

    def __init__(self, settings: Any, learner: Learner) -> None:
        self.settings, self.learner = settings, learner

    def parameters(self, parameters: list[nn.Parameter]) -> list[nn.Parameter]:
        """What the optimiser of the controller and the heads shall move."""
        return parameters

    # In the order in which they are called.

    def before_unroll(self, progress: Progress) -> None:
        """A round of unrolls is about to be learned from."""

    def reward(self, batch: Unroll, r_t: Tensor) -> Tensor:
        """The rewards [T, B] to learn from."""
        return r_t

    def critic(
        self, batch: Unroll, output: Output, r_t: Tensor, discount_t: Tensor, values: Tensor, baseline: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The values [T, B] that learn, and the baseline [T + 1, B] that V-trace goes by."""
        return values, baseline

    def before_step(self) -> None:
        """Gradients are there, and are about to be clipped."""

    def after_step(self) -> None:
        """The controller and the heads have moved."""

    def after_unroll(self, unroll: Unroll, metrics: dict[str, float]) -> dict[str, float]:
        """The round's unrolls have been learned from; returns metrics of its own."""
        return {}

    def after_round(self, progress: Progress, rounds: int) -> bool:
        """The round's trials have been counted. Returns whether all lanes must restart from the initial state."""
        return False

    # Saving and continuing.

    def state_dict(self) -> dict[str, Tensor]:
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from what `state_dict` returned."""
