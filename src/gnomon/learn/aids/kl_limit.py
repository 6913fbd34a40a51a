"""KL-limited step size: steps shrink while the policy moves too far within a round, and grow again when it does not.

The limit falls with the square of the scheduled learning rate, as the divergence does with the step: a constant limit
would undo the annealing, since its factor would grow as the scheduled rate falls.
"""

from dataclasses import dataclass

from gnomon.learn.aids.base import Aid
from gnomon.learn.schedule import Progress

SLOWER, FASTER = 0.85, 1.04  # factors of the step size after a round above the limit, and after one below


@dataclass(frozen=True)
class KLLimitSettings:
    """KL-limited step size: steps shrink after a round in which the policy moved by more than `nats` per frame."""

    nats: float = 3e-3
    """Divergence of the policy that learns from the one that acted, per frame, mean over a round, at the start."""

    def __post_init__(self) -> None:
        if not self.nats > 0:
            raise ValueError(f"kl_limit.nats is {self.nats}; it must be above 0")


class KLLimit(Aid):
    """Owns the factor `kl_limit` of the learning rate."""

    name = "kl_limit"
    settings: KLLimitSettings
    limit: float
    """Of the present round, nats per frame."""

    def before_unroll(self, progress: Progress) -> None:
        self.limit = self.settings.nats * self.learner.learning_rate.scheduled(progress) ** 2

    def after_unroll(self, metrics: dict[str, float]) -> dict[str, float]:
        factors = self.learner.learning_rate.factors
        if "kl" in metrics:  # a batch was full
            change = SLOWER if metrics["kl"] > self.limit else FASTER
            factors[self.name] = min(1.0, factors.get(self.name, 1.0) * change)
        return {"kl_factor": factors.get(self.name, 1.0)}
