"""Annealing by success: steps and exploration shrink with the share of rewarded trials, not with the frames."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.learn.aids.base import Aid
from gnomon.learn.schedule import Progress, between, ramp

FALL_FROM, FALL_TO = 0.5, 0.9  # best shares of rewarded trials between which the learning rates fall
NOT_YET = -1


@dataclass(frozen=True)
class SuccessAnnealingSettings:
    """Annealing by success: learning rates fall with the best share of rewarded trials so far; once the task is
    mastered, the entropy cost falls and shaped rewards narrow (polishing)."""

    final_learning_rate: float = 0.1
    """Share of the learning rates that is left once 90 % of trials were rewarded; they fall from 50 % on."""
    mastery: float = 0.85
    """Share of rewarded trials at which polishing begins."""
    polish_frames: int = 8_000_000
    """Frames that polishing takes."""
    final_entropy_cost: float = 0.0002
    """Entropy cost when the task is polished."""

    def __post_init__(self) -> None:
        if not 0 < self.final_learning_rate <= 1:
            raise ValueError(
                f"success_annealing.final_learning_rate is {self.final_learning_rate}; it is a share, above 0 to 1"
            )
        if self.polish_frames < 1:
            raise ValueError(f"success_annealing.polish_frames is {self.polish_frames}; it must be at least 1")
        for name in ("mastery", "final_entropy_cost"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"success_annealing.{name} is {getattr(self, name)}; it must be at least 0")


class SuccessAnnealing(Aid):
    """Owns the factor `success_annealing` of the learning rate, and what is left of the entropy cost."""

    name = "success_annealing"
    settings: SuccessAnnealingSettings
    mastered = NOT_YET  # frame at which polishing began

    def before_unroll(self, progress: Progress) -> None:
        settings, learner = self.settings, self.learner
        if self.mastered == NOT_YET and progress.best >= settings.mastery:
            self.mastered = progress.frames
        fallen = ramp(progress.best, FALL_FROM, FALL_TO)
        learner.learning_rate.factors[self.name] = settings.final_learning_rate**fallen
        if self.mastered != NOT_YET:
            progress.polish = ramp(progress.frames - self.mastered, 0, settings.polish_frames)
        learner.entropy_cost = between(learner.entropy_cost, settings.final_entropy_cost, progress.polish)

    def state_dict(self) -> dict[str, Tensor]:
        return {"mastered": torch.tensor(self.mastered)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.mastered = int(state["mastered"])
