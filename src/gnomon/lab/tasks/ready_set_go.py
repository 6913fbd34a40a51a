"""Ready-Set-Go (interval reproduction): look at Go as long after Set as Set came after Ready."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from gnomon.lab.restraint import Restraint
from gnomon.lab.screen import Box, Colour, Picture, Widget
from gnomon.lab.tasks.base import (
    CROSS_CENTRE,
    RESPONSE,
    Draws,
    Gaze,
    Outcome,
    Plan,
    Task,
    chance,
    choose,
    constant,
    promote,
    register,
)
from gnomon.lab.tasks.checks import LONGEST, at_least, check_factors, check_intervals, check_probability, check_timeout

if TYPE_CHECKING:
    from gnomon.lab.trials import Trials

GO = 1  # its box

# A picture's number is the sum of what is on: bit 1 the cross, 2 Go, 4 Ready, 8 Set.
CROSS_ON, GO_ON, READY_ON, SET_ON = 1, 2, 4, 8


@register
@dataclass(frozen=True, kw_only=True)
class ReadySetGo(Task):
    """Look at the cross; Go appears; Ready flashes, then Set; look at Go when as much time has passed again.

    A response before Set ends the trial. The reward is given if |t_p - t_s| < gamma (alpha + beta t_s), where
    gamma tightens with success at that interval and starts anew each episode.
    """

    intervals: tuple[int, ...] = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    """Sample intervals t_s, in frames, drawn uniformly."""
    probe_intervals: tuple[int, ...] = ()
    """Intervals of probe trials, in frames: judged at gamma 1, outside the curriculum."""
    probe_probability: float = 0.0
    """Share of probe trials."""
    reward_probes: bool = False
    """Whether correct probes are rewarded, as in the public script."""
    foreperiods: tuple[int, ...] = (30,)
    """Frames from fixation to Ready, drawn uniformly."""
    flash: int = 10
    """Frames for which Ready and Set are shown."""
    base_tolerance: float = 8.0
    """alpha, in frames."""
    tolerance_scaling: float = 0.0
    """beta, frames per frame of t_s."""
    tolerance_factors: tuple[float, ...] = (2.5, 1.5, 1.0)
    """gamma, step by step."""
    rewards_to_promote: int = 2
    """Rewards at one interval that bring its next gamma."""
    timeout_factor: float = 5.0
    """A trial ends this many times the longest interval (probes included) after fixation."""
    hold_probability: float = 0.0
    """Share of trials in which the gaze must stay on the cross until Set."""
    hold_frames: int = 10
    """Frames in a row off the cross that such a trial forgives."""
    restrained: bool = False
    """Such a trial holds the gaze on the cross instead; after Set a move towards Go takes it there at once."""
    ready_colour: Colour = (255, 10, 10)
    """Colour of Ready, the left square."""
    set_colour: Colour = (255, 255, 10)
    """Colour of Set, the middle square."""
    go_colour: Colour = (10, 200, 10)
    """Colour of Go, the right square."""

    name: ClassVar[str] = "ready_set_go"
    events: ClassVar[tuple[str, ...]] = ("ready", "ready_off", "set", "set_off", "timeout")
    conditions: ClassVar[Mapping[str, type]] = {
        "foreperiod": int,
        "sample_interval": int,
        "probe": bool,
        "fixation_hold": bool,
    }
    sample_bounds: ClassVar[tuple[str, str] | None] = ("ready", "set")
    production_bounds: ClassVar[tuple[str, str] | None] = ("set", RESPONSE)

    def __post_init__(self) -> None:
        check_intervals("intervals", self.intervals)
        if self.probe_intervals or self.probe_probability:
            check_intervals("probe_intervals", self.probe_intervals)
        check_probability(self, "probe_probability", "hold_probability")
        if not self.foreperiods or any(
            type(frames) is not int or not 0 <= frames <= LONGEST for frames in self.foreperiods
        ):
            raise ValueError(f"foreperiods is {self.foreperiods}; give at least one, in whole frames, none below 0")
        at_least(self, 1, "flash", "rewards_to_promote")
        at_least(self, 0, "hold_frames")
        check_factors("tolerance_factors", self.tolerance_factors)
        for interval in (*self.intervals, *self.probe_intervals):
            if not 0 < self.base_tolerance + self.tolerance_scaling * interval < math.inf:
                raise ValueError(
                    f"base_tolerance {self.base_tolerance} and tolerance_scaling {self.tolerance_scaling} leave "
                    f"no tolerance at {interval} frames; alpha + beta t_s must be above 0"
                )
        check_timeout(self.timeout_factor, max(*self.intervals, *self.probe_intervals, 1))
        super().__post_init__()

    @classmethod
    def named_settings(cls) -> dict[str, Task]:
        return {"paper": PAPER, "psychlab": PSYCHLAB}

    @property
    def box_driven(self) -> bool:
        return not self.hold_probability

    @property
    def levels(self) -> int:
        return len(self.intervals)

    @property
    def timeout(self) -> int:
        """Frames from fixation to the end of a trial without response."""
        return max(1, -int(-self.timeout_factor * max(*self.intervals, *self.probe_intervals, 0) // 1))

    def squares(self) -> tuple[Widget, Widget, Widget]:
        size, (x, y) = self.target_size, self.centre
        names = ("ready", "set", "go")
        colours = (self.ready_colour, self.set_colour, self.go_colour)
        lefts = (x - 1.5 * size, x - 0.5 * size, x + 0.5 * size)
        ready, set_, go = (
            Widget(name, Box(left, y - size * 3, size, size), colour)
            for name, left, colour in zip(names, lefts, colours, strict=True)
        )
        return ready, set_, go

    def pictures(self) -> Sequence[Picture]:
        ready, set_, go = self.squares()
        shown = {CROSS_ON: self.cross(), GO_ON: go, READY_ON: ready, SET_ON: set_}
        return [tuple(widget for bit, widget in shown.items() if number & bit) for number in range(16)]

    def boxes(self) -> Sequence[Box]:
        return [self.cross_centre(), self.squares()[2].box]

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        probe = chance(self.probe_probability, count, generator)
        interval = choose(self.intervals, count, generator)
        if self.probe_probability:
            interval = torch.where(probe.bool(), choose(self.probe_intervals, count, generator), interval)
        return {
            "foreperiod": choose(self.foreperiods, count, generator),
            "sample_interval": interval,
            "probe": probe,
            "fixation_hold": chance(self.hold_probability, count, generator),
        }

    def begin(self, trials: "Trials", lanes: Tensor, drawn: Draws) -> None:
        trials.picture[lanes] = CROSS_ON + GO_ON
        ready = drawn["foreperiod"].clamp(min=1)
        set_ = ready + drawn["sample_interval"]
        timeout = torch.full_like(ready, self.timeout)
        after = {
            "ready": ready,
            "ready_off": ready + self.flash,
            "set": set_,
            "set_off": set_ + self.flash,
            "timeout": timeout,
        }
        trials.schedule(lanes, after)
        trials.tolerance[lanes] = self._tolerance(trials, lanes, drawn)

    def _tolerance(self, trials: "Trials", lanes: Tensor, drawn: Draws) -> Tensor:
        """gamma (alpha + beta t_s) of trials that begin, in double precision as the script: float64 [n]."""
        interval = drawn["sample_interval"]
        gamma = constant(self.tolerance_factors, torch.float64, trials.device)
        gamma = gamma[trials.level[self._curriculum(interval), lanes]]
        gamma = torch.where(drawn["probe"].bool(), 1.0, gamma)
        return gamma * (self.base_tolerance + self.tolerance_scaling * interval.double())

    def _curriculum(self, interval: Tensor) -> Tensor:
        """Which curriculum an interval belongs to (for a probe: any): int [n]."""
        trained = constant(self.intervals, torch.int32, interval.device)
        return torch.searchsorted(trained, interval).clamp_(max=len(self.intervals) - 1)

    def change(self, trials: "Trials", fired: Tensor) -> None:
        # Each event comes once in a trial, so that adding and taking away bits is all there is to do.
        bits = constant(((READY_ON,), (-READY_ON,), (SET_ON,), (-SET_ON - CROSS_ON,), (0,)), torch.int32, trials.device)
        trials.picture += (fired * bits).sum(0, dtype=torch.int32)

    def respond(self, trials: "Trials", looking: Gaze, pressing: Gaze | None, fired: Tensor) -> Tensor:
        entered = looking.inside(GO) & trials.running
        trials.production = trials.now - trials.event("set")  # negative before Set
        error = (trials.production - trials.condition("sample_interval")).abs()
        outcome = torch.where(error < trials.tolerance, Outcome.CORRECT, Outcome.WRONG)
        outcome = torch.where(trials.production < 0, Outcome.EARLY, outcome) * entered
        if self.hold_probability and not self.restrained:
            required = self._must_hold(trials) & (trials.production < 0)
            broken = required & ~looking.inside(CROSS_CENTRE) & (trials.away > self.hold_frames)
            outcome = torch.where((outcome == 0) & broken, Outcome.ABORTED, outcome)
        return torch.where(fired[-1], Outcome.TIMEOUT, outcome)

    def restraint(self, trials: "Trials") -> Restraint | None:
        if not (self.hold_probability and self.restrained):
            return None
        held = self._must_hold(trials)
        return Restraint(held, may_jump=held & (trials.event("set") <= trials.now), box=GO)

    def _must_hold(self, trials: "Trials") -> Tensor:
        """Lanes whose trial wants the gaze on the cross: bool [lanes]."""
        return trials.condition("fixation_hold").bool() & trials.running

    def finish(self, trials: "Trials", lanes: Tensor, outcome: Tensor) -> None:
        success = (outcome == Outcome.CORRECT) * (1 - trials.condition("probe")[lanes])
        interval = self._curriculum(trials.condition("sample_interval")[lanes])
        promote(trials, lanes, interval, success, steps=len(self.tolerance_factors), every=self.rewards_to_promote)

    def rewardable(self, trials: "Trials", lanes: Tensor) -> Tensor:
        return (trials.condition("probe")[lanes] == 0) | self.reward_probes

    def plan(self, trials: "Trials", production: Tensor, says_long: Tensor) -> Plan:
        """Enter Go that long after Set; where fixation must be held, rest on the cross until then."""
        set_, held = trials.event("set"), trials.condition("fixation_hold").bool()
        arrive = set_ + production
        depart = arrive if self.restrained else set_ - self.hold_frames
        return Plan(GO, arrive=arrive, depart=torch.where(held, depart, 0))


PAPER = ReadySetGo()
"""The paper's task: intervals of 10 to 100 frames, a short foreperiod, no probes in training."""

PSYCHLAB = ReadySetGo(
    intervals=(200, 300),
    probe_intervals=(25, 375),
    probe_probability=0.08,
    reward_probes=True,
    foreperiods=(110,),
)
"""The public script's defaults."""
