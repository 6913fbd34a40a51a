"""The power law of the spread: exact on points that follow it, recovered from noisy ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.analysis.performance import bootstrap_moments, percentile_interval
from gnomon.analysis.results import from_json, to_json
from gnomon.analysis.scalar_variability import (
    ScalarVariability,
    fit_power_law,
    fit_power_law_to_each,
    scalar_variability,
)

T_S = np.arange(10, 101, 10)  # frames


@settings(deadline=None, derandomize=True, max_examples=25)
@given(a=st.floats(0.1, 5), b=st.floats(0.02, 0.5), c=st.floats(0.4, 1.8))
def test_exact_points_give_back_the_curve(a: float, b: float, c: float) -> None:
    sd = a + b * T_S.astype(np.float64) ** c
    assert fit_power_law(T_S, sd) == pytest.approx((a, b, c), rel=1e-3, abs=1e-4)


def test_the_vectorised_fit_agrees_with_least_squares() -> None:
    rng = np.random.default_rng(0)
    truth = [(1, 0.3, 0.7), (0, 0.1, 1), (3, 0.01, 1.6), (2, 0, 1), (0, 2, 0.3)]
    rows = [(a + b * T_S**c) * (1 + 0.05 * rng.standard_normal(10)) for a, b, c in truth for _ in range(4)]
    together = fit_power_law_to_each(T_S, np.array(rows))
    for row, (a, b, c) in zip(rows, together, strict=True):
        best = fit_power_law(T_S, row)
        cost = np.sum((a + b * T_S**c - row) ** 2)
        least = np.sum((best[0] + best[1] * T_S ** best[2] - row) ** 2)
        assert cost == pytest.approx(least, rel=1e-3)  # c is known only to 0.005, so costs may differ a little
        assert min(a, b) >= 0


def test_decreasing_spread_gives_a_flat_line() -> None:
    sd = 10.0 - T_S / 20
    np.testing.assert_allclose(fit_power_law_to_each(T_S, sd[None])[0, :2], [sd.mean(), 0])
    a, b, _ = fit_power_law(T_S, sd)
    assert (a, b) == pytest.approx((sd.mean(), 0), abs=1e-3)


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 0.3, 0.7), (0.0, 0.1, 1.0)])
def test_the_interval_of_c_covers_the_truth(a: float, b: float, c: float) -> None:
    covered, estimates = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        t_p = [np.rint(rng.normal(t_s, a + b * t_s**c, 1000)) for t_s in T_S]
        draws = fit_power_law_to_each(T_S, bootstrap_moments(t_p, 100, seed)[1])
        low, high = percentile_interval(draws[:, 2])
        covered += low <= c <= high
        estimates.append(fit_power_law_to_each(T_S, np.array([[v.std(ddof=1) for v in t_p]]))[0, 2])
    # under 95 % coverage fewer than 34 of 40 has probability 0.3 %
    assert covered >= 34
    assert np.mean(estimates) == pytest.approx(c, abs=0.05)


def rows_with_spread(t_s: int, spread: int, n: int) -> list[tuple[int, int, str]]:
    return [(t_s, t_s + spread * sign, "correct") for sign in (-1, 1) for _ in range(n // 2)]


def test_golden_table(trial_table) -> None:
    rows = [row for t_s in (10, 20, 40, 80, 160) for row in rows_with_spread(t_s, t_s // 10, 50)]
    result = scalar_variability(trial_table([*rows, (200, 190, "correct")]), n_bootstrap=200)
    scale = np.sqrt(50 / 49)
    assert result.sample_interval.tolist() == [10, 20, 40, 80, 160]
    assert result.left_out == (200,)
    np.testing.assert_allclose(result.sd, scale * np.array([1, 2, 4, 8, 16]))
    np.testing.assert_allclose(result.weber_fraction, scale * 0.1)
    assert (result.a, result.b, result.c) == pytest.approx((0, 0.1 * scale, 1), abs=2e-3)
    assert result.r_squared == pytest.approx(1, abs=1e-6)
    assert (result.sd_interval[:, 0] <= result.sd).all()
    text = to_json(result)
    assert to_json(from_json(ScalarVariability, text)) == text


def test_errors(trial_table) -> None:
    three = [row for t_s in (10, 20, 40) for row in rows_with_spread(t_s, 2, 20)]
    with pytest.raises(ValueError, match=r"3 sample intervals have 5 or more productions; .* needs 4"):
        scalar_variability(trial_table([*three, (80, 79, "correct")]))
    still = [row for t_s in (10, 20, 40, 80) for row in rows_with_spread(t_s, 0, 20)]
    with pytest.raises(ValueError, match="no variability"):
        scalar_variability(trial_table(still))
