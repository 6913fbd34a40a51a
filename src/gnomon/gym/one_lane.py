"""One lane in plain numbers, for the single environment.

On most frames nothing happens: no timer runs out, and the gaze is in no box that counts. Such a frame moves the gaze or
the button, and a few counters, which needs no tensors. All others are the laboratory's, so that the rules are written
once.
"""

import torch

from gnomon.gym.lanes import Lanes
from gnomon.lab.laboratory import CLICK
from gnomon.lab.tasks.base import CROSS


class OneLane:
    """Runs a laboratory of one lane; its tensors are those that `Laboratory.step` would have left, frame by frame.

    (All but `Trials.production`, which tasks work out anew on each frame on which it matters.)
    """

    def __init__(self, laboratory: Lanes) -> None:
        self.laboratory = laboratory
        task = laboratory.task
        inside = laboratory.inside_boxes
        self._gazes = laboratory.lattice.count
        self._next_gaze: list[int] = laboratory.next_gaze.tolist()
        self._on_monitor: list[bool] = laboratory.lattice.on_monitor.tolist()
        self._on_cross: list[bool] = inside[0].tolist()
        # Gazes that count while a trial runs; all of them, where a trial may end for other reasons.
        self._in_targets: list[bool] = inside[1:].any(0).tolist() if task.box_driven else [True] * self._gazes
        self._nowhere = [False] * self._gazes
        self._click = CLICK if task.clicks else -1
        self._off_limit = task.frames_off_monitor or 2**62
        self.load()

    def load(self) -> None:
        """Read where the laboratory is, after it has changed in any other way than by `step`."""
        laboratory, trials = self.laboratory, self.laboratory.trials
        self._trials, self._gaze_tensor = trials, laboratory.gaze
        # Arrays [1] that share the tensors' memory: writing to them is much faster.
        self._gaze_at, self._button_at = laboratory.gaze.numpy(), laboratory.button.numpy()
        self._away_at, self._off_at, self._hover_at = trials.away.numpy(), trials.off.numpy(), trials.hover.numpy()
        self._gaze, self._away, self._off = int(laboratory.gaze), int(trials.away), int(trials.off)
        self._first_id = int(laboratory.observation) - self._gaze
        if bool(trials.running):
            self._counts = self._in_targets
        else:
            self._counts = self._on_cross if int(trials.picture) == CROSS else self._nowhere
        last = int(trials.episode_start) + self.laboratory.task.episode_frames - 1
        self._until = min([last, *(frame for frame in trials.due[:, 0].tolist() if frame > trials.now)])

    @property
    def observation(self) -> int:
        """What the lane sees, as an observation id."""
        return self._first_id + self._gaze

    def step(self, action: int) -> tuple[int, float, bool, bool] | None:
        """Act once: final observation, reward, episode end, timed out. None: nothing happened but the move."""
        if self.laboratory.gaze is not self._gaze_tensor or self.laboratory.trials is not self._trials:
            self.load()
        gaze = self._next_gaze[action * self._gazes + self._gaze]
        now = self._trials.now + 1
        off = 0 if self._on_monitor[gaze] else self._off + 1
        click, on_cross = action == self._click, self._on_cross[gaze]
        if self._counts[gaze] or now >= self._until or off > self._off_limit or (click and on_cross):
            return self._busy(action)
        self._trials.now = now
        self._gaze, self._off = gaze, off
        self._away = 1 if on_cross else self._away + 1
        self._gaze_at[0], self._off_at[0], self._away_at[0] = gaze, off, self._away
        self._hover_at[0], self._button_at[0] = 0, click
        return None

    def _busy(self, action: int) -> tuple[int, float, bool, bool]:
        frame = self.laboratory.step(torch.tensor([action]))
        self.load()
        end, timed_out = bool(frame.episode_end), bool(frame.timed_out)
        return int(frame.final_observation), float(frame.reward), end, timed_out

    def __getstate__(self) -> Lanes:
        return self.laboratory

    def __setstate__(self, laboratory: Lanes) -> None:
        self.__init__(laboratory)
