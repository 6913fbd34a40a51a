"""Lanes as separate as single environments: each with a random stream, a seed and a next trial of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.utils import seeding
from torch import Tensor

from gnomon.gym.rows import Row, trial_rows
from gnomon.lab.laboratory import STAY, Frame, Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import Task
from gnomon.lab.tasks.base import BLANK, CROSS, Draws
from gnomon.lab.trials import NEVER

CANDIDATES, TRIES = 1024, 64  # trials drawn at once, and how often, in search of one with the wanted conditions


class Lanes(Laboratory):
    """A laboratory in which a lane's course depends on nothing but its own seed, options and actions.

    So lane i of many is, frame by frame, the single lane with the same seed.
    """

    def __init__(self, task: Task, optics: OpticsConfig, lanes: int = 1) -> None:
        self._streams = [torch.Generator() for _ in range(lanes)]
        self._wanted: dict[int, Draws] = {}  # lane -> conditions of its next trial, each int [1]
        super().__init__(task, optics, lanes=lanes)

    def restart(self, seed: int) -> None:
        super().restart(seed)
        self.trials.draw = self._draw

    def seed_lanes(self, seeds: Mapping[int, int]) -> None:
        """Start lanes over, each at the beginning of its seed's stream; trials under way leave no row."""
        lanes = torch.tensor(list(seeds))
        for lane, seed in seeds.items():
            self._streams[lane].manual_seed(seed)
            self._wanted.pop(lane, None)
        self.trials.running[lanes] = False
        self.trials.episode[lanes] = -1  # the first is 0
        self.begin_episode(lanes)

    def begin_episode(self, lanes: Tensor) -> None:
        for lane in lanes.tolist():
            self._wanted.pop(lane, None)
        super().begin_episode(lanes)

    @property
    def next_gaze(self) -> Tensor:
        """Where each action leads from each gaze: int64 [actions * gazes], actions first."""
        return self._next_gaze

    @property
    def inside_boxes(self) -> Tensor:
        """Whether each gaze falls into each of the task's boxes: bool [boxes, gazes]."""
        return self._inside

    def want(self, lane: int, conditions: Mapping[str, int]) -> None:
        """Let this lane's next trial have these conditions; the others are drawn as they go with them.

        Trials are drawn until one fits, so that what comes is a trial the task could have drawn.
        """
        for _ in range(TRIES):
            drawn = self.task.draw(CANDIDATES, self._streams[lane])
            fits = torch.stack([drawn[name] == value for name, value in conditions.items()]).all(0).nonzero()
            if len(fits):
                self._wanted[lane] = {name: drawn[name][fits[0]] for name in self.task.conditions}
                return
        asked = " and ".join(f"{name} {value}" for name, value in conditions.items())
        drawn = self.task.draw(CANDIDATES, self._streams[lane])
        usual = "; ".join(f"{name}: {shortened(drawn[name].unique().tolist())}" for name in conditions)
        raise ValueError(f"{self.task.name} with these settings has no trial with {asked}; it draws {usual}")

    def _draw(self, lanes: Tensor) -> Draws:
        draws = [
            self._wanted.pop(lane) if lane in self._wanted else self.task.draw(1, self._streams[lane])
            for lane in lanes.tolist()
        ]
        return {name: torch.cat([drawn[name] for drawn in draws]) for name in self.task.conditions}

    def _place(self, lanes: Tensor) -> None:
        count = len(self._start_gazes)
        starts = [int(torch.randint(count, (1,), generator=self._streams[lane])) for lane in lanes.tolist()]
        self.gaze[lanes] = self._start_gazes[starts]

    def step_but(self, resting: Tensor, action: Tensor) -> Frame:
        """Run one frame in all lanes but these (int64 [n]), which are at an episode's beginning and stay there."""
        if not len(resting):
            return self.step(action)
        # Nothing can happen where the monitor is blank, no timer is set and the episode has not begun.
        self.trials.picture[resting] = BLANK
        self.trials.episode_start[resting] = NEVER
        frame = self.step(action.index_fill(0, resting, STAY))
        self.trials.picture[resting] = CROSS
        self.trials.episode_start[resting] = self.trials.now + 1
        for counter in (self.trials.away, self.trials.off, self.trials.hover):
            counter[resting] = 0
        frame.observation = self.observation
        frame.final_observation = frame.final_observation.index_copy(0, resting, frame.observation[resting])
        return frame

    def finished_trials(self) -> list[Row]:
        """The rows of the trials that ended since the last call, without what is null."""
        whole, real = self.trials.take_rows()
        if not whole.shape[1]:
            return []
        return trial_rows(self.task, whole, real, self.trials.row_columns())

    # A pickled laboratory goes on in the middle of an episode.

    def __getstate__(self) -> Row:
        return {
            "built": (self.task, self.optics.config, self.lanes),
            "state": self.state_dict(),
            "streams": [stream.get_state() for stream in self._streams],
            "wanted": self._wanted,
        }

    def __setstate__(self, state: Row) -> None:
        self.__init__(*state["built"])
        self.load_state_dict(state["state"])
        for stream, at in zip(self._streams, state["streams"], strict=True):
            stream.set_state(at)
        self._wanted = state["wanted"]


def shortened(values: list[int], most: int = 12) -> str:
    """The first of these values, as text."""
    return ", ".join(map(str, values[:most])) + (", ..." if len(values) > most else "")


def lane_seed(generator: np.random.Generator) -> int:
    """The seed of a lane's stream, from an environment's generator."""
    return int(generator.integers(2**63))


def seed_of(seed: int) -> int:
    """The seed of a lane's stream for an environment's seed, as `Env.reset(seed=seed)` has it."""
    return lane_seed(seeding.np_random(seed)[0])


def wanted_conditions(options: Mapping[str, Any] | None, task: Task, lanes: int) -> list[dict[str, int]]:
    """What `reset`'s options ask of each lane's next trial: one value for all lanes, or one for each."""
    wanted: list[dict[str, int]] = [{} for _ in range(lanes)]
    for name, given in (options or {}).items():
        if name not in task.conditions:
            raise ValueError(f"unknown option {name!r}; the conditions of a {task.name} trial are {task.conditions}")
        values: Sequence[Any] = np.asarray(given).tolist() if np.ndim(given) else [given] * lanes
        whole = all(isinstance(value, int | np.integer) for value in values)  # a truth value counts as 0 or 1
        if len(values) != lanes or not whole:
            raise ValueError(f"{name} is {given!r}; give one whole number, or one for each of {lanes} lanes")
        for conditions, value in zip(wanted, values, strict=True):
            conditions[name] = int(value)
    return wanted
