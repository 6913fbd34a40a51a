"""LSTD critic: the values that V-trace goes by are solved by least squares, not learned by steps.

Given functions f of the controller's units, the weights w of the value are the fixed point of the unroll's returns
(least-squares temporal differences, Bradtke & Barto 1996):

    sum over t of f_t (R_t - w (f_t - D_t f_e)) = 0,

R_t being the discounted reward from t to the end e of the unroll (or of the chunk of `loss.horizon` steps that t is
in), and D_t the discount from t to e, 0 if an episode ended in between. Sums decay with every update. The functions are
all units and random rectified sums of them, so that a value may fall again when the time to respond has passed.

A privileged (asymmetric) critic also sees the times since the trial's parts began, or until they will. Values are there
for learning only, so they may know what the agent cannot.

The agent's own value network goes on learning from the targets, up to their mean, for the controller's sake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnomon.agent.agent import Output
from gnomon.learn.aids.base import Aid
from gnomon.learn.schedule import Progress, ramp
from gnomon.learn.unroll import Unroll
from gnomon.learn.vtrace import chunk_length, vtrace

if TYPE_CHECKING:
    from gnomon.learn.learner import Learner

RECTIFIED = 256  # random rectified sums of the inputs
SCALE = 2.0  # s.d. of a sum of inputs that are all +1 or -1; its threshold is drawn from -1 to 1
SEED = 7  # the same sums in every run
EVERY = 5  # frames between two that the weights are solved for
FAR = 10.0  # times the largest return of a batch plus 1: values beyond are no values, and are solved anew
TIME_SCALES = (10.0, 30.0, 100.0)  # frames: a privileged critic sees each time on these scales
RIDGE = 30.0  # weight of the present solution, in sums over frames of squared functions
FADES = 2 / 3  # of `until`: best share of rewarded trials from which the value loss shapes the controller less


@dataclass(frozen=True)
class LSTDCriticSettings:
    """LSTD critic: V-trace goes by values solved by least squares from the controller's units."""

    memory: float = 0.95
    """Decay, per update, of the sums that the values are solved from."""
    privileged: bool = False
    """Whether the critic also sees how long ago the trial and its parts began, or when they will (asymmetric)."""
    until: float = 0.75
    """Best share of rewarded trials from which on the value loss no longer shapes the controller; it fades from two
    thirds of that on. Above 1: never."""

    def __post_init__(self) -> None:
        if not 0 <= self.memory < 1:
            raise ValueError(f"lstd_critic.memory is {self.memory}; it must be at least 0 and below 1")
        if not self.until > 0:
            raise ValueError(f"lstd_critic.until is {self.until}; it must be above 0")


class LSTDCritic(Aid):
    name = "lstd_critic"
    reads_units = True
    settings: LSTDCriticSettings

    def __init__(self, settings: LSTDCriticSettings, learner: Learner) -> None:
        super().__init__(settings, learner)
        self.solver = LeastSquaresValues(settings.memory, learner.config.loss.horizon)
        self.share = 1.0  # of the value loss's gradient that goes on to the controller
        self._latest: tuple[Tensor, Tensor, Tensor] | None = None

    def before_unroll(self, progress: Progress) -> None:
        self.share = 1 - ramp(progress.best, FADES * self.settings.until, self.settings.until)

    def critic(
        self, batch: Unroll, output: Output, r_t: Tensor, discount_t: Tensor, values: Tensor, baseline: Tensor
    ) -> tuple[Tensor, Tensor]:
        functions = self.solver.functions(output.units, batch.since if self.settings.privileged else None)
        baseline = self.solver.values(functions)
        self._latest = functions, r_t, discount_t
        hidden = output.hidden[:-1]
        learned = self.learner.agent.value_of(self.share * hidden + (1 - self.share) * hidden.detach())
        return learned - learned.mean() + baseline.mean(), baseline  # an error that all frames share teaches nothing

    def after_step(self) -> None:
        """Take in the batch only now: else its advantages would have been too small."""
        if self._latest is not None:
            self.solver.observe(*self._latest)
            self._latest = None

    def state_dict(self) -> dict[str, Tensor]:
        return self.solver.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.solver.load_state_dict(state)


class LeastSquaresValues:
    """Weights of the value, solved for the latest batches. Their number is known with the first functions."""

    def __init__(self, memory: float, horizon: int = 0) -> None:
        """memory: weight of what came before, per update."""
        self.memory, self.horizon = memory, horizon
        self._drawn: tuple[Tensor, Tensor] | None = None  # sums [inputs, RECTIFIED] and thresholds [RECTIFIED]
        self.solution = self.left = self.right = torch.zeros(0, dtype=torch.float64)

    def _sums(self, units: int, times: int, like: Tensor) -> tuple[Tensor, Tensor]:
        if self._drawn is None:
            draws = torch.Generator().manual_seed(SEED)
            sums = SCALE / units**0.5 * torch.randn(units, RECTIFIED, generator=draws)
            thresholds = 2 * torch.rand(RECTIFIED, generator=draws) - 1
            sums = torch.cat([sums, torch.randn(times, RECTIFIED, generator=draws)])
            self._drawn = sums.to(like), thresholds.to(like)
        return self._drawn

    @torch.no_grad()
    def functions(self, units: dict[str, Tensor], since: Tensor | None = None) -> Tensor:
        """Named units, each [T, B, ...] -> what the value is a weighted sum of, [T, B, F]; the last is 1.

        since: frames [T, B, M], for a privileged critic.
        """
        numbers = torch.cat([u.flatten(2) for u in units.values()], dim=-1)
        own = numbers.shape[-1]
        if since is not None:
            times = since.unsqueeze(-1) / since.new_tensor(TIME_SCALES, dtype=numbers.dtype)
            numbers = torch.cat([numbers, times.flatten(2)], dim=-1)
        sums, thresholds = self._sums(own, numbers.shape[-1] - own, numbers)
        bounded = numbers / (1 + numbers.abs())
        rectified = (bounded @ sums + thresholds).relu_()
        return torch.cat([bounded, rectified, bounded.new_ones(*bounded.shape[:2], 1)], dim=-1)

    def values(self, functions: Tensor) -> Tensor:
        """functions [..., F] -> values [...]; zeros before the first batch."""
        if not len(self.solution):
            return functions.new_zeros(functions.shape[:-1])
        return functions @ self.solution.to(functions)

    @torch.no_grad()
    def observe(self, functions: Tensor, r_t: Tensor, discount_t: Tensor) -> None:
        """Take in a batch: functions [T + 1, B, F], rewards and discounts [T, B]."""
        if not len(self.solution):
            self._start(functions)
        nothing = torch.zeros_like(r_t)
        returns = vtrace(nothing, discount_t, r_t, nothing, nothing[0], self.horizon).vs[::EVERY]
        left, ends = discounts_to_end(discount_t, self.horizon)
        now = functions[:-1:EVERY].flatten(0, 1)
        later = (left[::EVERY].unsqueeze(-1) * functions[ends[::EVERY]]).flatten(0, 1)
        self.left = self.memory * self.left + (now.T @ (now - later)).double()
        self.right = self.memory * self.right + (now.T @ returns.flatten().to(now)).double()
        ridge = RIDGE * torch.eye(len(self.solution), dtype=torch.float64, device=self.left.device)
        self.solution = torch.linalg.solve(self.left + ridge, self.right + RIDGE * self.solution)
        # From too few frames the fixed point may be anywhere, and further off each time.
        if not self.values(functions).abs().max() <= FAR * (1 + returns.abs().max()):
            self._start(functions)

    def _start(self, functions: Tensor) -> None:
        size = functions.shape[-1]
        self.solution = torch.zeros(size, dtype=torch.float64, device=functions.device)
        self.left, self.right = self.solution.new_zeros(size, size), self.solution.new_zeros(size)

    def state_dict(self) -> dict[str, Tensor]:
        return {"left": self.left, "right": self.right, "solution": self.solution}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.left, self.right, self.solution = (state[name].clone() for name in ("left", "right", "solution"))


def discounts_to_end(discount_t: Tensor, horizon: int) -> tuple[Tensor, Tensor]:
    """The discount from each step to the end of its chunk [T, B], and the frame at which that chunk ends [T]."""
    steps = len(discount_t)
    chunk = chunk_length(steps, horizon)
    parts = [part.flip(0).cumprod(0).flip(0) for part in discount_t.split(chunk)]
    ends = torch.arange(steps, device=discount_t.device) // chunk * chunk + chunk
    return torch.cat(parts), ends.clamp(max=steps)
