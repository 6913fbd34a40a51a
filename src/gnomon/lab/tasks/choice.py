"""What bisection and discrimination share: a stimulus that lasts some time, then two squares, one right."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from gnomon.lab.screen import Box, Colour, Picture, Widget
from gnomon.lab.tasks.base import MONITOR_CENTRE, Gaze, Outcome, Task, check_intervals

if TYPE_CHECKING:
    from gnomon.lab.trials import Trials


@dataclass(frozen=True, kw_only=True)
class ChoiceTask(Task):
    """Settings and rules common to the two choice tasks. A choice that is not made goes on."""

    durations: tuple[int, int] = (40, 80)
    """The short and the long duration, in frames, equally likely."""
    target_location: tuple[float, float] = MONITOR_CENTRE
    """Centre of the stimulus."""
    target_distance: float = 0.2
    """Distance of the two choices from the centre."""
    target_colours: tuple[Colour, Colour] = ((50, 100, 150), (150, 10, 30))
    """Colours of the two choices."""

    name: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        check_intervals("durations", self.durations, length=2)
        if len(self.target_colours) != 2:
            raise ValueError(f"target_colours is {self.target_colours}; this task needs exactly two colours")
        if self.target_distance <= 0:
            raise ValueError(f"target_distance is {self.target_distance}; it must be above 0")
        super().__post_init__()

    @property
    def box_driven(self) -> bool:
        return True

    def stimulus(self, colour: Colour) -> Picture:
        return (Widget("target", Box.around(*self.target_location, self.target_size), colour),)

    def end(self, angle: float) -> Box:
        """The square at this angle from the x axis, anticlockwise, in radians."""
        half, (x, y) = self.target_size / 2, self.centre
        left = x + self.target_distance * math.cos(angle) - half
        top = 1 - (y + self.target_distance * math.sin(angle) + half)
        return Box(left, top, self.target_size, self.target_size)

    def chosen(self, trials: "Trials", looking: Gaze, right: Tensor, wrong: Tensor) -> Tensor:
        """Outcomes where the choice is on: the boxes of the right and the wrong square are int [lanes]."""
        choosing = trials.running & (trials.event("choice") <= trials.now)
        outcome = torch.where(looking.inside_each(wrong), Outcome.WRONG, Outcome.NONE)
        return torch.where(looking.inside_each(right), Outcome.CORRECT, outcome) * choosing
