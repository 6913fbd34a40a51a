"""The single environment: Gymnasium's own checks for every id, episode ends, trials, seeds, options, pickles."""

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from quick_env import QUICK, SMALL, assert_same, unwrapped

from gnomon.gym import TimingEnv
from gnomon.lab.tasks import ReadySetGo
from gnomon.records.trials import schema
from gnomon.subjects.scripted import PerfectSubject


def play(env: TimingEnv, actions: np.ndarray) -> list[tuple]:
    """Everything that the env answers to these actions, beginning anew after each episode."""
    answers = []
    for action in actions:
        answers.append(env.step(action))
        if answers[-1][2] or answers[-1][3]:
            answers.append(env.reset())
    return answers


def test_actions_of_numpy_and_torch_are_as_good_as_plain_ones():
    env = unwrapped("gnomon/ReadySetGo-v0", **SMALL)

    def after(action: Any) -> tuple:
        env.reset(seed=0)
        return env.step(action)

    for action in (np.int64(2), np.array(2), np.array([2], np.uint8), torch.tensor(2), torch.tensor([2])):
        assert_same(after(action), after(2))
    assert not np.array_equal(after(3)[0], after(2)[0])


@pytest.mark.parametrize("action", [9, -1, 2.0, np.array([1, 2]), torch.tensor(9), np.array([]), None, "up"])
def test_wrong_actions_are_refused(action: Any):
    env = unwrapped("gnomon/ReadySetGo-v0", **SMALL)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action is .*one whole number from 0 to 8: 0 stay, 1 right"):
        env.step(action)


def test_writing_into_an_image_changes_no_other():
    env = unwrapped("gnomon/ReadySetGo-v0", **SMALL)
    image, _ = env.reset(seed=0)
    expected = image.copy()
    image[:] = 7
    for _ in range(2):
        seen = env.step(0)[0]
        np.testing.assert_array_equal(seen, expected)
        seen[:] = 9


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


@pytest.mark.parametrize("copied", [lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy])
def test_copied_in_the_middle_goes_on_the_same(copied: Any):
    actions = np.random.default_rng(1).integers(9, size=150)
    env = unwrapped("gnomon/ReadySetGo-v0", **QUICK)
    env.reset(seed=2, options={"sample_interval": 5})
    other = copied(env)
    assert_same(play(other, actions[:70]), play(env, actions[:70]))
    other = copied(env)
    assert_same(play(other, actions[70:]), play(env, actions[70:]))
    assert_same(other.reset(), env.reset())


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
