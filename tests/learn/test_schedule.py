"""How steps, exploration and reward change in the course of a run."""

from dataclasses import replace

import pytest

from gnomon.config import LearningConfig
from gnomon.learn.schedule import Standing, between, rates

CONFIG = LearningConfig(
    frames=1_000, learning_rate=1e-3, vision_learning_rate=4e-3, final_learning_rate=0.25, careful_learning_rate=0.04,
    entropy_cost=0.04, final_entropy_cost=0.01, mastery=0.85, polish_frames=100, vision_frames=10_000,
)  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "best", "share"),
    [
        (0, 0.0, 1.0), (500, 0.0, 1.0), (720, 0.0, 0.625), (940, 0.0, 0.25), (1_000, 0.0, 0.25), (5_000, 0.0, 0.25),
        (0, 0.5, 1.0), (0, 0.7, 0.2), (0, 0.9, 0.04), (0, 1.0, 0.04), (1_000, 1.0, 0.01),
    ],
)  # fmt: skip
def test_learning_rates_fall_in_the_second_half_and_with_the_best_success(
    frames: int, best: float, share: float
) -> None:
    now = rates(CONFIG, Standing(frames, best))
    assert now.learning == pytest.approx(1e-3 * share)
    assert now.vision == pytest.approx(4e-3 * share)
    assert now.entropy == 0.04


@pytest.mark.parametrize(("frames", "entropy"), [(200, 0.04), (250, 0.02), (300, 0.01), (900, 0.01)])
def test_what_is_mastered_is_polished(frames: int, entropy: float) -> None:
    assert rates(CONFIG, Standing(frames, best=0.85, mastered=200)).entropy == pytest.approx(entropy)


@pytest.mark.parametrize(("best", "share"), [(0.0, 1.0), (0.4, 1.0), (0.5, 0.5), (0.6, 0.0), (1.0, 0.0)])
def test_the_value_shapes_the_controller_until_the_task_is_half_learned(best: float, share: float) -> None:
    standing = Standing(best=best)
    assert rates(replace(CONFIG, value_until=0.6), standing).value_share == pytest.approx(share)
    assert rates(replace(CONFIG, value_until=None), standing).value_share == 1
    learned = replace(CONFIG, value_until=0.6, critic_memory=None)  # V-trace needs the head: it must stay good
    assert rates(learned, standing).value_share == 1


@pytest.mark.parametrize(("frames", "share"), [(0, 1.0), (940, 1.0), (955, 0.5), (970, 0.0), (1_000, 0.0)])
def test_rewards_are_graded_until_shortly_before_the_end(frames: int, share: float) -> None:
    config = replace(CONFIG, grading=12.0, repay_discount=True, discount=0.9)
    now = rates(config, Standing(frames))
    assert now.graded == pytest.approx(share)
    assert now.grading is None or (now.grading.width, now.grading.discount) == (12.0, 0.9)
    assert rates(replace(CONFIG, grading=None), Standing(frames)).grading is None


@pytest.mark.parametrize(("frames", "width"), [(200, 16.0), (250, 8.0), (300, 4.0), (900, 4.0)])
def test_rewards_are_graded_more_strictly_once_the_task_is_mastered(frames: int, width: float) -> None:
    standing = Standing(frames, best=0.85, mastered=200)
    for final, expected in ((4.0, width), (None, 16.0)):
        now = rates(replace(CONFIG, grading=16.0, final_grading=final), standing)
        assert now.grading is not None
        assert now.grading.width == pytest.approx(expected)


def test_vision_learns_for_so_many_frames() -> None:
    config = replace(CONFIG, vision_frames=300)
    assert rates(config, Standing(299)).vision == 4e-3
    assert rates(config, Standing(300)).vision == 0.0
    assert rates(config, Standing(300)).learning == 1e-3


@pytest.mark.parametrize(
    ("first", "final", "half"), [(0.04, 0.01, 0.02), (0.04, None, 0.04), (0.04, 0.0, 0.02), (0.0, 0.04, 0.02)]
)
def test_a_value_goes_from_first_to_final(first: float, final: float | None, half: float) -> None:
    ends = [between(first, final, progress) for progress in (0.0, 0.5, 1.0)]
    assert ends == pytest.approx([first, half, first if final is None else final])


def test_nothing_changes_where_nothing_is_asked_for() -> None:
    steady = replace(
        CONFIG,
        final_learning_rate=1.0,
        careful_learning_rate=1.0,
        final_entropy_cost=None,
        value_until=None,
        grading=None,
    )
    assert rates(steady, Standing(1_000, best=1.0)) == rates(steady, Standing())


@pytest.mark.parametrize("settings", [{"grading": None}, {"discount": 0.0}])
def test_only_a_graded_reward_can_repay_a_discount(settings: dict[str, float | None]) -> None:
    with pytest.raises(ValueError, match="repay_discount needs a grading and a discount above 0"):
        replace(CONFIG, repay_discount=True, **settings)


def test_only_solved_values_can_be_told_the_time() -> None:
    with pytest.raises(ValueError, match="only values that are solved can be told"):
        replace(CONFIG, critic_told=True, critic_memory=None)
