"""Many subjects at once, as a Gymnasium `VectorEnv`, in each of Gymnasium's three ways to begin the next episode."""

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gnomon.gym.images import Images
from gnomon.gym.lanes import Lanes, Row, lane_seed, seed_of, wanted_conditions
from gnomon.gym.settings import check_render_mode, configure, whole_actions
from gnomon.lab.tasks.base import FRAMES_PER_SECOND
from gnomon.lab.view import View

Seeds = int | Sequence[int | None] | None
Stepped = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[int, Row]]


class TimingVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many subjects at the same task, at once: see `TimingEnv` for what each of them does and gets.

    Lane i of `reset(seed=s)` does just what a `TimingEnv` does after `reset(seed=s + i)`; a list gives each lane
    its own seed, or none. When a lane's episode ends, `autoreset_mode` says what follows:

    - `NEXT_STEP` (default): the lane's next step begins the new episode, whatever the action, with reward 0.
    - `SAME_STEP`: the new episode begins at once, and its first observation is returned; the old one's last is in
      `infos["final_obs"]`, and its info in `infos["final_info"]`.
    - `DISABLED`: nothing; the lane must be reset before the next step.

    `reset(options={"reset_mask": mask})` resets the lanes where `mask`, bool [num_envs], is true, and no others.
    Other options name conditions of the next trial, one value for all lanes or one for each.
    """

    metadata: dict[str, Any]
    RENDER_MODES: ClassVar = ["rgb_array"]

    def __init__(
        self,
        num_envs: int,
        task: str,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        **settings: Any,
    ) -> None:
        check_render_mode(render_mode, self.RENDER_MODES)
        self.render_mode, self.num_envs = render_mode, num_envs
        self.autoreset_mode = mode_named(autoreset_mode)
        self.metadata = {
            "render_modes": self.RENDER_MODES,
            "render_fps": FRAMES_PER_SECOND,
            "autoreset_mode": self.autoreset_mode,
        }
        world, optics, images = configure(task, settings, max_episode_steps)
        self.laboratory = Lanes(world, optics, num_envs)
        self.view = View(self.laboratory)
        self._images = Images(self.laboratory, images)
        self.single_observation_space = images.space(optics.retina)
        self.single_action_space = gym.spaces.Discrete(len(self.laboratory.actions))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeded = False
        # Lanes whose last episode has been shown to its end; the laboratory is at the next one's beginning.
        self._over = np.zeros(num_envs, np.bool_)
        self._seen = self.laboratory.observation.numpy()  # observation ids, int64 [num_envs]

    def reset(self, *, seed: Seeds = None, options: Row | None = None) -> tuple[np.ndarray, Row]:
        """Begin an episode in every lane, or in those of `reset_mask`, of its present stream or of a new seed's.

        Trials that were under way, and that no seed swept away, are in `infos["trial"]`, marked as cut off.
        """
        observations, infos = self.reset_lanes(seed, options)
        return observations, self._columns(infos)

    def reset_lanes(self, seed: Seeds = None, options: Row | None = None) -> tuple[np.ndarray, dict[int, Row]]:
        """Like `reset`, with the info of each lane that has one."""
        conditions = dict(options or {})
        mask = self._reset_mask(conditions.pop("reset_mask", None))
        wanted = wanted_conditions(conditions, self.laboratory.task, self.num_envs)
        seeds = self._seeds(seed)
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
        lanes = np.flatnonzero(mask).tolist()
        started = {lane: seed_of(own) for lane in lanes if (own := seeds[lane]) is not None}
        if not self._seeded:
            started |= {lane: lane_seed(self.np_random) for lane in lanes if lane not in started}
            self._seeded = True
        going_on = [lane for lane in lanes if lane not in started and not self._over[lane]]
        if started:
            self.laboratory.seed_lanes(started)
        if going_on:
            self.laboratory.begin_episode(torch.tensor(going_on))
        for lane in lanes:
            if wanted[lane]:
                self.laboratory.want(lane, wanted[lane])
        self._over[mask] = False
        self._seen = np.where(mask, self.laboratory.observation.numpy(), self._seen)
        infos: dict[int, Row] = {row["lane"]: {"trial": row} for row in self.laboratory.finished_trials()}
        return self._images.many(self._seen), infos

    def _reset_mask(self, mask: Any) -> np.ndarray:
        """Which lanes are to be reset: bool [num_envs]."""
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ValueError(f"reset_mask is {mask!r}; it must be bool [{self.num_envs}], true at least once")
        if not self._seeded and not mask.all():
            raise ValueError("reset_mask leaves out lanes that have never been reset; reset all of them first")
        return mask

    def _seeds(self, seed: Seeds) -> Sequence[int | None]:
        """The seed of each lane, or None: as Gymnasium's own vectors do, one number counts up from lane to lane."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + lane for lane in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"seed has {len(seed)} entries; it must be a number, or one for each of {self.num_envs}")
        return [None if own is None else int(own) for own in seed]

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Row]:
        """Let every lane act once, by whole numbers [num_envs] or [num_envs, 1], of NumPy or of torch."""
        *stepped, infos = self.step_lanes(actions)
        observations, reward, terminated, truncated = stepped
        return observations, reward, terminated, truncated, self._columns(infos)

    def step_lanes(self, actions: Any) -> Stepped:
        """Like `step`, with the info of each lane that has one."""
        numbers = whole_actions(actions, self.laboratory.actions, (self.num_envs,))
        over = np.flatnonzero(self._over)
        if self.autoreset_mode is AutoresetMode.DISABLED and len(over):
            raise ValueError(
                f"the episodes of lanes {over.tolist()} are over; begin the next ones before the next step, "
                "with reset(options={'reset_mask': terminated | truncated})"
            )
        frame = self.laboratory.step_but(torch.from_numpy(over), torch.from_numpy(numbers))
        ended, truncated = frame.episode_end.numpy(), frame.timed_out.numpy()
        infos: dict[int, Row] = {row["lane"]: {"trial": row} for row in self.laboratory.finished_trials()}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._seen = frame.observation.numpy()
            lanes = np.flatnonzero(ended)
            last = self._images.many(frame.final_observation.numpy()[lanes])
            for lane, image in zip(lanes.tolist(), last, strict=True):
                infos[lane] = {"final_obs": image, "final_info": infos.get(lane, {})}
        else:
            self._seen, self._over = frame.final_observation.numpy(), ended
        return self._images.many(self._seen), frame.reward.double().numpy(), ended & ~truncated, truncated, infos

    def _columns(self, infos: dict[int, Row]) -> Row:
        """Infos of single lanes as Gymnasium has them: by key, with an entry for every lane and a mask."""
        columns: Row = {}
        for lane, info in infos.items():
            columns = self._add_info(columns, info, lane)
        return columns

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Each lane's monitor with its gaze marked."""
        if self.render_mode is None:
            return None
        return tuple(self.view.image(number) for number in self._seen.tolist())


def mode_named(mode: AutoresetMode | str) -> AutoresetMode:
    """Gymnasium's autoreset mode of this name or value."""
    for known in AutoresetMode:
        if mode in (known, known.name, known.value):
            return known
    raise ValueError(f"autoreset_mode is {mode!r}; choose {', '.join(known.name for known in AutoresetMode)}")
