"""A critic that does not lag: the values that V-trace uses are solved by least squares, not learned by steps.

A critic that is wrong about waiting is how trained agents lost the task within ten rounds (docs/training.md). A
response ends the trial and is paid what it is worth; waiting is paid the value at the unroll's end. If that is too
high, because rewards have just fallen, or because a value that rises with time goes on rising beyond the time to
respond, waiting looks better, responses come later, and rewards fall further. So the values are

- solved: given functions f of the controller's units, the weights w of the value need no steps. They are the fixed
  point of the unroll's returns (least-squares temporal differences, Bradtke & Barto 1996):

    sum over t of f_t (R_t - w (f_t - D_t f_T)) = 0,

  R_t being the discounted reward within the unroll from t on, D_t the discount from t to its end at T, 0 if an
  episode ended in between. Sums forget with every update;
- bent: the functions are all units (an LSTM's cells, too) and random rectified sums of them, so that a value may fall
  again when the time to respond has passed. A straight line through the units cannot;
- told the time, if `critic_told`: the functions know how long ago the trial's parts began, or when they will. Values
  are there for learning only, so they may know what the agent cannot. One without memory looks the same early and late:
  where an unroll ends, a critic that sees no more takes late for early, and waiting, which it should learn, looks bad.

The agent's own value head, a linear one, goes on learning by gradients, for the controller's sake: so it finds units
that tell values. It learns the errors up to their mean. An error that all frames share is the largest gradient of all,
and shakes what the policy needs as well; the mean goes straight into the head's bias.
"""

import torch
from torch import Tensor

from gnomon.learn.vtrace import vtrace

BENDS = 256  # random rectified sums of units
BEND_SCALE = 2.0  # s.d. of a sum of units that are all +1 or -1; its threshold is drawn from -1 to 1
BEND_SEED = 7  # the same sums in every run
EVERY = 5  # frames between two that the weights are solved for
FAR = 10.0  # times the largest return of a batch plus 1: values beyond are no values, and are solved anew
TOLD_SCALES = (10.0, 30.0, 100.0)  # frames: each time that a critic is told counts on these scales
RIDGE = 30.0  # weight of the present solution, in sums over frames of squared functions


class Critic:
    """Weights of the value, solved for the latest batches."""

    def __init__(self, units: int, memory: float, told: int = 0, device: torch.device | str = "cpu") -> None:
        """units: how many the controller has. memory: weight of what came before, per update. told: how many times."""
        self.memory = memory
        draws = torch.Generator().manual_seed(BEND_SEED)
        self.sums = (BEND_SCALE / units**0.5 * torch.randn(units, BENDS, generator=draws)).to(device)
        self.thresholds = (2 * torch.rand(BENDS, generator=draws) - 1).to(device)
        times = torch.randn(len(TOLD_SCALES) * told, BENDS, generator=draws).to(device)
        self.sums = torch.cat([self.sums, times])
        size = len(self.sums) + BENDS + 1
        self.solution = torch.zeros(size, dtype=torch.float64, device=device)
        self.left = self.solution.new_zeros(size, size)
        self.right = self.solution.new_zeros(size)

    @torch.no_grad()
    def functions(self, units: dict[str, Tensor], since: Tensor | None = None) -> Tensor:
        """Named units, each [T, B, ...] -> what the value is a weighted sum of, [T, B, F]; the last is 1.

        since: frames [T, B, told], if it is told.
        """
        numbers = torch.cat([u.flatten(2) for u in units.values()], dim=-1)
        if since is not None:
            times = since.unsqueeze(-1) / since.new_tensor(TOLD_SCALES, dtype=numbers.dtype)
            numbers = torch.cat([numbers, times.flatten(2)], dim=-1)
        bounded = numbers / (1 + numbers.abs())
        bent = (bounded @ self.sums.to(bounded) + self.thresholds.to(bounded)).relu_()
        return torch.cat([bounded, bent, bounded.new_ones(*bounded.shape[:2], 1)], dim=-1)

    def values(self, functions: Tensor) -> Tensor:
        """functions [..., F] -> values [...]."""
        return functions @ self.solution.to(functions)

    def observe(self, functions: Tensor, r_t: Tensor, discount_t: Tensor) -> None:
        """Take in a batch: functions [T + 1, B, F], the last of it at the unroll's end, rewards, discounts [T, B]."""
        nothing = torch.zeros_like(r_t)
        returns = vtrace(nothing, discount_t, r_t, nothing, nothing[0]).vs[::EVERY]
        left = discount_t.flip(0).cumprod(0).flip(0)[::EVERY]  # from each frame to the end
        now, later = functions[:-1:EVERY].flatten(0, 1), (left.unsqueeze(-1) * functions[-1]).flatten(0, 1)
        self.left = self.memory * self.left + (now.T @ (now - later)).double()
        self.right = self.memory * self.right + (now.T @ returns.flatten()).double()
        ridge = RIDGE * torch.eye(len(self.solution), dtype=torch.float64, device=self.left.device)
        self.solution = torch.linalg.solve(self.left + ridge, self.right + RIDGE * self.solution)
        # From too few frames the fixed point may be anywhere, and further off each time.
        if not self.values(functions).abs().max() <= FAR * (1 + returns.abs().max()):
            for sums in (self.left, self.right, self.solution):
                sums.zero_()

    def state_dict(self) -> dict[str, Tensor]:
        return {"left": self.left, "right": self.right, "solution": self.solution}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.left, self.right, self.solution = (state[name].to(self.left) for name in ("left", "right", "solution"))
