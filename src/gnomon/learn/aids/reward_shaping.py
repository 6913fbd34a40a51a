"""Reward shaping: a reward that falls with the error of a production, instead of right or wrong. Training only.

Records and scores always go by the task's own reward.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.learn.aids.base import Aid
from gnomon.learn.schedule import Progress, between, ramp
from gnomon.learn.unroll import Unroll

SHAPED_UNTIL, UNSHAPED_FROM = 0.94, 0.97  # shares of the schedule between which the task's own reward takes over


@dataclass(frozen=True)
class RewardShapingSettings:
    """Reward shaping: productions earn exp(-|t_p - t_s| / width) until the last 6 to 3 % of the run."""

    width: float = 20.0
    """Frames of error at which the reward has fallen to 1/e."""
    final_width: float = 8.0
    """The same when the aid `success_annealing` has polished the task."""
    repay_discount: bool = False
    """Whether the reward pays back what discounting takes from Ready to the response."""

    def __post_init__(self) -> None:
        for name in ("width", "final_width"):
            if not getattr(self, name) > 0:
                raise ValueError(f"reward_shaping.{name} is {getattr(self, name)}; it must be above 0")


def shaped_reward(r_t: Tensor, t_s: Tensor, t_p: Tensor, *, share: float, width: float, discount: float) -> Tensor:
    """Rewards [T, B] of which a share is shaped where a production ended (t_p >= 0); a pure function.

    The shaped reward is exp(-|t_p - t_s| / width) / discount^(t_s + t_p), times this share; the rest is the task's own.
    """
    shaped = (-(t_p - t_s).abs() / width).exp() * discount ** -(t_p + t_s).to(r_t)
    return torch.where(t_p >= 0, share * shaped + (1 - share) * r_t, r_t)


class RewardShaping(Aid):
    name = "reward_shaping"
    settings: RewardShapingSettings

    def before_unroll(self, progress: Progress) -> None:
        self.share = 1 - ramp(progress.done, SHAPED_UNTIL, UNSHAPED_FROM)
        self.width = between(self.settings.width, self.settings.final_width, progress.polish)

    def reward(self, batch: Unroll, r_t: Tensor) -> Tensor:
        discount = self.learner.config.loss.discount if self.settings.repay_discount else 1.0
        return shaped_reward(r_t, batch.t_s, batch.t_p, share=self.share, width=self.width, discount=discount)

    def after_unroll(self, unroll: Unroll, metrics: dict[str, float]) -> dict[str, float]:
        return {"shaped_share": self.share}
