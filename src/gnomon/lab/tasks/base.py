"""What every task shares: its settings, and the few questions the laboratory asks it.

A task is a frozen dataclass of settings plus a few methods. It never sees pixels, actions or angles: it is
told where the gaze falls and answers what is on the monitor and how trials end. All its methods work on many
lanes at once.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

from gnomon.lab.restraint import Restraint
from gnomon.lab.screen import Box, Colour, Picture, Widget, check_colour, check_picture
from gnomon.lab.tasks.checks import LARGEST, at_least

if TYPE_CHECKING:
    from gnomon.lab.trials import Trials

FRAMES_PER_SECOND = 60
MONITOR_CENTRE = (0.5, 0.5)  # monitor units; the cross is always here

# Every task's first two pictures and its first box.
BLANK, CROSS = 0, 1
CROSS_CENTRE = 0


class Outcome(IntEnum):
    """How a trial ended; 0 means that it has not."""

    NONE = 0
    CORRECT = 1
    WRONG = 2
    EARLY = 3
    TIMEOUT = 4
    ABORTED = 5
    CUT_OFF = 6


def answered(outcome: Tensor) -> Tensor:
    """Whether trials with these outcomes had a response that counts: bool [n]."""
    return (outcome == Outcome.CORRECT) | (outcome == Outcome.WRONG)


class Gaze(Protocol):
    """Where each lane looks on this frame, and which of the task's boxes that is in."""

    @property
    def on_monitor(self) -> Tensor:
        """Whether each lane looks at the monitor at all: bool [lanes]."""
        ...

    def inside(self, box: int) -> Tensor:
        """Whether each lane looks into this one box: bool [lanes]."""
        ...

    def inside_each(self, boxes: Tensor) -> Tensor:
        """Whether each lane looks into its own box, of int [lanes]: bool [lanes]."""
        ...


Draws = Mapping[str, Tensor]  # condition name -> int [trials that begin]

# Names of a trial's first and last moment; the task's own events lie between them.
FIXATION, RESPONSE = "fixation", "response"


@dataclass(frozen=True)
class Plan:
    """Where a scripted subject's gaze shall be while a trial runs. Each is one number for all, or one a lane."""

    box: Tensor | int
    """The task's box to look into."""
    arrive: Tensor | int = 0
    """The frame on which the gaze shall enter it; the past means as soon as can be."""
    depart: Tensor | int = 0
    """The first frame on which the gaze may leave its resting place for that."""
    press: Tensor | bool = False
    """Whether to press the button on the coming frame, if the gaze is in the box."""


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Settings shared by all tasks. Durations are in frames (60 a second), sizes in monitor units."""

    pause: int = 60
    """Frames of blank monitor between two trials."""
    frames_to_fixate: int = 1
    """Frames in a row on the centre of the cross that begin a trial."""
    trials_per_episode: int = 50
    """An episode ends after this many trials."""
    episode_seconds: float = 300.0
    """An episode ends after this many seconds."""
    frames_off_monitor: int = 300
    """An episode ends after more than this many frames in a row off the monitor; 0 for never."""
    fixation_reward: float = 0.0
    """Reward for beginning a trial."""
    correct_reward: float = 1.0
    """Reward for a correct response."""
    incorrect_reward: float = 0.0
    """Reward for a wrong response."""
    fixation_size: float = 0.1
    """Side of the cross; the gaze must enter its central half."""
    fixation_colour: Colour = (50, 50, 50)
    """Colour of the cross."""
    background: Colour = (0, 0, 0)
    """Colour of the empty monitor."""
    target_size: float = 0.1
    """Side of every square."""
    centre: tuple[float, float] = MONITOR_CENTRE
    """The point around which the squares are laid out."""

    name: ClassVar[str]
    events: ClassVar[tuple[str, ...]]
    """Moments of a trial that have a frame number, scheduled ahead (timers) or stamped when they happen.

    `timeout` ends a trial without response; `X_off` is the end of what `X` began.
    """
    conditions: ClassVar[Mapping[str, type]]
    """What is drawn for each trial, int or bool; `sample_interval` is always among it."""
    intervals_setting: ClassVar[str] = "intervals"
    """The setting that lists the sample intervals."""
    sample_bounds: ClassVar[tuple[str, str] | None] = None
    """The two moments that the sample interval t_s lies between; none if it is not shown."""
    production_bounds: ClassVar[tuple[str, str] | None] = None
    """The two moments that the production interval t_p lies between; none if nothing is produced."""
    clicks: ClassVar[bool] = False
    """Whether the subject has a button."""

    def __post_init__(self) -> None:
        at_least(self, 0, "pause", "frames_off_monitor")
        at_least(self, 1, "frames_to_fixate", "trials_per_episode")
        if not 1 / FRAMES_PER_SECOND <= self.episode_seconds <= LARGEST / FRAMES_PER_SECOND:
            raise ValueError(f"episode_seconds is {self.episode_seconds}; an episode must last at least one frame")
        for name in ("fixation_reward", "correct_reward", "incorrect_reward"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} is {getattr(self, name)}; a reward must be a finite number")
        for name in ("fixation_size", "target_size"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be above 0 and at most 1, the monitor's side"
                )
        check_colour("the background", self.background)
        for picture in self.pictures():
            check_picture(picture)

    @classmethod
    def named_settings(cls) -> "dict[str, Task]":
        """The settings that ship by name; the first are the defaults."""
        return {"default": cls()}

    @property
    def episode_frames(self) -> int:
        return round(self.episode_seconds * FRAMES_PER_SECOND)

    @property
    def usual_intervals(self) -> tuple[int, ...]:
        """The intervals or durations that trials are drawn from, probes apart, in frames, ascending."""
        return getattr(self, self.intervals_setting)

    @property
    def produces(self) -> bool:
        """Whether the subject produces an interval; otherwise it makes a choice."""
        return self.production_bounds is not None

    @property
    def levels(self) -> int:
        """Number of separate curricula: one for each interval whose tolerance tightens with success."""
        return 0

    @property
    def box_driven(self) -> bool:
        """Whether a trial stays as it is on frames without a timer or a gaze in a box other than the cross's.

        A click elsewhere then does nothing. Such frames are not asked about one by one where there is a faster way; the
        default is always right.
        """
        return False

    def cross(self) -> Widget:
        return Widget("fixation", Box.around(*MONITOR_CENTRE, self.fixation_size), self.fixation_colour, "cross")

    def cross_centre(self) -> Box:
        return Box.around(*MONITOR_CENTRE, self.fixation_size / 2)

    @abstractmethod
    def pictures(self) -> Sequence[Picture]:
        """Everything the monitor can show; the first is blank, the second the cross alone."""

    @abstractmethod
    def boxes(self) -> Sequence[Box]:
        """Every box the gaze is ever tested against; the first is the centre of the cross."""

    @abstractmethod
    def draw(self, count: int, generator: torch.Generator) -> Draws:
        """The conditions of `count` new trials, each int [count]."""

    @abstractmethod
    def begin(self, trials: "Trials", lanes: Tensor, drawn: Draws) -> None:
        """The subject has fixated in these lanes (int [n]): show the first stimulus, schedule the rest."""

    @abstractmethod
    def change(self, trials: "Trials", fired: Tensor) -> None:
        """Timers have run out (bool [events, lanes]): change the pictures."""

    @abstractmethod
    def respond(self, trials: "Trials", looking: Gaze, pressing: Gaze | None, fired: Tensor) -> Tensor:
        """Outcomes (int [lanes], 0 = none), by where the gaze rests and where the button, if any, goes down.

        `fired` (bool [events, lanes]) tells which timers ran out on this frame. Timeouts precede responses.
        """

    def finish(self, trials: "Trials", lanes: Tensor, outcome: Tensor) -> None:  # noqa: B027 (most need nothing)
        """These trials have ended (int [n]): move curricula, lengthen pauses."""

    def rewardable(self, trials: "Trials", lanes: Tensor) -> Tensor:
        """Whether the trials of these lanes (int [n]) may earn a reward at all: bool [n]."""
        return torch.ones_like(lanes, dtype=torch.bool)

    def reward(self, trials: "Trials", lanes: Tensor, outcome: Tensor) -> Tensor:
        """The reward of trials that have just ended: float [n]."""
        values = [0.0] * len(Outcome)
        values[Outcome.CORRECT], values[Outcome.WRONG] = self.correct_reward, self.incorrect_reward
        return constant(tuple(values), torch.float32, outcome.device)[outcome] * self.rewardable(trials, lanes)

    def restraint(self, trials: "Trials") -> Restraint | None:
        """What is done to the gaze on the frame that comes; None: it goes where the subject moves it."""
        return None

    # For scripted subjects.

    def plan(self, trials: "Trials", production: Tensor, says_long: Tensor) -> Plan:
        """What a subject does on this frame that means to produce these intervals (frames, int [lanes]).

        Where the task asks for a choice, `says_long` (bool [lanes]) is the answer it means to give.
        """
        raise ValueError(f"the task {self.name!r} has no plan for scripted subjects; let the random one do it")

    def is_long(self, trials: "Trials") -> Tensor:
        """Whether each lane's interval is a long one: bool [lanes]."""
        return trials.condition("sample_interval") > (self.usual_intervals[0] + self.usual_intervals[-1]) / 2

    def rival_boxes(self) -> Mapping[int, int]:
        """Box -> the box that a gaze on its way there must not enter, because it stands for another answer."""
        return {}


TASKS: dict[str, type[Task]] = {}


TaskType = TypeVar("TaskType", bound=type[Task])


def register(task: TaskType) -> TaskType:
    """Class decorator: make a task known by its name, to the command line and to the conformance tests."""
    if task.name in TASKS:
        raise ValueError(f"a task named {task.name!r} is registered already")
    TASKS[task.name] = task
    return task


@lru_cache(maxsize=256)
def constant(values: tuple, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tuple of numbers as a tensor, made once per device."""
    return torch.tensor(values, dtype=dtype, device=device)


def choose(values: tuple[int, ...], count: int, generator: torch.Generator) -> Tensor:
    """`count` values drawn uniformly from a list: int [count]."""
    index = torch.randint(len(values), (count,), generator=generator, device=generator.device)
    return constant(values, torch.int32, generator.device)[index]


def chance(probability: float, count: int, generator: torch.Generator) -> Tensor:
    """`count` coins that fall on 1 with this probability: int [count]."""
    return (torch.rand(count, generator=generator, device=generator.device) < probability).int()


def promote(trials: "Trials", lanes: Tensor, interval: Tensor, success: Tensor, *, steps: int, every: int) -> None:
    """Tighten the tolerance of an interval by one step after every `every` successes at it.

    lanes, interval (index of the curriculum) and success are [n]; `steps` is the number of tolerance factors.
    """
    count = trials.successes[interval, lanes] + success
    promoted = count >= every
    trials.successes[interval, lanes] = torch.where(promoted, 0, count)
    trials.level[interval, lanes] = (trials.level[interval, lanes] + promoted.int()).clamp(max=steps - 1)


DrawConditions = Callable[[Tensor], Draws]
"""Lanes that begin a trial (int [n]) -> their conditions."""
