"""Keeping the critic level: a straight line from its values to what was really earned.

When the policy or the reward rule changes, all values are wrong together, and the value network takes hundreds of
updates to follow. Meanwhile values that are too high make waiting look better than it is, because waiting is judged by
the next value and a response by its reward (docs/training.md). Two numbers follow at once: V-trace uses a + b V, where
a and b are the least-squares solution of

    R_t = a (1 - D_t) + b (V(x_t) - D_t V(x_T)),

R_t being the discounted reward within the unroll from t on and D_t the discount from t to its end, 0 if an episode
ended in between. The value network itself goes on learning to need no correction.
"""

import torch
from torch import Tensor

from gnomon.learn.vtrace import vtrace

PRIOR = 20.0  # weight of a = 0, b = 1, in squared units of the right-hand side


class Calibration:
    """Offset a and scale b of the values, fitted to the latest batches."""

    def __init__(self, memory: float) -> None:
        """memory: weight of what came before, per update; 0.9 remembers some 10 updates."""
        self.memory = memory
        self.sums = torch.zeros(5, dtype=torch.float64)  # of the normal equations

    @torch.no_grad()
    def observe(self, values: Tensor, r_t: Tensor, discount_t: Tensor) -> None:
        """Take in a batch: values [T + 1, B], the last of them at the unroll's end, rewards and discounts [T, B]."""
        nothing = torch.zeros_like(r_t)
        returns = vtrace(nothing, discount_t, r_t, nothing, nothing[0]).vs
        left = discount_t.flip(0).cumprod(0).flip(0)
        ones, slopes = 1 - left, values[:-1] - left * values[-1]
        pairs = ((ones, ones), (ones, slopes), (slopes, slopes), (ones, returns), (slopes, returns))
        new = torch.stack([(x * y).sum() for x, y in pairs])
        self.sums = self.memory * self.sums + new.to(self.sums)

    @property
    def line(self) -> tuple[float, float]:
        """Offset and scale; 0 and 1 as long as nothing is known."""
        aa, ab, bb, ar, br = self.sums.tolist()
        aa, bb, br = aa + PRIOR, bb + PRIOR, br + PRIOR
        determinant = aa * bb - ab * ab
        return (bb * ar - ab * br) / determinant, (aa * br - ab * ar) / determinant
