"""Small Gymnasium environments in which much happens."""

from typing import Any

import gymnasium as gym
import numpy as np

from gnomon.gym import TimingEnv, TimingVectorEnv

SMALL: dict[str, Any] = {"retina": (8, 8)}
# Large boxes and large steps: trials begin soon, end in every way, and some end on the same frame.
QUICK: dict[str, Any] = {
    "intervals": (1, 5), "foreperiods": (0, 9), "pause": 1, "base_tolerance": 1.0, "timeout_factor": 7.0,
    "trials_per_episode": 3, "episode_seconds": 1.5, "fixation_size": 0.3, "target_size": 0.2,
    "centre": (0.5, 0.75), "gaze_step": 60, "gaze_limit": 20.0, **SMALL,
}  # fmt: skip
QUICK_CLICKS: dict[str, Any] = {
    "intervals": (2, 5), "pause": 1, "trials_per_episode": 3, "episode_seconds": 1.5, "fixation_size": 0.3,
    "target_size": 0.3, "frames_to_fixate": 2, "gaze_step": 60, "gaze_limit": 20.0, "target_location": (0.5, 0.4),
    "frames_off_monitor": 4, **SMALL,
}  # fmt: skip


def unwrapped(name: str, **settings: Any) -> TimingEnv:
    env = gym.make(name, **settings).unwrapped
    assert isinstance(env, TimingEnv)
    return env


def lanes(name: str, number: int, **settings: Any) -> TimingVectorEnv:
    env = gym.make_vec(name, num_envs=number, vectorization_mode="vector_entry_point", **settings)
    assert isinstance(env, TimingVectorEnv)
    return env


def assert_same(one: Any, other: Any) -> None:
    """Equal values of equal types, whatever arrays, dicts, lists and tuples they are made of."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if one.dtype == object:
            assert_same(one.tolist(), other.tolist())
        else:
            np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert set(one) == set(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    else:
        assert one == other
