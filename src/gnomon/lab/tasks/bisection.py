"""Temporal bisection: was the patch shown for long? Then look at its colour; if for short, at the other."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from gnomon.lab.screen import Box, Picture, Widget
from gnomon.lab.tasks.base import Draws, chance, choose, register
from gnomon.lab.tasks.checks import at_least
from gnomon.lab.tasks.choice import ChoiceTask

if TYPE_CHECKING:
    from gnomon.lab.trials import Trials

STIMULUS, CHOICE = 2, 4  # first pictures: the patch in either colour, then every choice


@register
@dataclass(frozen=True, kw_only=True)
class Bisection(ChoiceTask):
    """Look at the cross; a patch is shown for long or for short; two appear at the ends of a random axis.

    After a long patch look at the one of the same colour, after a short one at the other.
    """

    durations: tuple[int, int] = (100, 400)
    """The short and the long duration, in frames, equally likely."""
    axes: int = 12
    """Number of axes; axis k lies at k pi / axes from the x axis."""

    name: ClassVar[str] = "bisection"
    events: ClassVar[tuple[str, ...]] = ("choice",)
    conditions: ClassVar[Mapping[str, type]] = {
        "sample_interval": int,
        "long_colour": int,
        "axis": int,
        "correct_end": int,
    }

    def __post_init__(self) -> None:
        at_least(self, 1, "axes")
        super().__post_init__()

    def pictures(self) -> Sequence[Picture]:
        pictures: list[Picture] = [
            (),
            (self.cross(),),
            *(self.stimulus(colour) for colour in self.target_colours),
        ]
        ends = self.boxes()[1:]
        for axis in range(self.axes):
            for correct_end in range(2):
                for colour in range(2):
                    right, wrong = ends[2 * axis + correct_end], ends[2 * axis + 1 - correct_end]
                    correct = Widget("target_correct", right, self.target_colours[colour])
                    incorrect = Widget("target_incorrect", wrong, self.target_colours[1 - colour])
                    pictures.append((correct, incorrect))
        return pictures

    def boxes(self) -> Sequence[Box]:
        angles = [axis * math.pi / self.axes for axis in range(self.axes)]
        return [self.cross_centre(), *(self.end(turn + angle) for angle in angles for turn in (0.0, math.pi))]

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        return {
            "sample_interval": choose(self.durations, count, generator),
            "long_colour": chance(0.5, count, generator),
            "axis": choose(tuple(range(self.axes)), count, generator),
            "correct_end": chance(0.5, count, generator),
        }

    def begin(self, trials: "Trials", lanes: Tensor, drawn: Draws) -> None:
        trials.picture[lanes] = STIMULUS + drawn["long_colour"].int()
        trials.schedule(lanes, {"choice": drawn["sample_interval"]})

    def change(self, trials: "Trials", fired: Tensor) -> None:
        short = (trials.condition("sample_interval") == self.durations[0]).int()
        colour = trials.condition("long_colour") ^ short
        end = 2 * trials.condition("axis") + trials.condition("correct_end")
        trials.picture = torch.where(fired[0], CHOICE + 2 * end + colour, trials.picture)

    def squares(self, trials: "Trials") -> tuple[Tensor, Tensor]:
        first, end = 1 + 2 * trials.condition("axis"), trials.condition("correct_end")
        return first + end, first + 1 - end
