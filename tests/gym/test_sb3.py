"""The adapter for Stable-Baselines3, where its extra is installed."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from quick_env import QUICK, SMALL, assert_same, unwrapped

import gnomon  # noqa: F401 (registers the ids)

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: pip install gnomon[sb3]")

from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]
from stable_baselines3.common.env_checker import check_env  # pyright: ignore[reportMissingImports]
from stable_baselines3.common.vec_env import (  # pyright: ignore[reportMissingImports]
    DummyVecEnv,
    VecMonitor,
    VecTransposeImage,
)

from gnomon.gym import TimingVectorEnv
from gnomon.gym.sb3 import TimingVecEnv, make_vec_env

NAME = "gnomon/ReadySetGo-v0"
NUMBER = 5


@pytest.mark.parametrize("settings", [{}, {"channels_first": True}])
def test_its_checker_finds_nothing_wrong(settings: dict[str, Any]):
    check_env(gym.make(NAME, retina=(36, 36), **settings))  # warnings are errors


def test_lanes_are_what_it_makes_of_single_environments():
    mine = make_vec_env(NAME, NUMBER, **QUICK)
    theirs = DummyVecEnv([lambda: unwrapped(NAME, **QUICK)] * NUMBER)
    for env in (mine, theirs):
        env.seed(4)
        env.set_options({"sample_interval": 5})
    assert_same(mine.reset(), theirs.reset())
    generator = np.random.default_rng(0)
    trials = ends = 0
    for _ in range(300):
        actions = generator.integers(9, size=NUMBER)
        observations, rewards, dones, infos = mine.step(actions)
        expected = theirs.step(actions)
        for told in (infos, expected[3]):
            for info in told:
                info.get("trial", {}).pop("lane", None)
                info["TimeLimit.truncated"] = bool(info["TimeLimit.truncated"])
        assert_same((observations, rewards, dones, infos), expected)
        trials += sum("trial" in info for info in infos)
        ends += sum("terminal_observation" in info for info in infos)
    assert trials > 5
    assert ends > 5
    assert_same(mine.reset(), theirs.reset())


def test_what_lanes_cannot_do_one_by_one_is_said():
    env = make_vec_env(NAME, 2, render_mode="rgb_array", **SMALL)
    env.reset()
    assert env.get_attr("render_mode") == ["rgb_array"] * 2
    images = env.get_images()
    assert [image.shape for image in images if image is not None] == [(400, 400, 3)] * 2
    assert env.env_is_wrapped(gym.Wrapper) == [False, False]
    with pytest.raises(ValueError, match="cannot be set for some lanes only"):
        env.set_attr("render_mode", None, indices=[0])
    with pytest.raises(NotImplementedError, match="cannot be called lane by lane"):
        env.env_method("reset")
    env.set_options([{"sample_interval": 10}, {}])
    with pytest.raises(ValueError, match="every lane must have the same ones"):
        env.reset()
    with pytest.raises(ValueError, match="autoreset_mode is NEXT_STEP; Stable-Baselines3 needs SAME_STEP"):
        TimingVecEnv(TimingVectorEnv(2, "ready_set_go", **SMALL))


def test_ppo_runs_for_ten_thousand_steps():
    env = VecMonitor(make_vec_env(NAME, 16, **QUICK | {"retina": (36, 36)}))
    learner = PPO("CnnPolicy", env, n_steps=128, batch_size=1024, n_epochs=1, seed=0, device="cpu")
    learner.learn(10_000)
    assert learner.num_timesteps >= 10_000
    episodes = list(learner.ep_info_buffer or ())
    assert episodes
    assert max(episode["l"] for episode in episodes) <= 90  # episodes are not run together
    assert sum(episode["r"] for episode in episodes) > 0


def test_it_turns_images_only_where_channels_are_last():
    for channels_first in (False, True):
        env = make_vec_env(NAME, 2, retina=(36, 36), channels_first=channels_first)
        assert isinstance(PPO("CnnPolicy", env, device="cpu").env, VecTransposeImage) != channels_first
