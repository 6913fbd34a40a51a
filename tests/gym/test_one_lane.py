"""The single environment's short cuts: it must be, frame by frame, a laboratory of one lane."""

from typing import Any

import numpy as np
import pytest
import torch
from fifth_task import DelayedLook
from quick_env import QUICK, QUICK_CLICKS, SMALL

from gnomon.gym.env import TimingEnv
from gnomon.gym.images import FIRST_SLOTS, Images
from gnomon.gym.lanes import Lanes, seed_of
from gnomon.gym.rows import trial_rows
from gnomon.gym.settings import ImageConfig
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import TASKS, ReadySetGo
from gnomon.lab.trials import LANE_STATE
from gnomon.records.trials import take_trials, trial_table
from gnomon.subjects.scripted import PerfectSubject

CHOICE = {
    "durations": (3, 6), "pause": 2, "trials_per_episode": 4, "episode_seconds": 2.0, "fixation_size": 0.3,
    "target_size": 0.2, "gaze_step": 60, "gaze_limit": 20.0, "frames_off_monitor": 4, **SMALL,
}  # fmt: skip
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "ready_set_go": [
        QUICK,
        QUICK | {"hold_probability": 0.7, "hold_frames": 2, "frames_to_fixate": 3},
        QUICK | {"hold_probability": 0.7, "restrained": True},
    ],
    "cued_production": [QUICK_CLICKS],
    "bisection": [CHOICE],
    "discrimination": [CHOICE, CHOICE | {"flash": 2}],
    DelayedLook.name: [
        {"intervals": (5, 9), "fixation_size": 0.3, "target_size": 0.3, "pause": 3, "episode_seconds": 1.5}
        | {"gaze_step": 60, "gaze_limit": 30.0, **SMALL}
    ],
}


@pytest.mark.parametrize(("task", "settings"), [(task, one) for task in SETTINGS for one in SETTINGS[task]])
def test_every_frame_is_the_laboratorys(task: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(TASKS, DelayedLook.name, DelayedLook)  # another test may have taken it off the list again
    env = TimingEnv(task, **settings)
    env.reset(seed=11)
    laboratory = Laboratory(env.laboratory.task, env.laboratory.optics.config, seed=seed_of(11))
    subject = PerfectSubject(laboratory) if task != DelayedLook.name else None
    generator = np.random.default_rng(12)
    rows, ends = [], 0
    for number in range(600):
        # Stretches of a subject that knows what to do, and stretches of a random walk.
        clever = subject is not None and number // 100 % 2 == 0
        action = int(subject.act().action) if clever and subject else int(generator.integers(len(laboratory.actions)))
        image, reward, terminated, truncated, info = env.step(action)
        frame = laboratory.step(torch.tensor([action]))
        np.testing.assert_array_equal(image, laboratory.render(frame.final_observation)[0].numpy())
        assert (reward, terminated or truncated, truncated) == (frame.reward, frame.episode_end, frame.timed_out)
        rows += [info["trial"]] if info else []
        if terminated or truncated:
            ends += 1
            env.reset()
        for name in LANE_STATE:
            if name != "production":  # worked out anew where it matters
                mine, theirs = (getattr(trials, name) for trials in (env.laboratory.trials, laboratory.trials))
                assert torch.equal(mine, theirs), f"{name} on frame {number}"
        assert torch.equal(env.laboratory.gaze, laboratory.gaze)
        assert torch.equal(env.laboratory.button, laboratory.button)
    assert ends > 1
    table = [{k: v for k, v in row.items() if v is not None} for row in take_trials(laboratory.trials).to_dicts()]
    assert rows == table
    assert len(rows) > 3


def test_most_frames_take_the_short_cut(monkeypatch: pytest.MonkeyPatch):
    env = TimingEnv("ready_set_go", **SMALL)
    env.reset(seed=0)
    subject = PerfectSubject(env.laboratory)
    busy = []
    step = env.laboratory.step
    monkeypatch.setattr(env.laboratory, "step", lambda action: busy.append(0) or step(action))
    trials = sum("trial" in env.step(int(subject.act().action))[4] for _ in range(2_000))
    # Fixation, four timers, a response, and the cross that comes back.
    assert trials > 5
    assert len(busy) <= 8 * (trials + 1)


def test_a_laboratory_stepped_from_outside_is_noticed():
    env, other = TimingEnv("ready_set_go", **QUICK), TimingEnv("ready_set_go", **QUICK)
    env.reset(seed=3)
    other.reset(seed=3)
    env.laboratory.step(torch.tensor([1]))
    other.step(1)
    for action in (2, 1, 8, 0, 5):
        np.testing.assert_array_equal(env.step(action)[0], other.step(action)[0])


def test_images_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch):
    laboratory = Laboratory(ReadySetGo(), OpticsConfig(retina=(4, 6)))
    monkeypatch.setattr("gnomon.gym.images.KEPT_BYTES", 100 * 4 * 6 * 3)
    images = Images(laboratory, ImageConfig(channels_first=True))
    generator = np.random.default_rng(0)
    for size in (1, FIRST_SLOTS, 30, 90, 100, 3):
        ids = generator.integers(laboratory.observations, size=size)
        expected = laboratory.render(torch.from_numpy(ids)).permute(0, 3, 1, 2).numpy()
        np.testing.assert_array_equal(images.many(ids), expected)
        np.testing.assert_array_equal(images.one(int(ids[0])), expected[0])
        assert images.kept <= 100


@pytest.mark.parametrize("task", ["ready_set_go", "bisection", "cued_production", "discrimination"])
def test_rows_are_those_of_the_table(task: str):
    env = TimingEnv(task, **SETTINGS[task][0])
    laboratory = Lanes(env.laboratory.task, env.laboratory.optics.config, 8)
    subject = PerfectSubject(laboratory)
    for _ in range(400):
        laboratory.step(subject.act().action)
    whole, real = laboratory.trials.take_rows()
    columns = laboratory.trials.row_columns()
    table = trial_table(laboratory.task, whole, real, columns).to_dicts()
    assert len(table) > 20
    assert trial_rows(laboratory.task, whole, real, columns) == [
        {name: value for name, value in row.items() if value is not None} for row in table
    ]
