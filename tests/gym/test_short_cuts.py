"""What makes the single environment fast, clicks beside the target and images nearby, changes nothing."""

import numpy as np
import pytest
import torch
from quick_env import SMALL

from gnomon.gym.env import TimingEnv
from gnomon.gym.images import Images
from gnomon.gym.lanes import seed_of
from gnomon.gym.settings import ImageConfig
from gnomon.lab.laboratory import CLICK, Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import ReadySetGo


def test_a_click_beside_the_target_takes_the_short_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    env = TimingEnv("cued_production", **SMALL)
    env.reset(seed=0)
    busy = []
    step = env.laboratory.step
    monkeypatch.setattr(env.laboratory, "step", lambda action: busy.append(0) or step(action))
    actions = np.random.default_rng(0).integers(CLICK + 1, size=2_000)
    for action in actions:
        env.step(action)
    assert len(busy) < (actions == CLICK).sum() / 2


def test_clicks_on_the_cross_and_held_buttons_are_the_laboratorys() -> None:
    env = TimingEnv("cued_production", fixation_size=0.9, gaze_step=60, gaze_limit=20.0, pause=2, **SMALL)
    env.reset(seed=5)
    laboratory = Laboratory(env.laboratory.task, env.laboratory.optics.config, seed=seed_of(5))
    chance = np.random.default_rng(6)
    on_cross = 0
    for _ in range(1_500):
        action = CLICK if chance.random() < 0.5 else int(chance.integers(CLICK))
        on_cross += action == CLICK and bool(env.laboratory.inside_boxes[0, env.laboratory.gaze])
        env.step(action)
        laboratory.step(torch.tensor([action]))
        for name in ("away", "hover", "running", "due", "picture"):
            mine, theirs = (getattr(trials, name) for trials in (env.laboratory.trials, laboratory.trials))
            assert torch.equal(mine, theirs), name
        assert torch.equal(env.laboratory.button, laboratory.button)
    assert on_cross > 100


def test_images_nearby_are_made_with_the_first_and_are_right() -> None:
    laboratory = Laboratory(ReadySetGo(), OpticsConfig(retina=(8, 8)))
    images = Images(laboratory, ImageConfig())
    side, count = laboratory.lattice.side, laboratory.lattice.count
    corner, middle = count + side - 1, 2 * count + side * (side // 2) + side // 2
    for number in (corner, middle):
        before = images.kept
        expected = laboratory.render(torch.tensor([number]))[0].numpy()
        np.testing.assert_array_equal(images.one(number), expected)
        assert images.kept > before + 1
        kept = images.kept
        for near in (number - 1, number + side) if number == corner else (number + 1, number - side - 1):
            expected = laboratory.render(torch.tensor([near]))[0].numpy()
            np.testing.assert_array_equal(images.one(near), expected)
        assert images.kept == kept


def test_a_large_retina_makes_one_image_at_a_time() -> None:
    images = Images(Laboratory(ReadySetGo(), OpticsConfig(retina=(512, 512))), ImageConfig())
    images.one(0)
    assert images.kept == 1
