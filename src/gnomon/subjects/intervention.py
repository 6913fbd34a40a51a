"""Interventions: what is done to a subject from outside, in the middle of a trial.

An intervention is a value. It says what is changed, how, and when:

    Intervention(what="gaze", how="swap", event="set")  # at Set, look where another trial looked at its Set
    Intervention(what="state", how="clamp", event="set", after=5, frames=20)  # the memory stands still for 20 frames
    Intervention(what="state", how="lesion", event="ready", frames=None, units=(3, 17))  # two units held at their mean
    Intervention(what="picture", how="hide", widget="go", frames=None)  # from Set on, Go is there but not seen

It happens between two frames of the one loop in which every subject acts. At `after=0` the event is on the monitor
already, and the subject has not seen it yet.
"""

from dataclasses import dataclass
from typing import Literal

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.room import Look
from gnomon.lab.tasks.base import FIXATION

What = Literal["gaze", "state", "units", "picture", "room"]
How = Literal["clamp", "displace", "swap", "reset", "lesion", "noise", "hide", "mirror"]

WAYS: dict[str, tuple[str, ...]] = {
    "gaze": ("clamp", "displace", "swap", "noise"),
    "state": ("clamp", "swap", "reset", "lesion", "noise"),
    "units": ("lesion", "noise"),
    "picture": ("clamp", "reset", "hide"),
    "room": ("reset", "mirror"),
}
"""What can be changed, and how."""


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """One thing that is done to a subject, in some of its trials. `WAYS` lists what goes with what.

    clamp: held as it was at the event. displace: moved by lattice steps, once. swap: replaced by what it was in another
    trial at the same event. lesion: units held at their mean. noise: on every frame, Gaussian (state, units) or a step
    in a random direction (gaze). reset: the initial state; a monitor that looks blank; a room without its texture.
    hide: one thing on the monitor is not seen. mirror: left and right of the room's wall are exchanged.
    """

    what: What
    """gaze; state (the controller's memory); units (of a controller without one); picture or room (how they look)."""
    how: How
    """clamp, displace, swap, reset, lesion, noise, hide or mirror."""
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
    """Numbers of the units that are changed; None: all of them. For state and units only."""
    widget: str = ""
    """What is hidden on the monitor, by its name: fixation, go, ..."""

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
        if self.units is not None and self.what not in ("state", "units"):
            raise ValueError(f"units are given for the {self.what}; only the state has units")
        if self.units is not None and (len(set(self.units)) < len(self.units) or min(self.units, default=0) < 0):
            raise ValueError(f"units is {self.units}; number each unit once, from 0")
        if bool(self.widget) != (self.how == "hide"):
            right = "only hide has a widget" if self.widget else "name what is to be hidden"
            raise ValueError(f"widget is {self.widget!r} with {self.how}; {right}")

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

    @property
    def look(self) -> Look | None:
        """How room and monitor look meanwhile, if it is about that."""
        if self.how == "hide":
            return Look(without=(self.widget,))
        return Look(wall={"reset": "plain", "mirror": "mirrored"}[self.how]) if self.what == "room" else None

    def check(self, laboratory: Laboratory, *, state: int, units: int) -> None:
        """Raise if it cannot be done in this laboratory, to a subject with these numbers of units.

        state: of its memory; units: of a controller without one.
        """
        events = (FIXATION, *laboratory.task.events)
        if self.event not in events:
            raise ValueError(f"the task {laboratory.task.name} has no event {self.event!r}; choose {', '.join(events)}")
        side = laboratory.lattice.side
        if max(abs(self.right), abs(self.up)) >= side:
            raise ValueError(
                f"a displacement by {self.right} steps right and {self.up} up leaves the lattice from everywhere; "
                f"it has {side} x {side} gazes, so give at most {side - 1}"
            )
        if self.what == "state" and not state:
            raise ValueError("this subject has no state to change: its controller has no memory; change gaze or units")
        if self.what == "units" and not units:
            raise ValueError("this subject has no units but those of its state; change the state")
        if self.units and max(self.units) >= (state or units):
            raise ValueError(f"unit {max(self.units)} is to be changed; this subject has 0 to {(state or units) - 1}")
        shown = sorted({widget.name for picture in laboratory.task.pictures() for widget in picture})
        if self.widget and self.widget not in shown:
            raise ValueError(
                f"{laboratory.task.name} never shows {self.widget!r} on its monitor; choose {', '.join(shown)}"
            )
