"""How well a subject reproduces intervals: production per sample interval, and learning curves over seeds.

Every function is a pure function of tables (trials: one row per trial). Intervals are in frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gnomon.analysis.bootstrap import (
    N_BOOTSTRAP,
    UNKNOWN,
    Interval,
    LaneMoments,
    Share,
    interval_over_lanes,
    intervals_over_lanes,
    lane_index,
    lane_moments,
    ratio,
    share_over_lanes,
)
from gnomon.records.trials import PRODUCED, TOLERANCE, is_within

COLUMNS = ("task", "lane", "sample_interval", "production_interval", "outcome")
UNJUDGED = ("aborted", "cut_off")  # trials that stopped for reasons other than the subject's answer


@dataclass(frozen=True, eq=False)
class Line:
    """Least-squares line through the mean production intervals, each sample interval counting once."""

    slope: float
    intercept: float  # frames
    slope_interval: Interval  # 95 % over lanes; nan with fewer than two sample intervals
    intercept_interval: Interval


@dataclass(frozen=True, eq=False)
class ErrorSummary:
    """Jazayeri & Shadlen (2010): rmse^2 = bias^2 + variance, each averaged over sample intervals."""

    bias: float  # frames; root of the mean squared bias
    variance: float  # frames^2; mean of the variances (divided by n, so that the identity is exact)
    rmse: float  # frames


@dataclass(frozen=True, eq=False)
class Production:
    """Production per sample interval; arrays run over the I sample intervals, shortest first."""

    task: str
    tolerance: float  # frames
    sample_interval: NDArray[np.int64]  # [I]
    n_trials: NDArray[np.int64]  # [I] trials judged: all but aborted and cut off
    n_productions: NDArray[np.int64]  # [I] trials with a production interval
    mean: NDArray[np.float64]  # [I] frames; nan where nothing was produced
    sd: NDArray[np.float64]  # [I] frames, divided by n - 1; nan with fewer than two productions
    bias: NDArray[np.float64]  # [I] mean - sample interval
    bias_interval: NDArray[np.float64]  # [I, 2] 95 % over lanes
    sd_interval: NDArray[np.float64]  # [I, 2] 95 % over lanes
    share_within: NDArray[np.float64]  # [I] |t_p - t_s| < tolerance, of all judged trials
    share_early: NDArray[np.float64]  # [I] of all judged trials
    share_timeout: NDArray[np.float64]  # [I] of all judged trials
    histogram_edges: NDArray[np.float64]  # [K + 1] frames; a bin holds its left edge
    histogram: NDArray[np.int64]  # [I, K] productions per bin
    within: Share  # all judged trials with |t_p - t_s| < tolerance
    line: Line
    error: ErrorSummary
    bias_shortest: float  # frames
    bias_longest: float  # frames


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Reward rate of S seeds on one grid of G points, which spans what all seeds have seen."""

    x: str
    grid: NDArray[np.float64]  # [G] frames or minutes
    reward_rate: NDArray[np.float64]  # [S, G]
    mean: NDArray[np.float64]  # [G]
    sd: NDArray[np.float64]  # [G] over seeds, divided by S - 1; nan for one seed


def share_within(
    trials: pl.DataFrame, tolerance: float = TOLERANCE, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> Share:
    """The share of judged trials with |t_p - t_s| < tolerance, over all of them; nan without any."""
    kept = trials.filter(~pl.col("outcome").is_in(UNJUDGED))
    lane, lanes = lane_index(kept["lane"])
    hits = np.bincount(lane, kept.select(is_within(tolerance)).to_series().to_numpy(), lanes).astype(np.float64)
    return share_over_lanes(hits, np.bincount(lane, minlength=lanes).astype(np.float64), n_bootstrap, seed)


def production(
    trials: pl.DataFrame,
    tolerance: float = TOLERANCE,
    bin_width: int = 2,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Production:
    """Mean, spread, histogram and success per sample interval, and the line and errors that sum them up."""
    table = per_interval(trials, tolerance)
    answered = table.filter(pl.col("n_productions") > 0)
    produced = productions(trials)
    t_p = produced["production_interval"].to_numpy()
    edges = np.arange(0, t_p.max() + bin_width + 1, bin_width, dtype=np.float64)
    histogram = [
        np.histogram(t_p[(produced["sample_interval"] == interval).to_numpy()], edges)[0]
        for interval in table["sample_interval"]
    ]
    moments = lane_moments(produced)
    means, sds = moments.resampled(n_bootstrap, seed)
    place = (table["n_productions"] > 0).to_numpy()
    bias_interval, sd_interval = np.full((2, table.height, 2), np.nan)
    bias_interval[place] = intervals_over_lanes(means - moments.sample_interval, moments.lanes)
    sd_interval[place] = intervals_over_lanes(sds, moments.lanes)
    bias, variance = answered["bias"].to_numpy(), answered["variance"].to_numpy()
    return Production(
        task=trials["task"][0],
        tolerance=float(tolerance),
        sample_interval=table["sample_interval"].to_numpy(),
        n_trials=table["n_trials"].to_numpy(),
        n_productions=table["n_productions"].to_numpy(),
        mean=table["mean"].to_numpy(),
        sd=table["sd"].to_numpy(),
        bias=table["bias"].to_numpy(),
        bias_interval=bias_interval,
        sd_interval=sd_interval,
        share_within=table["share_within"].to_numpy(),
        share_early=table["share_early"].to_numpy(),
        share_timeout=table["share_timeout"].to_numpy(),
        histogram_edges=edges,
        histogram=np.stack(histogram),
        within=share_within(trials, tolerance, n_bootstrap, seed),
        line=line(moments, n_bootstrap, seed),
        error=ErrorSummary(
            bias=float(np.sqrt(np.mean(bias**2))),
            variance=float(np.mean(variance)),
            rmse=float(np.sqrt(np.mean(bias**2) + np.mean(variance))),
        ),
        bias_shortest=float(table["bias"][0]),
        bias_longest=float(table["bias"][-1]),
    )


def learning_curve(
    metrics_by_seed: Sequence[pl.DataFrame], x: Literal["frames", "minutes"] = "frames", points: int = 200
) -> LearningCurve:
    """Mean and s.d. over seeds of the reward rate, each seed interpolated linearly onto one grid."""
    if not metrics_by_seed:
        raise ValueError("metrics_by_seed is empty; give one table of metrics per seed")
    curves: list[pl.DataFrame] = []
    for index, metrics in enumerate(metrics_by_seed):
        missing = [name for name in (x, "reward_rate") if name not in metrics.columns]
        if missing:
            raise ValueError(f"metrics of seed {index} lack the columns {missing}; they have {metrics.columns}")
        # rows written before the first finished episode have no reward rate
        curve = metrics.select(pl.col(x, "reward_rate").cast(pl.Float64)).fill_nan(None).drop_nulls().sort(x)
        if curve.height < 2:
            raise ValueError(f"metrics of seed {index} have {curve.height} reward rates; 2 are needed")
        curves.append(curve)
    start, end = max(curve[x][0] for curve in curves), min(curve[x][-1] for curve in curves)
    if not start < end:
        raise ValueError(f"the seeds share no {x}: one starts at {start:g}, another ends at {end:g}")
    grid = np.linspace(start, end, points)
    rates = np.stack([np.interp(grid, curve[x].to_numpy(), curve["reward_rate"].to_numpy()) for curve in curves])
    sd = rates.std(axis=0, ddof=1) if len(rates) > 1 else np.full(points, np.nan)
    return LearningCurve(x=x, grid=grid, reward_rate=rates, mean=rates.mean(axis=0), sd=sd)


# What the other behavioural analyses share ----------------------------------------------------------------


def judged(trials: pl.DataFrame) -> pl.DataFrame:
    """The trials that ran to their end; `production_interval` (Float64) is null unless Set was answered.

    Raises ValueError if the table is not one task's trials with at least one production.
    """
    missing = [name for name in COLUMNS if name not in trials.columns]
    if missing:
        raise ValueError(f"the trial table lacks the columns {missing}; it has {trials.columns}")
    if trials.is_empty():
        raise ValueError("the trial table is empty; record some trials first")
    tasks = trials["task"].unique().sort().to_list()
    if len(tasks) > 1:
        raise ValueError(f"the trial table mixes the tasks {tasks}; filter it to one")
    answered = pl.when(pl.col("outcome").is_in(PRODUCED)).then(pl.col("production_interval").cast(pl.Float64))
    kept = trials.filter(~pl.col("outcome").is_in(UNJUDGED)).with_columns(production_interval=answered)
    if kept["production_interval"].null_count() == kept.height:
        raise ValueError(
            f"none of the {trials.height} trials has a production interval; an agent that never answers Set, "
            f"or a task without productions ({tasks[0]!r}), cannot be analysed here"
        )
    return kept


def per_interval(trials: pl.DataFrame, tolerance: float = TOLERANCE) -> pl.DataFrame:
    """One row per sample interval, shortest first: counts, moments and shares, as in `Production`."""
    t_p, t_s = pl.col("production_interval"), pl.col("sample_interval")
    return (
        judged(trials)
        .group_by(t_s.cast(pl.Int64))
        .agg(
            n_trials=pl.len().cast(pl.Int64),
            n_productions=t_p.count().cast(pl.Int64),
            mean=t_p.mean().fill_null(np.nan),
            sd=t_p.std(ddof=1).fill_null(np.nan),
            variance=t_p.var(ddof=0).fill_null(np.nan),
            bias=(t_p - t_s).mean().fill_null(np.nan),
            share_within=((t_p - t_s).abs() < tolerance).fill_null(False).mean(),
            share_early=(pl.col("outcome") == "early").mean(),
            share_timeout=(pl.col("outcome") == "timeout").mean(),
        )
        .sort("sample_interval")
    )


def productions(trials: pl.DataFrame) -> pl.DataFrame:
    """The judged trials that have a production interval."""
    return judged(trials).drop_nulls("production_interval")


def line(moments: LaneMoments, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> Line:
    """Least squares of mean t_p on t_s, every sample interval counting once."""
    t_s = moments.sample_interval.astype(np.float64)
    if len(t_s) < 2:
        return Line(np.nan, np.nan, UNKNOWN, UNKNOWN)
    means = np.concatenate([moments.moments()[0], moments.resampled(n_bootstrap, seed)[0]])  # the data's own first
    there = np.isfinite(means)  # a resample may lack a sample interval; its line goes through the others
    n, filled = there.sum(axis=1), np.where(there, means, 0.0)
    centre, level = ratio(there @ t_s, n), ratio(filled.sum(axis=1), n)
    spread = there @ t_s**2 - n * centre**2
    slopes = ratio(filled @ t_s - n * centre * level, np.where(n > 1, spread, 0.0))
    intercepts = level - slopes * centre
    lanes = int((moments.n > 0).any(axis=1).sum())
    return Line(
        slope=float(slopes[0]),
        intercept=float(intercepts[0]),
        slope_interval=interval_over_lanes(slopes[1:], lanes),
        intercept_interval=interval_over_lanes(intercepts[1:], lanes),
    )
