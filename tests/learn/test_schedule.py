"""How learning rates and the entropy cost fall in the course of a run."""

import pytest

from gnomon.config import Schedule

SCHEDULE = Schedule(frames=1_000, final_learning_rate=0.25, final_entropy=0.01)


@pytest.mark.parametrize(("frames", "share"), [(0, 1.0), (500, 0.625), (1_000, 0.25), (5_000, 0.25)])
def test_learning_rates_fall_in_a_straight_line(frames: int, share: float) -> None:
    assert SCHEDULE.rate_left(frames) == pytest.approx(share)


@pytest.mark.parametrize(("frames", "share"), [(0, 1.0), (500, 0.1), (1_000, 0.01), (5_000, 0.01)])
def test_the_entropy_cost_falls_in_equal_ratios(frames: int, share: float) -> None:
    assert SCHEDULE.entropy_left(frames) == pytest.approx(share)


def test_the_papers_schedule_is_constant() -> None:
    for frames in (0, 10**9, 3_200_000_000):
        assert (Schedule().rate_left(frames), Schedule().entropy_left(frames)) == (1.0, 1.0)
