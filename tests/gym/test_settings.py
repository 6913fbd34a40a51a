"""Ids, settings and options of the environments: each is taken, and a wrong one is named."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from quick_env import QUICK, SMALL, unwrapped

from gnomon import ENVIRONMENTS
from gnomon.gym import TimingEnv
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PSYCHLAB, TASKS, ReadySetGo
from gnomon.subjects.scripted import PerfectSubject

IDS = [f"gnomon/{name}-v0" for name in ENVIRONMENTS]


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_nothing_wrong(name: str):
    check_env(unwrapped(name, **SMALL))  # warnings are errors
    check_env(unwrapped(name, channels_first=True, dtype="float32", **SMALL))


def test_every_task_has_an_id():
    assert {TASKS[task].__name__ for task in TASKS if task != "delayed_look"} < set(ENVIRONMENTS)
    made = {unwrapped(name, **SMALL).laboratory.task.name for name in IDS}
    assert made == set(TASKS) - {"delayed_look"}  # of the tests


def test_ids_name_the_settings():
    assert unwrapped("gnomon/ReadySetGoPsychlab-v0", **SMALL).laboratory.task == PSYCHLAB
    assert unwrapped("gnomon/ReadySetGo-v0", **SMALL).laboratory.task == ReadySetGo()
    spec = EnvSpec.from_json(gym.spec("gnomon/ReadySetGoPsychlab-v0").to_json())
    env = spec.make(**SMALL).unwrapped
    assert isinstance(env, TimingEnv)
    assert env.laboratory.task == PSYCHLAB


def test_keyword_arguments_are_settings_of_task_and_optics():
    env = unwrapped("gnomon/ReadySetGo-v0", intervals=[20, 40], retina=(24, 12), gaze_step=25)
    assert env.laboratory.task == ReadySetGo(intervals=(20, 40))
    assert env.laboratory.optics.config == OpticsConfig(retina=(24, 12), gaze_step=25)
    assert env.observation_space.shape == (24, 12, 3)
    assert unwrapped("gnomon/CuedProduction-v0", **SMALL).action_space == gym.spaces.Discrete(10)


def test_a_misspelt_setting_is_named_with_the_right_ones():
    with pytest.raises(
        TypeError, match=r"unknown setting 'interval'; did you mean 'intervals'.*timeout_factor.*retina"
    ):
        gym.make("gnomon/ReadySetGo-v0", interval=(20, 40))
    with pytest.raises(TypeError, match="unknown setting 'retinas'"):
        gym.make_vec("gnomon/Bisection-v0", num_envs=2, retinas=(8, 8))
    with pytest.raises(TypeError, match=r"did you mean 'channels_first'.*images: channels_first, dtype"):
        gym.make("gnomon/ReadySetGo-v0", channel_first=True)


def test_wrong_values_are_named():
    with pytest.raises(ValueError, match="intervals is empty"):
        gym.make("gnomon/ReadySetGo-v0", intervals=())
    with pytest.raises(ValueError, match="unknown task 'ready'; choose bisection"):
        TimingEnv("ready")
    with pytest.raises(ValueError, match="unknown render_mode 'film'; choose human, rgb_array, ansi"):
        TimingEnv("ready_set_go", render_mode="film")


def test_images_in_other_forms_show_the_same():
    plain = unwrapped("gnomon/ReadySetGo-v0", retina=(8, 12))
    other = unwrapped("gnomon/ReadySetGo-v0", retina=(8, 12), channels_first=True, dtype=np.float32)
    assert other.observation_space == gym.spaces.Box(0, 1, (3, 8, 12), np.float32)
    plain.reset(seed=0)
    other.reset(seed=0)
    for action in (1, 2, 3):
        image, converted = plain.step(action)[0], other.step(action)[0]
        assert converted.dtype == np.float32
        np.testing.assert_array_equal(converted, image.transpose(2, 0, 1).astype(np.float32) / np.float32(255))
        assert converted.max() > 0.1
    with pytest.raises(ValueError, match="dtype is 'float64'; choose uint8 or float32"):
        gym.make("gnomon/ReadySetGo-v0", dtype="float64")
    with pytest.raises(ValueError, match="dtype is 'real'"):
        gym.make("gnomon/ReadySetGo-v0", dtype="real")


def first_trial(env: TimingEnv, **reset: Any) -> dict[str, Any]:
    env.reset(**reset)
    subject = PerfectSubject(env.laboratory)
    while True:
        *_, info = env.step(int(subject.act().action))
        if "trial" in info:
            return info["trial"]


def test_options_force_the_conditions_of_the_first_trial():
    env = unwrapped("gnomon/ReadySetGo-v0", **SMALL)
    assert [first_trial(env, options={"sample_interval": t})["sample_interval"] for t in (70, 10, 40)] == [70, 10, 40]
    assert len({first_trial(env)["sample_interval"] for _ in range(9)}) > 2, "the next episode should be free again"
    bisection = unwrapped("gnomon/Bisection-v0", durations=(4, 8), **SMALL)
    wanted = {"sample_interval": 8, "axis": 3, "long_colour": 1}
    assert first_trial(bisection, seed=1, options=wanted).items() >= wanted.items()


def test_forced_conditions_leave_a_trial_that_the_task_could_draw():
    settings = {"intervals": (20,), "probe_intervals": (30,), "probe_probability": 0.1, **SMALL}
    env = unwrapped("gnomon/ReadySetGo-v0", **settings)
    assert first_trial(env, options={"sample_interval": 30})["probe"] is True
    assert first_trial(env, options={"probe": False})["sample_interval"] == 20
    with pytest.raises(
        ValueError, match=r"no trial with sample_interval 20 and probe 1; it draws .*20, 30; probe: 0, 1"
    ):
        env.reset(options={"sample_interval": 20, "probe": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_interval": 75}, "no trial with sample_interval 75; it draws sample_interval: 10, 20, 30"),
        ({"interval": 70}, "unknown option 'interval'; .*'sample_interval'"),
        ({"sample_interval": 70.5}, "sample_interval is 70.5; give one whole number"),
        ({"sample_interval": [70, 80]}, r"sample_interval is \[70, 80\]; give one whole number"),
        ({"reset_mask": np.ones(1, bool)}, "unknown option 'reset_mask'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str):
    env = unwrapped("gnomon/ReadySetGo-v0", **SMALL)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=0, options=options)


def test_max_episode_steps_truncates():
    made = gym.make("gnomon/ReadySetGo-v0", max_episode_steps=7, **SMALL)
    for env in (made, TimingEnv("ready_set_go", max_episode_steps=7, **SMALL)):
        for seed in (0, None):
            env.reset(seed=seed)
            assert [env.step(0)[3] for _ in range(7)] == [False] * 6 + [True]
    assert TimingEnv("ready_set_go", max_episode_steps=90, **QUICK).laboratory.task.episode_frames == 90
    assert TimingEnv("ready_set_go", max_episode_steps=91, **QUICK).laboratory.task.episode_frames == 90
    with pytest.raises(ValueError, match="max_episode_steps is 0"):
        TimingEnv("ready_set_go", max_episode_steps=0)
