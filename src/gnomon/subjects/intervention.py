"""Interventions: what is done to a subject from outside, in the middle of a trial.

An intervention is a value. It says what is changed, how, and when:

    Intervention(what="gaze", how="swap", event="set")  # at Set, look where another trial looked at its Set
    Intervention(what="state", how="clamp", event="set", after=5, frames=20)  # the memory stands still for 20 frames
    Intervention(what="state", how="lesion", event="ready", frames=None, units=(3, 17))  # two units held at their mean

It happens between two frames of the one loop in which every subject acts. At `after=0` the event is on the monitor
already, and the subject has not seen it yet.
"""

from dataclasses import dataclass
from typing import Literal

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks.base import FIXATION

What = Literal["gaze", "state", "picture"]
How = Literal["clamp", "displace", "swap", "reset", "lesion", "noise"]

WAYS: dict[str, tuple[str, ...]] = {
    "gaze": ("clamp", "displace", "swap", "noise"),
    "state": ("clamp", "swap", "reset", "lesion", "noise"),
    "picture": ("clamp", "reset"),
}
"""What can be changed, and how."""

MEANINGS = {
    "clamp": "held as it was at the event",
    "displace": "moved by a number of lattice steps, once",
    "swap": "replaced by what it was in another trial at the same event",
    "reset": "the state: the initial one again; the picture: the monitor looks blank",
    "lesion": "units held at their mean",
    "noise": "the state: Gaussian noise, in s.d. of each unit; the gaze: a random step, with a probability",
}


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """One thing that is done to a subject, in some of its trials.

    Description: `WAYS` lists what goes with what, `MEANINGS` says what each way does.
    """

    what: What
    """gaze; state (the controller's memory); picture (what the monitor seems to show; the task goes on as it is)."""
    how: How
    """clamp, displace, swap, reset, lesion or noise."""
    event: str = "set"
    """An event of the task, or fixation."""
    after: int = 0
    """Frames from the event to the beginning."""
    frames: int | None = 1
    """For how many frames; None: until the trial ends. What happens once (displace, swap) takes one."""
    trials: float = 1.0
    """Share of the trials in which it happens."""
    right: int = 0
    """Lattice steps to the right, of a displacement."""
    up: int = 0
    """Lattice steps upwards, of a displacement."""
    size: float = 0.0
    """Of noise, on every frame: s.d. relative to each unit's own, or the probability of a step of the gaze."""
    units: tuple[int, ...] | None = None
    """Numbers of the units that are changed; None: all of them. For the state only."""

    def __post_init__(self) -> None:
        if self.what not in WAYS:
            raise ValueError(f"unknown target {self.what!r} of an intervention; choose {', '.join(WAYS)}")
        if self.how not in WAYS[self.what]:
            ways = ", ".join(WAYS[self.what])
            raise ValueError(f"the {self.what} cannot be changed by {self.how!r}; choose {ways}")
        if self.after < 0:
            raise ValueError(f"after is {self.after}; an intervention begins at least 0 frames after its event")
        if self.frames is not None and self.frames < 1:
            raise ValueError(f"frames is {self.frames}; it must be at least 1, or None for the rest of the trial")
        if self.how in ("displace", "swap") and self.frames != 1:
            raise ValueError(f"frames is {self.frames}; {self.how} happens once, on a single frame")
        if not 0 <= self.trials <= 1:
            raise ValueError(f"trials is {self.trials}; a share lies between 0 and 1")
        self._check_amounts()

    def _check_amounts(self) -> None:
        """Amounts go with the way that they are for."""
        displaced = bool(self.right or self.up)
        if displaced != (self.how == "displace"):
            right = "give right or up, in lattice steps" if not displaced else "only displace has right and up"
            raise ValueError(f"{self.how} by {self.right} steps right and {self.up} up; {right}")
        if (self.size != 0) != (self.how == "noise") or self.size < 0:
            right = "it must be above 0 for noise, and is for noise only"
            raise ValueError(f"size is {self.size} with {self.how}; {right}")
        if self.what == "gaze" and self.size > 1:
            raise ValueError(f"size is {self.size}; of noise on the gaze it is a probability, at most 1")
        if self.units is not None and self.what != "state":
            raise ValueError(f"units are given for the {self.what}; only the state has units")
        if self.units is not None and (len(set(self.units)) < len(self.units) or min(self.units, default=0) < 0):
            raise ValueError(f"units is {self.units}; number each unit once, from 0")

    @property
    def dose(self) -> float:
        """How much of it there is: frames of a clamp, size of noise, units of a lesion; 1 for what has no amount."""
        if self.how == "clamp":
            return float("inf") if self.frames is None else float(self.frames)
        if self.how == "noise":
            return self.size
        if self.how == "lesion":
            return float("nan") if self.units is None else float(len(self.units))
        return 1.0

    def check(self, laboratory: Laboratory, units: int) -> None:
        """Raise if it cannot be done in this laboratory, to a subject with this number of units."""
        events = (FIXATION, *laboratory.task.events)
        if self.event not in events:
            raise ValueError(f"the task {laboratory.task.name} has no event {self.event!r}; choose {', '.join(events)}")
        side = laboratory.lattice.side
        if max(abs(self.right), abs(self.up)) >= side:
            raise ValueError(
                f"a displacement by {self.right} steps right and {self.up} up leaves the lattice from everywhere; "
                f"it has {side} x {side} gazes, so give at most {side - 1}"
            )
        if self.what == "state" and not units:
            raise ValueError("this subject has no state to change: its controller has no memory; change the gaze")
        if self.units and max(self.units) >= units:
            raise ValueError(f"unit {max(self.units)} is to be changed; this subject has units 0 to {units - 1}")
