"""Regression over trials against the textbook's, and intervals that come from lanes."""

import math

import numpy as np
import polars as pl
import pytest

from gnomon.analysis.lane_regression import regress


def table(lanes: int = 20, trials: int = 30, seed: int = 0, between: float = 0.0) -> pl.DataFrame:
    """y = 3 + 2 a - b + noise of s.d. 1; lanes may differ by an offset."""
    draw = np.random.default_rng(seed)
    n = lanes * trials
    a, b = draw.normal(size=n), draw.normal(size=n)
    lane = np.repeat(np.arange(lanes), trials)
    offset = between * draw.normal(size=lanes)[lane]
    y = 3 + 2 * a - b + draw.normal(size=n) + offset
    return pl.DataFrame({"lane": lane, "a": a, "b": b, "y": y, "arm": np.where(lane < lanes // 2, "one", "two")})


def test_the_coefficients_are_those_of_least_squares() -> None:
    data = table()
    fit = regress(data, "y", ["a", "b"])
    x = np.column_stack([np.ones(data.height), data["a"], data["b"]])
    expected, residual, *_ = np.linalg.lstsq(x, data["y"].to_numpy(), rcond=None)
    assert fit.coefficients == pytest.approx(expected)
    assert fit.sd == pytest.approx(math.sqrt(residual[0] / (data.height - 3)))
    assert fit.share("a", "b").value == pytest.approx(expected[1] / (expected[1] + expected[2]))


def test_the_interval_widens_when_lanes_differ() -> None:
    def width(between: float) -> float:
        low, high = regress(table(between=between), "y", ["a", "b"]).estimate("constant").interval
        return high - low

    assert width(3.0) > 5 * width(0.0)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(60):
        low, high = regress(table(seed=seed), "y", ["a", "b"]).estimate("a").interval
        hits += low < 2 < high
    assert 50 <= hits <= 60


def test_every_resample_has_every_arm() -> None:
    """A predictor that only one arm of eight lanes has must be known in every resample."""
    data = table(lanes=64).with_columns((pl.col("lane") >= 56).alias("rare")).with_columns(
        pl.when("rare").then(pl.lit("rare")).otherwise(pl.lit("usual")).alias("arm")
    )  # fmt: skip
    draws = regress(data, "y", ["a", "rare"]).draws[:, 2]
    assert np.abs(draws).min() > 0  # a resample without it would have a coefficient of exactly 0


def test_predictors_that_cannot_be_told_apart_have_no_coefficients() -> None:
    fit = regress(table().with_columns((2 * pl.col("a")).alias("b")), "y", ["a", "b"])
    assert math.isnan(fit.estimate("a").value)
    assert not fit.estimate("a").known


def test_few_lanes_give_no_interval() -> None:
    assert not regress(table(lanes=4), "y", ["a"]).estimate("a").known
