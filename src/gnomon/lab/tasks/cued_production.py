"""Cued production: the target's colour says which of two intervals must pass between two clicks on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from gnomon.lab.screen import Box, Colour, Picture, Widget
from gnomon.lab.tasks.base import RESPONSE, Draws, Gaze, Outcome, Plan, Task, choose, constant, promote, register
from gnomon.lab.tasks.checks import at_least, check_factors, check_intervals, check_timeout

if TYPE_CHECKING:
    from gnomon.lab.trials import Trials

TARGET = 1  # its box
FIRST_PICTURE, SECOND_PICTURE = 2, 4  # before and after the first click; the long interval's is one further


@register
@dataclass(frozen=True, kw_only=True)
class CuedProduction(Task):
    """Look at the cross; a target appears; click on it, wait as long as its colour says, click again.

    The reward is given if the time between the clicks misses the interval by less than a factor of it, which
    tightens with success at that interval and starts anew each episode. A trial without a click goes on.
    """

    intervals: tuple[int, int] = (40, 80)
    """The short and the long interval, in frames, equally likely."""
    tolerance_factors: tuple[float, ...] = (0.8, 0.5, 0.3, 0.1, 0.04)
    """Tolerance as a share of the interval, step by step."""
    rewards_to_promote: int = 2
    """Rewards at one interval that bring its next tolerance."""
    timeout_factor: float = 3.0
    """A trial ends this many times the long interval after the first click."""
    wait_complement: bool = False
    """Whether a production that was too short lengthens the pause by what it lacked."""
    target_location: tuple[float, float] = (0.5, 0.25)
    """Centre of the target."""
    short_colour: Colour = (230, 10, 190)
    """Colour of the target that stands for the short interval."""
    long_colour: Colour = (50, 200, 230)
    """Colour of the target that stands for the long interval."""
    short_colour_clicked: Colour = (200, 230, 50)
    """Colour of the short interval's target after the first click."""
    long_colour_clicked: Colour = (200, 230, 50)
    """Colour of the long interval's target after the first click."""

    name: ClassVar[str] = "cued_production"
    events: ClassVar[tuple[str, ...]] = ("first_click", "timeout")
    conditions: ClassVar[Mapping[str, type]] = {"sample_interval": int}
    production_bounds: ClassVar[tuple[str, str] | None] = ("first_click", RESPONSE)
    clicks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_intervals("intervals", self.intervals, length=2)
        check_factors("tolerance_factors", self.tolerance_factors)
        at_least(self, 1, "rewards_to_promote")
        check_timeout(self.timeout_factor, self.intervals[1])
        super().__post_init__()

    @property
    def box_driven(self) -> bool:
        return True

    @property
    def levels(self) -> int:
        return len(self.intervals)

    @property
    def timeout(self) -> int:
        """Frames from the first click to the end of a trial without a second one."""
        return max(1, -int(-self.timeout_factor * self.intervals[1] // 1))

    def target(self) -> Box:
        return Box.around(*self.target_location, self.target_size)

    def pictures(self) -> Sequence[Picture]:
        colours = (self.short_colour, self.long_colour, self.short_colour_clicked, self.long_colour_clicked)
        return [(), (self.cross(),), *((Widget("target", self.target(), colour),) for colour in colours)]

    def boxes(self) -> Sequence[Box]:
        return [self.cross_centre(), self.target()]

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        return {"sample_interval": choose(self.intervals, count, generator)}

    def begin(self, trials: "Trials", lanes: Tensor, drawn: Draws) -> None:
        long = (drawn["sample_interval"] == self.intervals[1]).int()
        trials.picture[lanes] = FIRST_PICTURE + long
        table = tuple(tuple(factor * interval for interval in self.intervals) for factor in self.tolerance_factors)
        trials.tolerance[lanes] = constant(table, torch.float64, trials.device)[trials.level[long, lanes], long]

    def change(self, trials: "Trials", fired: Tensor) -> None:
        """Nothing changes with time alone."""

    def respond(self, trials: "Trials", looking: Gaze, pressing: Gaze | None, fired: Tensor) -> Tensor:
        timeout = torch.where(fired[-1], Outcome.TIMEOUT, Outcome.NONE)
        if pressing is None:
            return timeout
        clicked = pressing.inside(TARGET) & trials.running & ~fired[-1]
        first_click = trials.event("first_click")
        second = clicked & (first_click <= trials.now)
        self._first(trials, (clicked & ~second).nonzero().squeeze(1))
        trials.production = trials.now - first_click
        error = (trials.production - trials.condition("sample_interval")).abs()
        outcome = torch.where(error < trials.tolerance, Outcome.CORRECT, Outcome.WRONG) * second
        return outcome + timeout

    def _first(self, trials: "Trials", lanes: Tensor) -> None:
        """The first click: change the colour, and start the clocks."""
        if len(lanes):
            trials.picture[lanes] += SECOND_PICTURE - FIRST_PICTURE
            trials.event("first_click")[lanes] = trials.now
            trials.event("timeout")[lanes] = trials.now + self.timeout

    def finish(self, trials: "Trials", lanes: Tensor, outcome: Tensor) -> None:
        interval = trials.condition("sample_interval")[lanes]
        long = (interval == self.intervals[1]).int()
        success = (outcome == Outcome.CORRECT).int()
        promote(trials, lanes, long, success, steps=len(self.tolerance_factors), every=self.rewards_to_promote)
        if self.wait_complement:
            trials.extra_pause[lanes] = (interval - trials.production[lanes]).clamp(min=0) * (
                outcome != Outcome.TIMEOUT
            )

    def plan(self, trials: "Trials", production: Tensor, says_long: Tensor) -> Plan:
        """Go to the target, click, and click again when the interval has passed."""
        first_click = trials.event("first_click")
        return Plan(TARGET, press=(first_click > trials.now) | (trials.now + 1 >= first_click + production))
