"""One trial of a subject, frame by frame: what the monitor showed, where the gaze was, what was decided."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.lab.screen import Picture
from gnomon.lab.tasks.base import FIXATION, FRAMES_PER_SECOND, RESPONSE, Task

NO_ACTION = -1


@dataclass(frozen=True)
class TrialFilm:
    """What happened in one trial, frame by frame, from shortly before it to shortly after."""

    task: Task
    subject: str
    row: dict[str, Any]  # of the trial table
    frames: np.ndarray  # int [frames], counted from fixation: 0 is the frame that began the trial
    pictures: tuple[Picture, ...]  # [frames] what the monitor showed
    gaze: np.ndarray  # float64 [frames, 2] where the gaze fell, in monitor units, also beyond the edges
    retina: np.ndarray  # uint8 [frames, height, width, 3]
    clicks: np.ndarray  # bool [frames] whether the button was down
    actions: np.ndarray  # int [frames] what was then decided; NO_ACTION on the last frame
    values: np.ndarray | None  # float [frames] an agent's value, NaN on the last frame; scripted subjects have none

    @property
    def end(self) -> int:
        """The frame on which the trial ended, counted from fixation."""
        return self.row["end_frame"] - self.row["start_frame"]

    @property
    def events(self) -> dict[str, int]:
        """Frames, counted from fixation, of the trial's moments, in order; ends of flashes are left out."""
        named = [name for name in self.task.events if name != "timeout" and not name.endswith("_off")]
        frames = {name: self.row[f"{name}_frame"] for name in named}
        happened = {name: at - self.row["start_frame"] for name, at in frames.items() if at is not None}
        return {FIXATION: 0, **happened, self.ending: self.end}

    @property
    def ending(self) -> str:
        """What ended the trial."""
        outcome: str = self.row["outcome"]
        return {"correct": RESPONSE, "wrong": RESPONSE, "early": "early response"}.get(outcome, outcome)

    @property
    def title(self) -> str:
        return f"{self.task.name.replace('_', ' ').title()}, {self.subject}"

    @property
    def caption(self) -> str:
        """What there is to say about the trial, in one line."""
        intervals = {"$t_s$": self.row["sample_interval"], "$t_p$": self.row["production_interval"]}
        parts = [
            f"{symbol} = {frames} frames ({frames / FRAMES_PER_SECOND:.2f} s)"
            for symbol, frames in intervals.items()
            if frames is not None
        ]
        outcome = self.row["outcome"].replace("_", " ")
        return "    ".join([*parts, f"{outcome}, reward {self.row['reward']:g}"])
