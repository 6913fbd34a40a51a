"""The power law of the spread: exact on points that follow it, recovered from noisy ones."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.analysis.bootstrap import lane_moments, percentile_interval
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
        rows = {
            "lane": np.arange(10_000) % 100,
            "sample_interval": T_S.repeat(1000),
            "production_interval": np.ravel(t_p),
        }
        draws = fit_power_law_to_each(T_S, lane_moments(pl.DataFrame(rows)).resampled(100, seed)[1])
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
    result = scalar_variability(trial_table([*rows, (200, 190, "correct")], lanes=9), n_bootstrap=200)
    scale = np.sqrt(50 / 49)
    assert result.sample_interval.tolist() == [10, 20, 40, 80, 160]
    assert result.left_out == (200,)
    np.testing.assert_allclose(result.sd, scale * np.array([1, 2, 4, 8, 16]))
    np.testing.assert_allclose(result.weber_fraction, scale * 0.1)
    assert (result.a, result.b, result.c) == pytest.approx((0, 0.1 * scale, 1), abs=2e-3)
    assert result.r_squared == pytest.approx(1, abs=1e-6)
    assert (result.sd_interval[:, 0] <= result.sd + 1e-9).all()
    np.testing.assert_allclose(result.residual, 0, atol=0.01)
    assert result.order.value == 1
    assert (result.widest, result.drop.value) == (160, 0)
    assert {(fit.constraint, fit.left_out) for fit in result.fits} == {
        (constraint, left_out) for constraint in ("free", "a >= 0", "a = 0") for left_out in (0, 1)
    }
    assert [fit.c for fit in result.fits] == pytest.approx([1] * 6, abs=0.01)
    assert result.profile_c[np.argmax(result.profile_r_squared)] == pytest.approx(1, abs=0.03)
    assert result.linear.b == pytest.approx(0.1 * scale, abs=1e-3)
    text = to_json(result)
    assert to_json(from_json(ScalarVariability, text)) == text


def test_a_spread_that_falls_at_the_end_is_seen(trial_table) -> None:
    rng = np.random.default_rng(1)
    spread = dict(zip(T_S.tolist(), [3, 4, 5, 6, 7, 8, 9, 9, 6, 4], strict=True))
    rows = [(t_s, int(np.rint(rng.normal(t_s, sd))), "correct") for t_s, sd in spread.items() for _ in range(300)]
    rng.shuffle(rows)
    result = scalar_variability(trial_table(rows, lanes=50), n_bootstrap=200)
    assert result.widest in (70, 80)
    assert result.drop.below(-3)
    assert result.order.value < 0.7
    assert result.r_squared < 0.7
    assert result.residual[-1] < -2
    by_range = {fit.left_out: fit.c for fit in result.fits if fit.constraint == "a = 0"}
    assert by_range[2] > by_range[0] + 0.2  # the exponent depends on what is left out


def test_an_exponent_is_identified_only_if_its_interval_is_narrow(trial_table) -> None:
    rng = np.random.default_rng(2)

    def of(n: int, c: float) -> ScalarVariability:
        rows = [(t_s, int(np.rint(rng.normal(t_s, 0.3 * t_s**c))), "correct") for t_s in T_S.tolist() for _ in range(n)]
        rng.shuffle(rows)
        return scalar_variability(trial_table(rows, lanes=50), n_bootstrap=200)

    many = {(fit.constraint, fit.left_out): fit for fit in of(3000, 0.8).fits}[("a = 0", 0)]
    assert many.identified
    assert many.c_interval[0] < 0.8 < many.c_interval[1]
    few = of(60, 0.3)
    assert not few.identified
    assert np.ptp(few.profile_r_squared[(few.profile_c > 0.2) & (few.profile_c < 1.5)]) < 0.15  # they fit alike


def test_the_constraints_are_kept() -> None:
    sd = -2 + 0.1 * T_S[None].astype(np.float64)  # a line with a negative offset, which only the free fit can have
    assert fit_power_law_to_each(T_S, sd, "free")[0] == pytest.approx([-2, 0.1, 1], abs=1e-6)
    assert fit_power_law_to_each(T_S, sd, "a = 0")[0, 0] == 0
    assert fit_power_law_to_each(T_S, sd, "a >= 0")[0, 0] >= 0


def test_errors(trial_table) -> None:
    three = [row for t_s in (10, 20, 40) for row in rows_with_spread(t_s, 2, 20)]
    with pytest.raises(ValueError, match=r"3 sample intervals have 5 or more productions; .* needs 4"):
        scalar_variability(trial_table([*three, (80, 79, "correct")]))
    still = [row for t_s in (10, 20, 40, 80) for row in rows_with_spread(t_s, 0, 20)]
    with pytest.raises(ValueError, match="no variability"):
        scalar_variability(trial_table(still))
