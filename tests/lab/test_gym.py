"""Gymnasium's own checks for every id, and what they leave out: episode ends, trials, seeds, pickles."""

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from gnomon.lab.gym import TimingEnv, TimingVectorEnv, laboratory_seed
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PSYCHLAB, TASKS, ReadySetGo
from gnomon.records.trials import schema, take_trials
from gnomon.subjects.scripted import PerfectSubject

IDS = [f"gnomon/{task.__name__}-v0" for task in TASKS.values()] + ["gnomon/ReadySetGoPsychlab-v0"]
SMALL = {"retina": (8, 8)}
# Large boxes and large steps: trials begin soon, end in every way, and some end on the same frame.
QUICK: dict[str, Any] = {
    "intervals": (1, 5), "foreperiods": (0, 9), "pause": 1, "base_tolerance": 1.0, "timeout_factor": 7.0,
    "trials_per_episode": 3, "episode_seconds": 1.5, "fixation_size": 0.3, "target_size": 0.2,
    "centre": (0.5, 0.75), "gaze_step": 60, "gaze_limit": 20.0, **SMALL,
}  # fmt: skip


def unwrapped(name: str, **settings: Any) -> TimingEnv:
    env = gym.make(name, **settings).unwrapped
    assert isinstance(env, TimingEnv)
    return env


def lanes(name: str, number: int, **settings: Any) -> TimingVectorEnv:
    env = gym.make_vec(name, num_envs=number, vectorization_mode="vector_entry_point", **settings)
    assert isinstance(env, TimingVectorEnv)
    return env


def play(env: TimingEnv, actions: np.ndarray) -> list[tuple]:
    """Everything that the env answers to these actions, beginning anew after each episode."""
    answers = []
    for action in actions:
        answers.append(env.step(action))
        if answers[-1][2] or answers[-1][3]:
            answers.append(env.reset())
    return answers


def assert_same(one: list[tuple], other: list[tuple]) -> None:
    assert len(one) == len(other)
    for (image, *rest), (other_image, *other_rest) in zip(one, other, strict=True):
        np.testing.assert_array_equal(image, other_image)
        assert rest == other_rest


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_nothing_wrong(name: str):
    check_env(unwrapped(name, **SMALL))  # warnings are errors


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


def test_wrong_values_are_named():
    with pytest.raises(ValueError, match="intervals is empty"):
        gym.make("gnomon/ReadySetGo-v0", intervals=())
    with pytest.raises(ValueError, match="unknown task 'ready'; choose bisection"):
        TimingEnv("ready")
    with pytest.raises(ValueError, match="unknown render_mode 'film'; choose human, rgb_array, ansi"):
        TimingEnv("ready_set_go", render_mode="film")


def test_wrong_actions_are_refused():
    env = unwrapped("gnomon/ReadySetGo-v0", **SMALL)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action is 9.*0 stay, 1 right"):
        env.step(9)
    vector = lanes("gnomon/ReadySetGo-v0", 2, **SMALL)
    vector.reset(seed=0)
    with pytest.raises(ValueError, match="action is"):
        vector.step(np.array([0, 9]))


def test_equal_seeds_give_equal_episodes_and_the_stream_goes_on():
    actions = np.random.default_rng(0).integers(9, size=250)
    env, other = unwrapped("gnomon/ReadySetGo-v0", **QUICK), unwrapped("gnomon/ReadySetGo-v0", **QUICK)
    played = [env.reset(seed=5), *play(env, actions)]
    assert sum(len(answer) == 2 for answer in played) > 2, "there should be several episodes"
    other.reset(seed=6)
    assert_same([other.reset(seed=5), *play(other, actions)], played)
    assert_same([env.reset(seed=5), *play(env, actions)], played)

    def beginnings(seed: int) -> list[bytes]:
        return [env.reset(seed=seed)[0].tobytes(), *(env.reset()[0].tobytes() for _ in range(9))]

    assert beginnings(1) == beginnings(1)
    assert len(set(beginnings(1))) > 3, "reset() without a seed should go on, not begin again"
    assert beginnings(1) != beginnings(2)


def test_time_up_truncates_and_shows_the_last_frame_of_the_old_episode():
    short = unwrapped("gnomon/ReadySetGo-v0", episode_seconds=0.5, **SMALL)
    long = unwrapped("gnomon/ReadySetGo-v0", **SMALL)
    np.testing.assert_array_equal(short.reset(seed=3)[0], long.reset(seed=3)[0])
    image = np.empty(0)
    for frame in range(30):
        image, _, terminated, truncated, _ = short.step(2)
        np.testing.assert_array_equal(image, long.step(2)[0])
        assert not terminated
        assert truncated == (frame == 29)
    again, _ = short.reset()
    assert not np.array_equal(again, image)
    assert int(short.laboratory.trials.episode) == 1, "the next episode, not the one after"


def test_too_long_off_the_monitor_terminates():
    env = unwrapped("gnomon/ReadySetGo-v0", frames_off_monitor=3, **SMALL)
    env.reset(seed=0)
    lattice = env.laboratory.lattice
    pitch, ended, truncated = 0, False, False
    while not ended:
        _, _, ended, truncated, info = env.step(3)
        pitch += 1
        assert info == {}
    on_monitor = lattice.on_monitor.view(lattice.side, lattice.side)[lattice.reach :, lattice.reach].sum() - 1
    # The frames up from level to the monitor's edge, then 3 that are forgiven, then one too many.
    assert pitch == int(on_monitor) + 4
    assert not truncated


def test_the_last_trial_terminates_and_info_has_every_trial_once():
    env = unwrapped("gnomon/ReadySetGo-v0", trials_per_episode=3, **SMALL)
    env.reset(seed=0)
    subject = PerfectSubject(env.laboratory)
    rows, rewards, ended = [], [], False
    while not ended:
        _, reward, ended, truncated, info = env.step(int(subject.act().action))
        assert not truncated
        assert set(info) <= {"trial"}
        if info:
            rows.append(info["trial"])
            assert reward == info["trial"]["reward"]
        else:
            assert reward == 0
        rewards.append(reward)
    assert sum(rewards) == 3
    assert [row["trial"] for row in rows] == [0, 1, 2]
    for row in rows:
        assert row["outcome"] == "correct"
        assert row["production_interval"] == row["sample_interval"]
        assert row["end_frame"] - row["set_frame"] == row["production_interval"]
        assert "timeout_frame" not in row, "what never happened is left out"
        assert set(row) <= set(schema(ReadySetGo))
    assert rows[-1]["end_frame"] == len(rewards) - 1


def test_a_trial_cut_off_by_the_end_of_time_is_in_info():
    env = unwrapped("gnomon/ReadySetGo-v0", episode_seconds=0.5, **SMALL)
    env.reset(seed=0)
    subject = PerfectSubject(env.laboratory)
    *_, (_, _, terminated, truncated, info) = (env.step(int(subject.act().action)) for _ in range(30))
    assert (terminated, truncated) == (False, True)
    assert info["trial"]["outcome"] == "cut_off"


@pytest.mark.parametrize("number", [None, 5])
def test_pickled_in_the_middle_goes_on_the_same(number: int | None):
    actions = np.random.default_rng(1).integers(9, size=(150, number or 1))
    env = (
        unwrapped("gnomon/ReadySetGo-v0", **QUICK) if number is None else lanes("gnomon/ReadySetGo-v0", number, **QUICK)
    )
    env.reset(seed=2)

    def go_on(env: Any, some: np.ndarray) -> list:
        return [env.step(row if number else row[0])[:4] for row in some]

    go_on(env, actions[:70])
    copy = pickle.loads(pickle.dumps(env))
    for one, other in zip(go_on(env, actions[70:]), go_on(copy, actions[70:]), strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(env.reset()[0], copy.reset()[0])


def test_vector_env_of_one_is_the_env():
    actions = np.random.default_rng(4).integers(9, size=300)
    env, vector = unwrapped("gnomon/ReadySetGo-v0", **QUICK), lanes("gnomon/ReadySetGo-v0", 1, **QUICK)
    np.testing.assert_array_equal(env.reset(seed=9)[0], vector.reset(seed=9)[0][0])
    episodes = 0
    for action in actions:
        image, reward, terminated, truncated, info = env.step(action)
        images, rewards, terminations, truncations, infos = vector.step(np.array([action]))
        assert (rewards[0], terminations[0], truncations[0]) == (reward, terminated, truncated)
        if terminated or truncated:
            episodes += 1
            np.testing.assert_array_equal(infos["final_obs"][0], image)
            infos = infos["final_info"]
            image, _ = env.reset()
        np.testing.assert_array_equal(images[0], image)
        assert ("trial" in infos) == ("trial" in info)
    assert episodes > 2


def test_vector_env_tells_of_every_trial_what_the_table_tells():
    number, frames = 48, 200
    vector = lanes("gnomon/ReadySetGo-v0", number, **QUICK)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    vector.reset(seed=7)
    seed = laboratory_seed(np.random.default_rng(7))
    laboratory = Laboratory(vector.laboratory.task, vector.laboratory.optics.config, lanes=number, seed=seed)
    generator = np.random.default_rng(8)
    told = []
    for _ in range(frames):
        actions = generator.integers(9, size=number)
        images, rewards, terminations, truncations, infos = vector.step(actions)
        frame = laboratory.step(torch.as_tensor(actions))
        np.testing.assert_array_equal(images, laboratory.render(frame.observation).numpy())
        np.testing.assert_array_equal(rewards, frame.reward.numpy())
        np.testing.assert_array_equal(terminations | truncations, frame.episode_end.numpy())
        np.testing.assert_array_equal(truncations, frame.timed_out.numpy())
        final = laboratory.render(frame.final_observation).numpy()
        for lane in range(number):
            ended = frame.episode_end[lane]
            assert bool(infos.get("_final_obs", np.zeros(number))[lane]) == bool(ended)
            if ended:
                np.testing.assert_array_equal(infos["final_obs"][lane], final[lane])
            info = infos.get("final_info", {}) if ended else infos
            if info.get("_trial", np.zeros(number))[lane]:
                trial = info["trial"]
                told.append({k: v[lane] for k, v in trial.items() if not k.startswith("_") and trial[f"_{k}"][lane]})
    table = [{k: v for k, v in row.items() if v is not None} for row in take_trials(laboratory.trials).to_dicts()]
    order = ["episode", "lane", "trial"]
    told.sort(key=lambda row: [row[key] for key in order])
    table.sort(key=lambda row: [row[key] for key in order])
    assert told == table
    assert {row["outcome"] for row in table} >= {"correct", "wrong", "early", "timeout", "cut_off"}, (
        "the test should see them all"
    )


def test_gymnasiums_own_vectors_take_the_env():
    vector = gym.make_vec("gnomon/ReadySetGo-v0", num_envs=3, vectorization_mode="sync", **QUICK)
    vector.reset(seed=0)
    vector.action_space.seed(0)
    trials = 0
    for _ in range(150):
        *_, infos = vector.step(vector.action_space.sample())
        trials += int(infos["_trial"].sum()) if "_trial" in infos else 0
    assert trials > 0
    vector.close()


def test_rendering():
    env = unwrapped("gnomon/ReadySetGo-v0", render_mode="rgb_array", **SMALL)
    env.reset(seed=0)
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (400, 400, 3)
    env.step(1)
    next_picture = env.render()
    assert isinstance(next_picture, np.ndarray)
    assert not np.array_equal(next_picture, picture)
    vector = lanes("gnomon/ReadySetGo-v0", 3, render_mode="rgb_array", **SMALL)
    vector.reset(seed=0)
    pictures = vector.render()
    assert pictures is not None
    assert len(pictures) == 3


def test_human_rendering_writes_every_frame(capsys: pytest.CaptureFixture[str]):
    env = unwrapped("gnomon/ReadySetGo-v0", render_mode="human", **SMALL)
    env.reset(seed=0)
    env.step(1)
    assert env.render() is None
    assert capsys.readouterr().out.count("; gaze ") == 2


def test_a_reset_in_the_middle_of_a_trial_marks_it_and_does_not_lose_it() -> None:
    env = TimingEnv("ready_set_go", frames_off_monitor=0)
    env.reset(seed=3)
    subject = PerfectSubject(env.laboratory, 0)
    while not env.laboratory.trials.running.item():
        _, _, _, _, info = env.step(int(subject.act().action))
        assert "trial" not in info
    _, info = env.reset()
    assert (info["trial"]["outcome"], info["trial"]["reward"]) == ("cut_off", 0.0)
    _, _, _, _, info = env.step(0)
    assert "trial" not in info
    _, info = env.reset()  # no trial was under way
    assert info == {}
