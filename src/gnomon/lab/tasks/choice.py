"""What bisection and discrimination share: a stimulus that lasts some time, then two squares, one right."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from gnomon.lab.screen import Box, Colour, Picture, Widget
from gnomon.lab.tasks.base import FIXATION, MONITOR_CENTRE, Gaze, Outcome, Plan, Task
from gnomon.lab.tasks.checks import check_intervals

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
    intervals_setting: ClassVar[str] = "durations"
    sample_bounds: ClassVar[tuple[str, str] | None] = (FIXATION, "choice")

    def __post_init__(self) -> None:
        check_intervals("durations", self.durations, length=2)
        if len(self.target_colours) != 2:
            raise ValueError(f"target_colours is {self.target_colours}; this task needs exactly two colours")
        if not self.target_distance > 0:
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

    @abstractmethod
    def squares(self, trials: "Trials") -> tuple[Tensor, Tensor]:
        """The boxes of the right and of the wrong square, each int [lanes]."""

    def respond(self, trials: "Trials", looking: Gaze, pressing: Gaze | None, fired: Tensor) -> Tensor:
        right, wrong = self.squares(trials)
        choosing = trials.running & (trials.event("choice") <= trials.now)
        outcome = torch.where(looking.inside_each(wrong), Outcome.WRONG, Outcome.NONE)
        return torch.where(looking.inside_each(right), Outcome.CORRECT, outcome) * choosing

    def plan(self, trials: "Trials", production: Tensor, says_long: Tensor) -> Plan:
        """Rest until the two squares have been seen, then go to the one that stands for the answer."""
        right, wrong = self.squares(trials)
        box = torch.where(says_long == self.is_long(trials), right, wrong).long()
        return Plan(box, depart=trials.event("choice") + 1)

    def rival_boxes(self) -> Mapping[int, int]:
        """Behind the cross, boxes come in pairs: one right, one wrong."""
        firsts = range(1, len(self.boxes()), 2)
        return {box: rival for first in firsts for box, rival in ((first, first + 1), (first + 1, first))}
