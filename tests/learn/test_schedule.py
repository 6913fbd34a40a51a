"""One owner of the learning rate: schedule and factors, and how the entropy cost falls."""

import pytest

from gnomon.config import Schedule
from gnomon.learn.schedule import LearningRate, Progress, ramp

SCHEDULE = Schedule(frames=1_000, anneal_from=0.5, anneal_until=0.94, final_learning_rate=0.25, final_entropy=0.01)


@pytest.mark.parametrize(
    ("frames", "share"), [(0, 1.0), (500, 1.0), (720, 0.625), (940, 0.25), (1_000, 0.25), (5_000, 0.25)]
)
def test_learning_rates_fall_in_a_straight_line(frames: int, share: float) -> None:
    assert LearningRate(SCHEDULE).factor(Progress(frames, 1_000)) == pytest.approx(share)


@pytest.mark.parametrize(("frames", "cost"), [(0, 0.04), (500, 0.04), (720, 0.004), (940, 0.0004), (1_000, 0.0004)])
def test_the_entropy_cost_falls_in_equal_ratios(frames: int, cost: float) -> None:
    rate = LearningRate(SCHEDULE)
    assert rate.entropy_cost(0.04, Progress(frames, 1_000)) == pytest.approx(cost)


def test_factors_of_aids_multiply() -> None:
    rate = LearningRate(SCHEDULE, {"kl_limit": 0.5, "another": 0.7})
    assert rate.factor(Progress(720, 1_000)) == pytest.approx(0.625 * 0.35)


def test_the_papers_schedule_is_constant() -> None:
    rate = LearningRate(Schedule())
    for frames in (0, 10**9, 3_200_000_000):
        progress = Progress(frames, Schedule().frames)
        assert (rate.factor(progress), rate.entropy_cost(0.01, progress)) == (1.0, 0.01)


def test_a_ramp_without_length_is_a_step() -> None:
    assert [ramp(value, 0.5, 0.5) for value in (0.4, 0.5, 0.6)] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(("frames", "share"), [(0, 1.0), (100, 1 / 2), (200, 1 / 3), (900, 1 / 10)])
def test_rates_are_a_half_after_the_halving_frames_and_a_third_after_twice_as_many(frames: int, share: float) -> None:
    rate = LearningRate(Schedule(frames=1_000, halving_frames=100, final_learning_rate=0.0))
    assert rate.factor(Progress(frames, 1_000)) == pytest.approx(share * (1 - frames / 1_000))
    assert rate.entropy_cost(0.5, Progress(frames, 1_000)) == 0.5
