"""Gymnasium: the laboratory as an `Env` (a batch of one) and a `VectorEnv`, with an id for every task.

Importing this file registers the ids, so either import it first or name it in the id:

    gym.make("gnomon.lab.gym:gnomon/ReadySetGo-v0", intervals=(20, 40), retina=(24, 24))
    gym.make_vec("gnomon.lab.gym:gnomon/Bisection-v0", num_envs=64)

Keyword arguments are the settings of the task and of the optics, by their own names.
"""

import sys
import time
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PSYCHLAB, TASKS, ReadySetGo, Task
from gnomon.lab.tasks.base import FRAMES_PER_SECOND
from gnomon.lab.view import View
from gnomon.records.trials import trial_table

Row = dict[str, Any]


class PicklesLaboratory:
    """An environment that pickles in the middle of an episode, and goes on as if nothing had happened."""

    laboratory: Laboratory

    def __getstate__(self) -> Row:
        laboratory = self.laboratory
        made_of = (laboratory.task, laboratory.optics.config, laboratory.lanes, laboratory.state_dict())
        return {**self.__dict__, "laboratory": made_of}

    def __setstate__(self, state: Row) -> None:
        task, optics, lanes, at = state["laboratory"]
        laboratory = Laboratory(task, optics, lanes=lanes)
        laboratory.load_state_dict(at)
        self.__dict__.update(state, laboratory=laboratory)


class TimingEnv(PicklesLaboratory, gym.Env[np.ndarray, np.int64]):
    """One subject at one of the timing tasks.

    ## Description
    A subject looks at a monitor through a small retina and turns its gaze, one action a frame, 60 frames a
    second. Trials follow each other within an episode; `gnomon tasks` says what a trial of each task asks.

    ## Action space
    `Discrete(9)`: stay, or one step of the gaze in one of eight directions. In tasks with a button
    `Discrete(10)`: the last action is a click.

    ## Observation space
    `Box(0, 255, (height, width, 3), uint8)`: the retina's image.

    ## Rewards
    What the task gives; by default 1 for a correct response.

    ## Termination and truncation
    Terminated after the task's number of trials, or after too long off the monitor. Truncated when the
    episode's time is up. The observation is then the last of the episode that ended.

    ## Info
    `info["trial"]` is there on frames on which a trial ended, or was cut off by the episode's end: its row of
    the trial table as a dict, without the columns that are null.

    ## Rendering
    `rgb_array`: the whole monitor with the gaze marked, uint8 [400, 400, 3]. `ansi`: the same as
    coloured text. `human`: writes that text to the terminal on every frame, in real time.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(self, task: str, *, render_mode: str | None = None, **settings: Any) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.laboratory = Laboratory(*configure(task, settings))
        self.view = View(self.laboratory)
        self.observation_space = retina_space(self.laboratory)
        self.action_space = gym.spaces.Discrete(len(self.laboratory.actions))
        self._seeded = False
        self._episode_over = False  # the laboratory is then already at the next episode's beginning
        self._seen = self.laboratory.observation  # int64 [1]

    def reset(self, *, seed: int | None = None, options: Row | None = None) -> tuple[np.ndarray, Row]:
        """Begin an episode: the first of the random stream that `seed` starts, or the present one's next.

        A trial that was under way, and that no seed swept away, is in `info["trial"]`, marked as cut off.
        """
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self.laboratory.restart(laboratory_seed(self.np_random))
            self._seeded = True
        elif not self._episode_over:
            self.laboratory.begin_episode(torch.zeros(1, dtype=torch.int64))
        self._episode_over = False
        self._seen = self.laboratory.observation
        cut_off = finished_trials(self.laboratory)
        return self._observe(), {"trial": cut_off[0]} if cut_off else {}

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, Row]:
        check_actions(action, self.action_space, self.laboratory)
        frame = self.laboratory.step(torch.tensor([int(action)]))
        self._episode_over = bool(frame.episode_end)
        self._seen = frame.final_observation
        truncated = bool(frame.timed_out)
        finished = finished_trials(self.laboratory)
        info = {"trial": finished[0]} if finished else {}
        return self._observe(), float(frame.reward), self._episode_over and not truncated, truncated, info

    def _observe(self) -> np.ndarray:
        if self.render_mode == "human":
            self._write()
        return self.laboratory.render(self._seen)[0].numpy()

    def render(self) -> np.ndarray | str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.render_mode == "rgb_array":
            return self.view.image(int(self._seen))
        if self.render_mode == "ansi":
            return self.view.text(int(self._seen))
        return None  # a human has seen the frame already, when it was made

    def _write(self) -> None:
        # "\033[H" goes back to the upper left corner of the terminal, "\033[J" clears what follows.
        sys.stdout.write("\033[H" + self.view.text(int(self._seen)) + "\033[J\n")
        sys.stdout.flush()
        time.sleep(1 / FRAMES_PER_SECOND)


class TimingVectorEnv(PicklesLaboratory, VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many subjects at the same task, at once: see `TimingEnv` for what each of them does and gets.

    A lane whose episode ends begins the next one on the same step (`AutoresetMode.SAME_STEP`): its
    observation is the new episode's first; `infos["final_obs"]` has the old one's last, and
    `infos["final_info"]` its info.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(self, num_envs: int, task: str, *, render_mode: str | None = None, **settings: Any) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.num_envs = num_envs
        self.laboratory = Laboratory(*configure(task, settings), lanes=num_envs)
        self.view = View(self.laboratory)
        self.single_observation_space = retina_space(self.laboratory)
        self.single_action_space = gym.spaces.Discrete(len(self.laboratory.actions))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeded = False

    def reset(self, *, seed: int | None = None, options: Row | None = None) -> tuple[np.ndarray, Row]:
        """Begin an episode in every lane: of the random stream that `seed` begins, or of the present one."""
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self.laboratory.restart(laboratory_seed(self.np_random))
            self._seeded = True
        else:
            self.laboratory.begin_episode(torch.arange(self.num_envs))
        infos: Row = {}
        for row in finished_trials(self.laboratory):  # trials that were under way, marked as cut off
            infos = self._add_info(infos, {"trial": row}, row["lane"])
        return self._images(self.laboratory.observation), infos

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Row]:
        check_actions(actions, self.action_space, self.laboratory)
        frame = self.laboratory.step(torch.as_tensor(actions, dtype=torch.int64))
        ended, truncated = frame.episode_end.numpy(), frame.timed_out.numpy()
        infos: Row = {}
        last_infos: dict[int, Row] = {lane: {} for lane in np.flatnonzero(ended).tolist()}
        for row in finished_trials(self.laboratory):
            if row["lane"] in last_infos:
                last_infos[row["lane"]]["trial"] = row
            else:
                infos = self._add_info(infos, {"trial": row}, row["lane"])
        if last_infos:
            images = self._images(frame.final_observation[frame.episode_end])
            for image, (lane, info) in zip(images, last_infos.items(), strict=True):
                infos = self._add_info(infos, {"final_obs": image, "final_info": info}, lane)
        reward = frame.reward.double().numpy()
        return self._images(frame.observation), reward, ended & ~truncated, truncated, infos

    def _images(self, observation_ids: torch.Tensor) -> np.ndarray:
        return self.laboratory.render(observation_ids).numpy()

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Each lane's monitor with its gaze marked."""
        if self.render_mode is None:
            return None
        return tuple(self.view.image(number) for number in self.laboratory.observation.tolist())


# Spaces, settings and checks.


def retina_space(laboratory: Laboratory) -> gym.spaces.Box:
    return gym.spaces.Box(0, 255, (*laboratory.optics.config.retina, 3), np.uint8)


def configure(task: str, settings: Row) -> tuple[Task, OpticsConfig]:
    """The task of this name and the optics, with these settings; lists count as tuples."""
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}; choose {', '.join(TASKS)}")
    of_task = {field.name for field in fields(TASKS[task])}
    of_optics = {field.name for field in fields(OpticsConfig)}
    for name in settings:
        if name not in of_task | of_optics:
            near = get_close_matches(name, of_task | of_optics, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise TypeError(
                f"unknown setting {name!r}; {guess}{task} has {', '.join(sorted(of_task))}; "
                f"the optics have {', '.join(sorted(of_optics))}"
            )
    frozen = {name: as_tuples(value) for name, value in settings.items()}
    return (
        TASKS[task](**{name: value for name, value in frozen.items() if name in of_task}),
        OpticsConfig(**{name: value for name, value in frozen.items() if name in of_optics}),
    )


def as_tuples(value: Any) -> Any:
    """Lists, as JSON has them, become tuples, which settings must be; anything else stays."""
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


def check_render_mode(render_mode: str | None, modes: list[str]) -> None:
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"unknown render_mode {render_mode!r}; choose {', '.join(modes)} or None")


def check_actions(actions: Any, space: gym.Space, laboratory: Laboratory) -> None:
    if not space.contains(actions):
        names = ", ".join(f"{number} {name}" for number, name in enumerate(laboratory.actions))
        raise ValueError(f"action is {actions!r}, not one of {space}; actions are {names}")


def laboratory_seed(generator: np.random.Generator) -> int:
    return int(generator.integers(2**63))


def finished_trials(laboratory: Laboratory) -> list[Row]:
    """The rows of the trials that ended on this frame, at most one for each lane, without what is null."""
    whole, real = laboratory.trials.take_rows()
    if not whole.shape[1]:
        return []
    table = trial_table(laboratory.task, whole, real, laboratory.trials.row_columns())
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_dicts()]


# The ids.


def register_task(name: str, task: Task) -> None:
    """Make `gnomon/<name>-v0` known to Gymnasium: a registered task with these settings."""
    default, settings = vars(TASKS[task.name]()), vars(task)
    changed = {key: value for key, value in settings.items() if value != default[key]}
    gym.register(
        f"gnomon/{name}-v0",
        entry_point="gnomon.lab.gym:TimingEnv",
        vector_entry_point="gnomon.lab.gym:TimingVectorEnv",
        kwargs={"task": task.name, **changed},
    )


for task_type in TASKS.values():
    register_task(task_type.__name__, task_type())
register_task(f"{ReadySetGo.__name__}Psychlab", PSYCHLAB)
