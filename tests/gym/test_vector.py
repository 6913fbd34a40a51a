"""Many lanes: in every autoreset mode they must be what Gymnasium makes of as many single environments."""

import pickle
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers
from quick_env import QUICK, QUICK_CLICKS, SMALL, assert_same, lanes, unwrapped

from gnomon.gym import TimingVectorEnv
from gnomon.records.trials import schema

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
NUMBER = 6
TASKS = [("ReadySetGo", QUICK), ("CuedProduction", QUICK_CLICKS)]


def singles(name: str, mode: AutoresetMode, **settings: Any) -> SyncVectorEnv:
    """As many single environments, in Gymnasium's own vector."""
    return SyncVectorEnv([lambda: unwrapped(name, **settings)] * NUMBER, autoreset_mode=mode)


def without_lane(infos: Any) -> Any:
    """A single environment does not know which lane it is."""
    if not isinstance(infos, dict):
        return infos
    return {key: without_lane(value) for key, value in infos.items() if key not in ("lane", "_lane")}


def assert_same_answers(one: tuple, other: tuple) -> None:
    for mine, theirs in zip(one, other, strict=True):
        assert_same(without_lane(mine), without_lane(theirs))


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize(("task", "settings"), TASKS)
def test_lanes_are_single_environments(task: str, settings: dict[str, Any], mode: AutoresetMode):
    name = f"gnomon/{task}-v0"
    vector, others = lanes(name, NUMBER, autoreset_mode=mode, **settings), singles(name, mode, **settings)
    assert vector.metadata["autoreset_mode"] is mode
    assert_same_answers(vector.reset(seed=5), others.reset(seed=5))
    generator = np.random.default_rng(6)
    trials = ends = 0
    for _ in range(400):
        actions = generator.integers(len(vector.laboratory.actions), size=NUMBER)
        answer = vector.step(actions)
        assert_same_answers(answer, others.step(actions))
        _, _, terminated, truncated, infos = answer
        over = terminated | truncated
        ends += over.sum()
        trials += "trial" in infos or "trial" in infos.get("final_info", {})
        if mode is DISABLED and over.any():
            assert_same_answers(vector.reset(options={"reset_mask": over}), others.reset(options={"reset_mask": over}))
        elif generator.random() < 0.01:  # also in the middle of trials, and just after an end
            mask = generator.random(NUMBER) < 0.5
            mask[0] = True
            assert_same_answers(vector.reset(options={"reset_mask": mask}), others.reset(options={"reset_mask": mask}))
    assert_same_answers(vector.reset(), others.reset())
    assert ends > 8
    assert trials > (10 if task == "ReadySetGo" else 0)


def test_an_episode_of_one_step_is_possible_in_every_mode():
    for mode in AutoresetMode:
        vector = lanes("gnomon/ReadySetGo-v0", 2, max_episode_steps=1, autoreset_mode=mode, **SMALL)
        vector.reset(seed=0)
        truncations = []
        for _ in range(4):
            _, _, terminated, truncated, _ = vector.step(np.zeros(2, np.int64))
            assert not terminated.any()
            truncations.append(truncated.tolist())
            if mode is DISABLED:
                vector.reset(options={"reset_mask": truncated})
        every_other = [[True, True], [False, False]] * 2
        assert truncations == (every_other if mode is NEXT_STEP else [[True, True]] * 4)


def test_the_default_mode_is_gymnasiums():
    assert lanes("gnomon/ReadySetGo-v0", 2, **SMALL).autoreset_mode is NEXT_STEP
    assert lanes("gnomon/ReadySetGo-v0", 2, autoreset_mode="SAME_STEP", **SMALL).autoreset_mode is SAME_STEP
    assert lanes("gnomon/ReadySetGo-v0", 2, autoreset_mode="Disabled", **SMALL).autoreset_mode is DISABLED
    with pytest.raises(ValueError, match="autoreset_mode is 'never'; choose NEXT_STEP, SAME_STEP, DISABLED"):
        lanes("gnomon/ReadySetGo-v0", 2, autoreset_mode="never", **SMALL)


def test_a_lane_that_is_over_must_be_reset_if_nothing_else_does_it():
    vector = lanes("gnomon/ReadySetGo-v0", 3, autoreset_mode=DISABLED, max_episode_steps=5, **SMALL)
    vector.reset(seed=0)
    vector.reset(options={"reset_mask": np.array([True, True, True])})
    stay = np.zeros(3, np.int64)
    for _ in range(3):
        vector.step(stay)
    vector.reset(options={"reset_mask": np.array([False, True, False])})
    vector.step(stay)
    *_, truncated, _ = vector.step(stay)
    assert truncated.tolist() == [True, False, True]
    with pytest.raises(ValueError, match=r"lanes \[0, 2\] are over; .*reset_mask"):
        vector.step(stay)
    vector.reset(options={"reset_mask": truncated})
    assert vector.step(stay)[3].tolist() == [False, False, False]


@pytest.mark.parametrize("mask", [np.ones(2, bool), np.ones(3), np.zeros(3, bool), [[True, True, True]], "all"])
def test_a_wrong_mask_is_refused(mask: Any):
    vector = lanes("gnomon/ReadySetGo-v0", 3, **SMALL)
    vector.reset(seed=0)
    with pytest.raises(ValueError, match=r"reset_mask is .* bool \[3\], true at least once"):
        vector.reset(options={"reset_mask": mask})


def test_the_first_reset_is_of_every_lane():
    vector = lanes("gnomon/ReadySetGo-v0", 2, **SMALL)
    with pytest.raises(ValueError, match="lanes that have never been reset"):
        vector.reset(options={"reset_mask": np.array([True, False])})


def test_seeds_of_single_lanes():
    vector, others = lanes("gnomon/ReadySetGo-v0", NUMBER, **QUICK), singles("gnomon/ReadySetGo-v0", NEXT_STEP, **QUICK)
    generator = np.random.default_rng(0)
    given = [3, 3, 8, 1, 9, 2]
    seeds: list[Any] = [given, [None, 7, None, 7, 0, None], None, 4, np.array(given)]
    for seed in seeds:
        theirs = seed.tolist() if isinstance(seed, np.ndarray) else seed
        assert_same_answers(vector.reset(seed=cast(Any, seed)), others.reset(seed=theirs))
        for _ in range(40):
            actions = generator.integers(9, size=NUMBER)
            assert_same_answers(vector.step(actions), others.step(actions))
    with pytest.raises(ValueError, match="seed has 2 entries; it must be a number, or one for each of 6"):
        vector.reset(seed=[1, 2])


def test_lanes_without_a_seed_differ():
    vector = lanes("gnomon/ReadySetGo-v0", 40, **SMALL)
    images, _ = vector.reset()
    assert len({image.tobytes() for image in images}) > 3


def test_actions_of_torch_and_of_another_shape():
    vector = lanes("gnomon/ReadySetGo-v0", 3, **SMALL)
    plain = np.array([1, 2, 3])

    def after(actions: Any) -> tuple:
        vector.reset(seed=0)
        return vector.step(actions)

    for actions in (plain[:, None], torch.from_numpy(plain), torch.tensor([[1], [2], [3]]), [1, 2, 3]):
        assert_same(after(actions), after(plain))
    wrong = (np.array([0, 9, 0]), np.array([0, -1, 0]), plain[:2], plain[None], plain.astype(float), 1)
    for actions in wrong:
        with pytest.raises(ValueError, match=r"whole numbers of shape \[3\] from 0 to 8: 0 stay"):
            vector.step(actions)


def test_options_force_the_next_trial_of_each_lane():
    name, settings = "gnomon/ReadySetGo-v0", QUICK | {"intervals": (1, 2, 3, 4, 5)}
    vector = lanes(name, NUMBER, autoreset_mode=SAME_STEP, **settings)
    wanted = [1, 2, 3, 4, 5, 1]
    generator = np.random.default_rng(1)

    def first_intervals(options: dict[str, Any]) -> dict[int, int]:
        vector.reset(seed=0, options=options)
        first: dict[int, int] = {}
        for _ in range(200):
            for lane, info in vector.step_lanes(generator.integers(9, size=NUMBER))[4].items():
                trial = info.get("final_info", info).get("trial")
                if trial and trial["episode"] == trial["trial"] == 0:
                    first.setdefault(lane, trial["sample_interval"])
        assert len(first) > NUMBER / 2
        return first

    for lane, interval in first_intervals({"sample_interval": wanted}).items():
        assert interval == wanted[lane]
    assert set(first_intervals({"sample_interval": 4}).values()) == {4}
    with pytest.raises(ValueError, match="give one whole number, or one for each of 6 lanes"):
        vector.reset(options={"sample_interval": [1, 2]})
    with pytest.raises(ValueError, match="unknown option 'mask'"):
        vector.reset(options={"mask": np.ones(NUMBER, bool)})


@pytest.mark.parametrize("mode", AutoresetMode)
def test_gymnasiums_wrappers_take_the_lanes(mode: AutoresetMode):
    env: Any = lanes("gnomon/ReadySetGo-v0", 3, autoreset_mode=mode, dtype="float32", **QUICK)
    for wrapper in (
        wrappers.RecordEpisodeStatistics,
        # These refuse the other modes, of whatever environment.
        *([wrappers.FlattenObservation, wrappers.NormalizeReward] if mode is not SAME_STEP else []),
        *([wrappers.NormalizeObservation] if mode is NEXT_STEP else []),
        wrappers.DictInfoToList,
    ):
        env = wrapper(env)
    env.reset(seed=0)
    env.action_space.seed(0)
    episodes = trials = 0
    for _ in range(200):
        pixels, _, terminated, truncated, infos = env.step(env.action_space.sample())
        assert pixels.shape == ((3, 8, 8, 3) if mode is SAME_STEP else (3, 8 * 8 * 3))
        over = terminated | truncated
        for lane, info in enumerate(infos):
            told = info.get("final_info", info)
            trials += "trial" in told
            assert set(told.get("trial", {})) <= set(schema(env.unwrapped.laboratory.task))
            assert ("episode" in info) == over[lane]
            episodes += over[lane]
            if over[lane]:
                assert info["episode"]["l"] <= 90
        if mode is DISABLED and over.any():
            env.reset(options={"reset_mask": over})
    assert episodes > 3
    assert trials > 2


def test_pickled_in_the_middle_goes_on_the_same():
    actions = np.random.default_rng(1).integers(9, size=(150, NUMBER))
    env = lanes("gnomon/ReadySetGo-v0", NUMBER, **QUICK)
    env.reset(seed=2)
    for row in actions[:70]:
        env.step(row)
    copy = pickle.loads(pickle.dumps(env))
    for row in actions[70:]:
        assert_same(copy.step(row), env.step(row))
    assert_same(copy.reset(), env.reset())


def test_rendering_shows_what_was_returned():
    for mode in (NEXT_STEP, SAME_STEP):
        vector = lanes("gnomon/ReadySetGo-v0", 2, render_mode="rgb_array", max_episode_steps=2, autoreset_mode=mode)
        single = unwrapped("gnomon/ReadySetGo-v0", render_mode="rgb_array")
        vector.reset(seed=0)
        single.reset(seed=0)
        for _ in range(2):
            vector.step(np.array([2, 2]))
            single.step(2)
        pictures, shown = vector.render(), single.render()
        assert pictures is not None
        assert isinstance(shown, np.ndarray)
        assert len(pictures) == 2
        assert np.array_equal(pictures[0], shown) == (mode is NEXT_STEP)
    assert TimingVectorEnv(2, "ready_set_go", **SMALL).render() is None


def test_make_vec_without_the_entry_point_is_the_same():
    settings = {"num_envs": 3, **QUICK}
    mine, theirs = (
        gym.make_vec("gnomon/ReadySetGo-v0", vectorization_mode=mode, **settings)
        for mode in ("vector_entry_point", "sync")
    )
    assert_same_answers(mine.reset(seed=0), theirs.reset(seed=0))
    for _ in range(100):
        actions = mine.action_space.sample()
        assert_same_answers(mine.step(actions), theirs.step(actions))
    theirs.close()
