"""Temporal discrimination: a stimulus lasts long or short; one of two coloured squares stands for each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from gnomon.lab.screen import Box, Colour, Picture, Widget
from gnomon.lab.tasks.base import BLANK, Draws, chance, constant, register
from gnomon.lab.tasks.checks import LONGEST, at_least
from gnomon.lab.tasks.choice import ChoiceTask

if TYPE_CHECKING:
    from gnomon.lab.trials import Trials

STIMULUS, CHOICE = 2, 3  # first pictures
LEFT, RIGHT = 1, 2  # boxes


@register
@dataclass(frozen=True, kw_only=True)
class Discrimination(ChoiceTask):
    """Look at the cross; a stimulus lasts, or two flashes mark, a short or a long time; two squares appear.

    The first target colour stands for short, the second for long. With `random_sides` either may be left or
    right; without, short is left and long is right.
    """

    duration_spread: tuple[float, float] = (0.0, 0.0)
    """Standard deviation of each duration, in frames; durations are then drawn from a normal distribution."""
    random_sides: bool = True
    """Whether the correct square is left or right at random."""
    flash: int | None = None
    """Frames of each of two flashes that mark the interval's begin and end; none for one lasting stimulus.

    As in the script the second flash ends with the interval; if both do not fit in, one dark frame parts them."""
    stimulus_colour: Colour = (50, 50, 90)
    """Colour of the stimulus."""

    name: ClassVar[str] = "discrimination"
    events: ClassVar[tuple[str, ...]] = ("flash_off", "flash_on", "choice")
    conditions: ClassVar[Mapping[str, type]] = {"sample_interval": int, "long": bool, "correct_side": int}

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.duration_spread) != 2 or any(not 0 <= spread <= LONGEST for spread in self.duration_spread):
            raise ValueError(
                f"duration_spread is {self.duration_spread}; give two standard deviations, from 0 to {LONGEST:,} frames"
            )
        if self.flash is not None:
            at_least(self, 1, "flash")

    def pictures(self) -> Sequence[Picture]:
        choices: list[Picture] = []
        for side in (LEFT, RIGHT):
            for long in range(2):
                correct = Widget("target_correct", self.boxes()[side], self.target_colours[long])
                incorrect = Widget("target_incorrect", self.boxes()[3 - side], self.target_colours[1 - long])
                choices.append((correct, incorrect))
        return [(), (self.cross(),), self.stimulus(self.stimulus_colour), *choices]

    def boxes(self) -> Sequence[Box]:
        return [self.cross_centre(), self.end(math.pi), self.end(0.0)]

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        long = chance(0.5, count, generator)
        noise = torch.randn(count, generator=generator, device=generator.device)
        mean = constant(self.durations, torch.float32, generator.device)[long]
        spread = constant(self.duration_spread, torch.float32, generator.device)[long]
        side = chance(0.5, count, generator) if self.random_sides else long
        # A timer of a fraction of a frame rings on the next whole one.
        return {
            "sample_interval": (mean + spread * noise).ceil().clamp(min=1).int(),
            "long": long,
            "correct_side": side,
        }

    def begin(self, trials: "Trials", lanes: Tensor, drawn: Draws) -> None:
        trials.picture[lanes] = STIMULUS
        duration = drawn["sample_interval"]
        if self.flash is None:
            trials.schedule(lanes, {"choice": duration})
            return
        first = torch.full_like(duration, self.flash)
        second = first + (duration - 2 * self.flash).clamp(min=1)
        trials.schedule(lanes, {"flash_off": first, "flash_on": second, "choice": second + self.flash})

    def change(self, trials: "Trials", fired: Tensor) -> None:
        choice = CHOICE + 2 * trials.condition("correct_side") + trials.condition("long")
        picture = torch.where(fired[2], choice, trials.picture)
        if self.flash is not None:
            picture = torch.where(fired[0], BLANK, torch.where(fired[1], STIMULUS, picture))
        trials.picture = picture

    def squares(self, trials: "Trials") -> tuple[Tensor, Tensor]:
        side = trials.condition("correct_side")
        return LEFT + side, RIGHT - side

    def is_long(self, trials: "Trials") -> Tensor:
        return trials.condition("long").bool()  # durations with a spread may leave it open to doubt
