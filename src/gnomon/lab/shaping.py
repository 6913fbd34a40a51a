"""Shaping: a reward that tells by how much a production was off. For training only; records keep the task's reward."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Grading:
    """How much of the reward is graded, and how."""

    share: float
    """From 0, the task's own reward, to 1, graded only."""
    width: float
    """Frames: a production that is off by so many earns 1/e."""
    discount: float = 1.0
    """Discount per frame that is paid back, so that waiting costs nothing from Ready on; 1 pays nothing back."""

    def reward(self, earned: Tensor, sample: Tensor, production: Tensor, full: float = 1.0) -> Tensor:
        """What the learner gets for productions (frames, int [n]) of sample intervals that earned so much: float [n].

        The graded reward is full * exp(-|t_p - t_s| / width) / discount^(t_s + t_p).
        """
        error = (production - sample).abs()
        graded = full * (-error / self.width).exp() * self.discount ** -(production + sample).float()
        return self.share * graded + (1 - self.share) * earned
