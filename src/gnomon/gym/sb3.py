"""Stable-Baselines3: all lanes as one of its `VecEnv`s, so that its learners need no copies of the environment.

    from gnomon.gym.sb3 import make_vec_env
    PPO("CnnPolicy", VecMonitor(make_vec_env("gnomon/ReadySetGo-v0", num_envs=64, retina=(48, 48))))

Needs the extra: `pip install gnomon[sb3]`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv  # pyright: ignore[reportMissingImports]

from gnomon.gym.lanes import Row
from gnomon.gym.vector import TimingVectorEnv

Indices = None | int | Iterable[int]


def make_vec_env(environment_id: str, num_envs: int, **settings: Any) -> "TimingVecEnv":
    """The environment of this id with that many lanes; settings as for `gymnasium.make_vec`."""
    lanes = gym.make_vec(environment_id, num_envs, "vector_entry_point", autoreset_mode="SAME_STEP", **settings)
    assert isinstance(lanes, TimingVectorEnv), f"{environment_id} is not one of Gnomon's"
    return TimingVecEnv(lanes)


class TimingVecEnv(VecEnv):
    """The lanes of a `TimingVectorEnv` in Stable-Baselines3's form.

    `infos[lane]` has "trial" where a trial has ended, and at an episode's end "terminal_observation" and
    "TimeLimit.truncated", as its learners expect. All lanes are one object: attributes are the same for each.
    """

    def __init__(self, lanes: TimingVectorEnv) -> None:
        if lanes.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"autoreset_mode is {lanes.autoreset_mode.name}; Stable-Baselines3 needs SAME_STEP")
        self.lanes = lanes
        self._actions: Any = None
        super().__init__(lanes.num_envs, lanes.single_observation_space, lanes.single_action_space)

    def reset(self) -> np.ndarray:
        options = together(self._options)
        observations, infos = self.lanes.reset_lanes(self._seeds, options)
        self.reset_infos = [infos.get(lane, {}) for lane in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Row]]:
        observations, reward, terminated, truncated, told = self.lanes.step_lanes(self._actions)
        done = terminated | truncated
        infos: list[Row] = [{"TimeLimit.truncated": bool(cut)} for cut in truncated]
        for lane, info in told.items():
            if done[lane]:
                infos[lane] |= info["final_info"] | {"terminal_observation": info["final_obs"]}
                self.reset_infos[lane] = {}
            else:
                infos[lane] |= info
        return observations, reward.astype(np.float32), done, infos

    def close(self) -> None:
        self.lanes.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        return self.lanes.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        return [getattr(self.lanes, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        if list(self._get_indices(indices)) != list(range(self.num_envs)):
            raise ValueError(f"{attr_name} cannot be set for some lanes only: all lanes are one object")
        setattr(self.lanes, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any) -> list:
        raise NotImplementedError(f"{method_name} cannot be called lane by lane: all lanes are one object")

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: Indices = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]


def together(options: Sequence[Row]) -> Row:
    """The options of single lanes as those of all: one value for each lane."""
    names = set(options[0])
    if any(set(own) != names for own in options):
        raise ValueError(f"options are {list(options)}; every lane must have the same ones")
    return {name: [own[name] for own in options] for name in names}
