"""Units that count up and down are found to be a counter, and others are not."""

from types import SimpleNamespace

import numpy as np
import pytest
from made_up_units import evaluation, noise
from numpy.typing import NDArray

from gnomon.analysis.counter import counter
from gnomon.analysis.units import (
    population,
)

# The counter.


def test_a_counter_rises_falls_and_comes_back() -> None:
    def count(known: SimpleNamespace) -> NDArray:
        # Counts to t_s, then down again; sign and place in the population are hidden from the analysis.
        level = np.where(known.set >= 0, known.t_s - known.set, np.maximum(known.ready, 0))
        return -0.1 * level[..., None] * np.array([1, 0, 2, 0, -1, 0]) + 0.01 * noise(known)

    found = population(*evaluation(count, [(t_s, t_s, "correct") for t_s in (10, 20, 30)])).counter
    assert found.rise.value > 0.99
    assert found.fall.value < -0.99
    assert found.distance.value < 0.05
    assert found.turn.value == pytest.approx(0, abs=1)
    assert found.before_set.value == pytest.approx(1, abs=0.1)
    assert found.order_at_set.value == 1
    assert found.height_per_frame.value == pytest.approx(1 / 30, rel=0.1)
    np.testing.assert_allclose(found.at_set, (np.array([10, 20, 30]) - 1) / 30, atol=0.05)
    assert (found.share_rising, found.share_falling) == (1, 1)
    assert not found.rise.known  # two lanes are too few for an interval


def test_a_clock_that_never_turns_is_no_counter() -> None:
    def climb(known: SimpleNamespace) -> NDArray:
        level = np.where(known.set >= 0, known.t_s + known.set, np.maximum(known.ready, 0))
        return 0.1 * level[..., None] * np.ones(6) + 0.01 * noise(known)

    found = population(*evaluation(climb)).counter
    assert found.rise.value > 0.99
    assert found.fall.value > 0.99
    assert found.distance.value > 0.5
    assert found.turn.value > 5
    assert found.before_set.value == pytest.approx(0.5, abs=0.1)
    assert found.share_falling == 0


def test_a_counter_of_many_lanes_has_intervals() -> None:
    rng = np.random.default_rng(0)
    t_s = np.tile([10, 20, 30], 40)
    up_and_down = [np.concatenate([np.arange(t), np.arange(t, 0, -1)]) + rng.normal(0, 0.5, 2 * t) for t in t_s]
    found = counter(up_and_down, t_s, np.arange(120) % 12, n_bootstrap=200)
    assert found.rise.above(0.9)
    assert found.fall.below(-0.9)
    assert found.order_at_set.above(0.9)
    assert found.fallen.below(-0.4)
    assert found.distance.below(0.1)
