"""A critic that does not lag: the values that V-trace uses are solved by least squares, not learned by steps.

A critic that lags is how trained agents lost the task within ten rounds (docs/training.md). When rewards fall, the
values of the frames before a response are too high. A response ends the trial and is paid what it is worth; waiting is
paid the value at the unroll's end, which is too high. So waiting looks better, responses come later, rewards fall
further. Given the controller's output h (with a 1 for the bias), the weights w of the value need no steps. They are the
fixed point of the unroll's returns (least-squares temporal differences, Bradtke & Barto 1996):

    sum over t of h_t (R_t - w (h_t - D_t h_T)) = 0,

R_t being the discounted reward within the unroll from t on, D_t the discount from t to its end at T, 0 if an episode
ended in between. Sums forget with every update.

The agent's own value head goes on learning by gradients, for the controller's sake: so it finds units that tell values.
It learns the errors up to their mean. An error that all frames share is the largest gradient of all, and shakes what
the policy needs as well; w has the mean.
"""

import torch
from torch import Tensor, nn

from gnomon.learn.vtrace import vtrace

RIDGE = 30.0  # weight of the present solution, in sums over frames of squared units


class Critic:
    """Weights and bias of the value, solved for the latest batches."""

    def __init__(self, head: nn.Linear, memory: float) -> None:
        """head: the agent's value head, to begin with. memory: weight of what came before, per update."""
        self.memory = memory
        self.solution = torch.cat([head.weight[0], head.bias]).detach().double()  # [U + 1]
        size = len(self.solution)
        self.left = self.solution.new_zeros(size, size)
        self.right = self.solution.new_zeros(size)

    def values(self, hidden: Tensor) -> Tensor:
        """hidden [..., U] -> values [...], without gradient."""
        weights = self.solution.to(hidden)
        return hidden.detach() @ weights[:-1] + weights[-1]

    @torch.no_grad()
    def observe(self, hidden: Tensor, r_t: Tensor, discount_t: Tensor) -> None:
        """Take in a batch: hidden [T + 1, B, U], the last of it at the unroll's end, rewards and discounts [T, B]."""
        nothing = torch.zeros_like(r_t)
        returns = vtrace(nothing, discount_t, r_t, nothing, nothing[0]).vs
        left = discount_t.flip(0).cumprod(0).flip(0)  # from each frame to the end
        units = torch.cat([hidden, hidden.new_ones(*hidden.shape[:2], 1)], dim=-1)
        now, later = units[:-1].flatten(0, 1), (left.unsqueeze(-1) * units[-1]).flatten(0, 1)
        self.left = self.memory * self.left + (now.T @ (now - later)).double()
        self.right = self.memory * self.right + (now.T @ returns.flatten()).double()
        ridge = RIDGE * torch.eye(len(self.solution), dtype=torch.float64, device=self.left.device)
        solution = torch.linalg.solve(self.left + ridge, self.right + RIDGE * self.solution)
        if solution.isfinite().all():
            self.solution = solution

    def state_dict(self) -> dict[str, Tensor]:
        return {"left": self.left, "right": self.right, "solution": self.solution}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.left, self.right, self.solution = (state[name].to(self.left) for name in ("left", "right", "solution"))
