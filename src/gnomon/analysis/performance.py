"""How well a subject reproduces intervals: production per sample interval, and learning curves over seeds.

Every function is a pure function of tables (trials: one row per trial). Intervals are in frames.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

COLUMNS = ("task", "sample_interval", "production_interval", "outcome")
PRODUCED = ("correct", "wrong")  # outcomes of trials in which the subject answered after Set
UNJUDGED = ("aborted", "cut_off")  # trials that stopped for reasons other than the subject's answer
CONFIDENCE = (2.5, 97.5)  # percent; every bootstrap interval here is a 95 % percentile interval
N_BOOTSTRAP = 1000


@dataclass(frozen=True, eq=False)
class Line:
    """Least-squares line through the mean production intervals, each sample interval counting once."""

    slope: float
    intercept: float  # frames
    slope_interval: tuple[float, float]  # 95 % bootstrap; nan with fewer than two sample intervals
    intercept_interval: tuple[float, float]


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
    share_within: NDArray[np.float64]  # [I] |t_p - t_s| < tolerance, of all judged trials
    share_early: NDArray[np.float64]  # [I] of all judged trials
    share_timeout: NDArray[np.float64]  # [I] of all judged trials
    histogram_edges: NDArray[np.float64]  # [K + 1] frames; a bin holds its left edge
    histogram: NDArray[np.int64]  # [I, K] productions per bin
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


def share_within(trials: pl.DataFrame, tolerance: float = 8.0) -> tuple[float, int]:
    """The share of judged trials with |t_p - t_s| < tolerance, and their number; nan without any."""
    kept = trials.filter(~pl.col("outcome").is_in(UNJUDGED))
    near = (pl.col("production_interval") - pl.col("sample_interval")).abs() < tolerance
    within = kept.select((near & pl.col("outcome").is_in(PRODUCED)).fill_null(False)).to_series()
    return (int(within.sum()) / kept.height if kept.height else math.nan), kept.height


def production(
    trials: pl.DataFrame,
    tolerance: float = 8.0,
    bin_width: int = 2,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Production:
    """Mean, spread, histogram and success per sample interval, and the line and errors that sum them up."""
    table = per_interval(trials, tolerance)
    answered = table.filter(pl.col("n_productions") > 0)
    t_p = samples(trials)  # one array per answered sample interval
    edges = np.arange(0, max(values.max() for values in t_p) + bin_width + 1, bin_width, dtype=np.float64)
    counts = {
        interval: np.histogram(values, edges)[0]
        for interval, values in zip(answered["sample_interval"], t_p, strict=True)
    }
    nothing = np.zeros(len(edges) - 1, dtype=np.int64)
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
        share_within=table["share_within"].to_numpy(),
        share_early=table["share_early"].to_numpy(),
        share_timeout=table["share_timeout"].to_numpy(),
        histogram_edges=edges,
        histogram=np.stack([counts.get(interval, nothing) for interval in table["sample_interval"]]),
        line=line(answered["sample_interval"].to_numpy(), t_p, n_bootstrap, seed),
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


def per_interval(trials: pl.DataFrame, tolerance: float = 8.0) -> pl.DataFrame:
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


def samples(trials: pl.DataFrame) -> list[NDArray[np.float64]]:
    """Production intervals of each sample interval that has any, shortest sample interval first."""
    answered = judged(trials).drop_nulls("production_interval").sort("sample_interval")
    groups = answered.partition_by("sample_interval", maintain_order=True)
    return [group["production_interval"].to_numpy() for group in groups]


def line(sample_interval: NDArray[np.int64], t_p: Sequence[NDArray[np.float64]], n_bootstrap: int, seed: int) -> Line:
    """Least squares of mean t_p on t_s; the intervals come from resampling trials within each t_s."""
    if len(sample_interval) < 2:
        return Line(np.nan, np.nan, (np.nan, np.nan), (np.nan, np.nan))
    means = np.array([values.mean() for values in t_p])
    resampled, _ = bootstrap_moments(t_p, n_bootstrap, seed)
    centred = sample_interval - sample_interval.mean()
    slopes = np.append(resampled, means[None], axis=0) @ centred / (centred @ centred)  # the data's own last
    intercepts = np.append(resampled.mean(axis=1), means.mean()) - slopes * sample_interval.mean()
    return Line(
        slope=float(slopes[-1]),
        intercept=float(intercepts[-1]),
        slope_interval=percentile_interval(slopes[:-1]),
        intercept_interval=percentile_interval(intercepts[:-1]),
    )


def bootstrap_moments(
    t_p: Sequence[NDArray[np.float64]], n_bootstrap: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and s.d. (n - 1) of resampled productions, both [n_bootstrap, I].

    Productions are whole frames, so resampling n trials is one multinomial draw over the distinct values.
    """
    rng = np.random.default_rng(seed)
    means, sds = np.empty((n_bootstrap, len(t_p))), np.full((n_bootstrap, len(t_p)), np.nan)
    for index, values in enumerate(t_p):
        distinct, counts = np.unique(values, return_counts=True)
        n, centre = len(values), values.mean()
        draws = rng.multinomial(n, counts / n, size=n_bootstrap)  # [n_bootstrap, distinct]
        shift = draws @ (distinct - centre) / n
        means[:, index] = centre + shift
        if n > 1:
            variance = draws @ (distinct - centre) ** 2 / n - shift**2
            sds[:, index] = np.sqrt(np.maximum(variance, 0.0) * n / (n - 1))
    return means, sds


def percentile_interval(draws: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % percentile interval of bootstrap draws."""
    low, high = np.percentile(draws, CONFIDENCE)
    return float(low), float(high)
