"""The single environment: one subject at one of the timing tasks, as a Gymnasium `Env`."""

import sys
import time
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import torch

from gnomon.gym.images import Images
from gnomon.gym.lanes import Lanes, Row, lane_seed, wanted_conditions
from gnomon.gym.one_lane import OneLane
from gnomon.gym.settings import check_render_mode, configure, whole_actions
from gnomon.lab.tasks.base import FRAMES_PER_SECOND
from gnomon.lab.view import View


class TimingEnv(gym.Env[np.ndarray, np.int64]):
    """One subject at one of the timing tasks.

    ## Description
    A subject looks at a monitor through a small retina and turns its gaze, one action a frame, 60 frames a
    second. Trials follow each other within an episode; `gnomon tasks` says what a trial of each task asks.

    ## Action space
    `Discrete(9)`: stay, or one step of the gaze in one of eight directions. In tasks with a button
    `Discrete(10)`: the last action is a click.

    ## Observation space
    The retina's image: `Box(0, 255, (height, width, 3), uint8)`. With `channels_first=True` its shape is
    (3, height, width); with `dtype="float32"` it goes from 0 to 1.

    ## Rewards
    What the task gives; by default 1 for a correct response.

    ## Termination and truncation
    Terminated after the task's number of trials, or after too long off the monitor. Truncated when the
    episode's time is up, or after `max_episode_steps`. The observation is then the last of the episode that ended.

    ## Info
    `info["trial"]` is there on frames on which a trial ended, or was cut off by the episode's end: its row of
    the trial table as a dict, without the columns that are null.

    ## Options
    `reset(options={"sample_interval": 70})` gives the episode's first trial this condition. Any condition of
    the task will do, and any number of them, as long as the task could draw such a trial.

    ## Rendering
    `rgb_array`: the whole monitor with the gaze marked, uint8 [400, 400, 3]. `ansi`: the same as
    coloured text. `human`: writes that text to the terminal on every frame, in real time.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self, task: str, *, render_mode: str | None = None, max_episode_steps: int | None = None, **settings: Any
    ) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        world, optics, images = configure(task, settings, max_episode_steps)
        self.laboratory = Lanes(world, optics)
        self.view = View(self.laboratory)
        self.observation_space = images.space(optics.retina)
        self.action_space = gym.spaces.Discrete(len(self.laboratory.actions))
        self._lane, self._images = OneLane(self.laboratory), Images(self.laboratory, images)
        self._seeded = False
        self._episode_over = False  # the laboratory is then already at the next episode's beginning
        self._seen = self._lane.observation  # an observation id

    def reset(self, *, seed: int | None = None, options: Row | None = None) -> tuple[np.ndarray, Row]:
        """Begin an episode: the first of the random stream that `seed` starts, or the present one's next.

        A trial that was under way, and that no seed swept away, is in `info["trial"]`, marked as cut off.
        """
        [wanted] = wanted_conditions(options, self.laboratory.task, lanes=1)
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self.laboratory.seed_lanes({0: lane_seed(self.np_random)})
            self._seeded = True
        elif not self._episode_over:
            self.laboratory.begin_episode(torch.zeros(1, dtype=torch.int64))
        if wanted:
            self.laboratory.want(0, wanted)
        self._episode_over = False
        self._lane.load()
        self._seen = self._lane.observation
        return self._observe(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Row]:
        """Act once and run one frame; the action may be a plain number, NumPy's or torch's."""
        actions = self.laboratory.actions
        quick = type(action) in (int, np.int64) and 0 <= action < len(actions)
        happened = self._lane.step(int(action if quick else whole_actions(action, actions, ())))
        if happened is None:
            self._seen = self._lane.observation
            return self._observe(), 0.0, False, False, {}
        self._seen, reward, self._episode_over, truncated = happened
        return self._observe(), reward, self._episode_over and not truncated, truncated, self._info()

    def _info(self) -> Row:
        """What there is to tell of a trial that has ended, or was cut off."""
        rows = self.laboratory.finished_trials()
        return {"trial": rows[0]} if rows else {}

    def _observe(self) -> np.ndarray:
        if self.render_mode == "human":
            self._write()
        return self._images.one(self._seen)

    def render(self) -> np.ndarray | str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.render_mode == "rgb_array":
            return self.view.image(self._seen)
        if self.render_mode == "ansi":
            return self.view.text(self._seen)
        return None  # a human has seen the frame already, when it was made

    def _write(self) -> None:
        # "\033[H" goes back to the upper left corner of the terminal, "\033[J" clears what follows.
        sys.stdout.write("\033[H" + self.view.text(self._seen) + "\033[J\n")
        sys.stdout.flush()
        time.sleep(1 / FRAMES_PER_SECOND)
