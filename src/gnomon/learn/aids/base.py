"""What an aid may change. Every method here leaves things as they are, so an aid overrides the few that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

if TYPE_CHECKING:
    from gnomon.learn.learner import Learner


class Aid:
    """Something added to IMPALA. It is built with the learner, before the optimisers; it may change first weights."""

    name: ClassVar[str]
    """As in `learning.aids.use`, and of its settings."""

    def __init__(self, settings: Any, learner: Learner) -> None:
        """An aid without state of its own needs no more than what it does to the learner here."""

    def parameters(self, parameters: list[nn.Parameter]) -> list[nn.Parameter]:
        """What the optimiser shall move of the controller, in place of these."""
        return parameters

    # In the order in which they are called.

    def before_step(self) -> None:
        """Gradients are there, and are about to be clipped."""

    def after_step(self) -> None:
        """The controller and the heads have moved."""

    # Saving and continuing.

    def state_dict(self) -> dict[str, Tensor]:
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from what `state_dict` returned."""
