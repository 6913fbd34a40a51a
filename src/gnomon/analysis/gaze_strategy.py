"""What the paper says of the gaze, as numbers.

Of the recurrent agent: it holds still near the cross until Set (`Hold`), then shifts steadily to Go (`Shift`). Of the
feedforward agent: from Ready on it follows one path, leaves it at Set (`Branch`), and the paths grow with the sample
interval (`Expansion`). How alike single trials are is in `gnomon.analysis.gaze` (stereotypy).

Only completed trials count. Angles are in degrees; a path is a gaze's (yaw, pitch). Intervals are over lanes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
import xarray as xr
from numpy.typing import NDArray

from gnomon.analysis.bootstrap import N_BOOTSTRAP, Array, Estimate, interval_over_lanes, lane_index, lane_weights, ratio
from gnomon.analysis.counter import mean_over_intervals
from gnomon.analysis.gaze import path_end
from gnomon.analysis.units import UNDER_WAY, completed_trials, cut_out
from gnomon.lab.optics import MONITOR_HALF_SIDE
from gnomon.lab.screen import Box
from gnomon.lab.tasks.ready_set_go import ReadySetGo

RADII = (1.0, 2.0, 5.0)  # degrees around the cross
TIMES = np.linspace(0, 1, 21)  # of the way from Set to the response
SINCE_SET = np.arange(-10, 31)  # frames around Set at which paths are compared
BRANCHED = 15  # frames after Set: the cue is gone, and the gaze has had time to leave


@dataclass(frozen=True, eq=False)
class Hold:
    """The gaze from Ready to Set."""

    distance: Estimate  # degrees from the cross, mean over frames
    within: tuple[Estimate, ...]  # share of the frames within 1, 2 and 5 degrees of the cross
    share_moved: Estimate  # of the frames
    displacement: Estimate  # degrees from where it was at Ready to where it is at Set, mean over trials
    drift: Estimate  # degrees; length of the mean displacement: what is common to the trials
    sample_interval: NDArray[np.int64]  # [I] frames
    distance_at_set: Array  # [I] degrees from the cross


@dataclass(frozen=True, eq=False)
class Shift:
    """The gaze's distance to Go from Set to the response."""

    time: Array  # [P] 0 at Set, 1 at the response
    sample_interval: NDArray[np.int64]  # [I] frames
    distance: Array  # [I, P] degrees to Go's centre, mean over trials
    r2: Array  # [I] of a straight line through the mean distance
    linearity: Estimate  # mean over sample intervals of r2
    half_way: Estimate  # share of the time after Set at which half of the way is done: 0.5 if straight, near 1 if late


@dataclass(frozen=True, eq=False)
class Branch:
    """How far trials in which Set has come are from those in which it has not, at equal times since Ready.

    Distances between the two mean paths are in units of the spread: the root mean square distance of single trials in
    which Set has not come from their mean.
    """

    sample_interval: NDArray[np.int64]  # [B] frames; all but the longest, which nobody outlasts
    since_set: NDArray[np.int64]  # [D] frames, negative before Set
    separation: Array  # [B, D] nan where too few trials are under way
    before: Estimate  # mean over sample intervals and the frames before Set: what chance gives
    after: Estimate  # mean over sample intervals, 15 frames after Set
    branching: Estimate  # after less before: above 0 if the gaze leaves the common path at Set


@dataclass(frozen=True, eq=False)
class Expansion:
    """How large the mean path is, from Ready to the response."""

    sample_interval: NDArray[np.int64]  # [I] frames
    extent: Array  # [I] degrees; its greatest distance from where it begins
    slope: Estimate  # of the extent, in degrees per frame of sample interval


@dataclass(frozen=True, eq=False)
class GazeStrategy:
    """Hold and shift, branch and expand."""

    n_trials: int
    hold: Hold
    shift: Shift
    branch: Branch
    expansion: Expansion


def gaze_strategy(
    recording: xr.Dataset, trials: pl.DataFrame, task: ReadySetGo, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> GazeStrategy:
    """The paper's statements about the gaze; `trials` and `task` are the evaluation's own."""
    missing = [name for name in ("yaw", "pitch") if name not in recording]
    if missing:
        raise ValueError(f"the recording lacks {', '.join(missing)}; it has {', '.join(map(str, recording))}")
    used = completed_trials(recording, trials)
    angles = np.stack([recording["yaw"].values, recording["pitch"].values], axis=-1)  # [lane, frame, 2]
    paths = cut_out(angles, used.with_columns(path_end(recording, used)), "ready_frame", "path_end")
    lane, lanes = lane_index(used["lane"])
    resamples = lane_weights(lanes, n_bootstrap, seed)
    gazes = _Gazes(paths, used["sample_interval"].to_numpy().astype(np.int64), lane, lanes, resamples)
    return GazeStrategy(
        n_trials=used.height,
        hold=_hold(gazes, direction(task.cross().box)),
        shift=_shift(gazes, direction(task.squares()[2].box)),
        branch=_branch(gazes),
        expansion=_expansion(gazes),
    )


def direction(box: Box) -> Array:
    """The unit vector (right, up, forward) from the eye to a box's centre."""
    x, y = box.left + box.width / 2, box.top + box.height / 2
    vector = np.array([(x - 0.5) * 2 * MONITOR_HALF_SIDE, (0.5 - y) * 2 * MONITOR_HALF_SIDE, 1.0])
    return vector / np.linalg.norm(vector)


def angle_to(target: Array, path: Array) -> Array:
    """Degrees between a direction and each gaze (yaw, pitch) of a path [frame, 2]: [frame]."""
    yaw, pitch = np.deg2rad(path).T
    gaze = np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)], axis=-1)
    return np.rad2deg(np.arccos(np.clip(gaze @ target, -1.0, 1.0)))


@dataclass(frozen=True, eq=False)
class _Gazes:
    """Paths from Ready on, one per trial, and the resamples of their lanes."""

    paths: list[Array]  # each [frame, 2] yaw, pitch in degrees
    t_s: NDArray[np.int64]  # [trials]
    lane: NDArray[np.int64]  # [trials]
    lanes: int
    resamples: Array  # [N, lanes]

    def estimate(self, number: Callable[[Array], Array]) -> Estimate:
        """A number [N] of weights [N, lanes], of the data and of the resamples."""
        value = number(np.ones((1, self.lanes)))[0]
        return Estimate(float(value), interval_over_lanes(number(self.resamples), self.lanes))

    def summed(self, values: Array) -> Array:
        """Sums over each lane's trials of values [trials, ...]: [lanes, ...]."""
        total = np.zeros((self.lanes, *values.shape[1:]))
        np.add.at(total, self.lane, values)
        return total

    def mean(self, values: Array, size: Array) -> Estimate:
        """Sum of values over sum of sizes, both [trials]."""
        top, bottom = self.summed(values), self.summed(size)
        return self.estimate(lambda weights: ratio(weights @ top, weights @ bottom))


def _hold(gazes: _Gazes, cross: Array) -> Hold:
    waits = [path[:t_s] for path, t_s in zip(gazes.paths, gazes.t_s, strict=True)]
    walks = [path[: t_s + 1] for path, t_s in zip(gazes.paths, gazes.t_s, strict=True)]
    distances = [angle_to(cross, wait) for wait in waits]
    frames, steps = (np.array([len(each) - less for each in of], float) for of, less in ((waits, 0), (walks, 1)))
    moved = np.array([np.any(np.diff(walk, axis=0) != 0, axis=1).sum() for walk in walks], dtype=float)
    displaced = np.array([wait[-1] - wait[0] for wait in waits])  # [trials, 2]
    one = np.ones(len(waits))
    vectors, trials = gazes.summed(displaced), gazes.summed(one)
    intervals, last = np.unique(gazes.t_s), np.array([each[-1] for each in distances])
    return Hold(
        distance=gazes.mean(np.array([each.sum() for each in distances]), frames),
        within=tuple(
            gazes.mean(np.array([np.sum(each <= radius) for each in distances], float), frames) for radius in RADII
        ),
        share_moved=gazes.mean(moved, steps),
        displacement=gazes.mean(np.linalg.norm(displaced, axis=1), one),
        drift=gazes.estimate(
            lambda weights: np.linalg.norm(ratio(weights @ vectors, (weights @ trials)[:, None].repeat(2, 1)), axis=1)
        ),
        sample_interval=intervals,
        distance_at_set=np.array([last[gazes.t_s == t_s].mean() for t_s in intervals]),
    )


def _shift(gazes: _Gazes, go: Array) -> Shift:
    intervals, place = np.unique(gazes.t_s, return_inverse=True)
    total, count = np.zeros((gazes.lanes, len(intervals), len(TIMES))), np.zeros((gazes.lanes, len(intervals)))
    for path, t_s, lane, row in zip(gazes.paths, gazes.t_s, gazes.lane, place, strict=True):
        distance = angle_to(go, path[t_s:])
        if len(distance) > 1:
            total[lane, row] += np.interp(TIMES, np.linspace(0, 1, len(distance)), distance)
            count[lane, row] += 1

    def mean_distance(weights: Array) -> Array:
        """[N, I, P]"""
        flat = weights @ total.reshape(gazes.lanes, -1)
        return ratio(flat.reshape(len(weights), len(intervals), -1), (weights @ count)[..., None].repeat(len(TIMES), 2))

    own = mean_distance(np.ones((1, gazes.lanes)))
    return Shift(
        time=TIMES,
        sample_interval=intervals,
        distance=own[0],
        r2=straightness(own)[0],
        linearity=gazes.estimate(lambda weights: mean_over_intervals(straightness(mean_distance(weights)))),
        half_way=gazes.estimate(lambda weights: mean_over_intervals(half_way(mean_distance(weights)))),
    )


def straightness(curves: Array) -> Array:
    """R^2 of a straight line through each of the curves [..., P] over `TIMES`; nan where a curve is level."""
    time = TIMES - TIMES.mean()
    centred = curves - curves.mean(axis=-1, keepdims=True)
    return ratio((centred @ time) ** 2, (centred**2).sum(axis=-1) * (time @ time))


def half_way(curves: Array) -> Array:
    """The first time at which each curve [..., P] is half of the way from its first to its last value."""
    way = curves[..., :1] - curves
    passed = way * np.sign(way[..., -1:]) >= np.abs(way[..., -1:]) / 2
    return np.where(np.isfinite(curves).all(axis=-1), TIMES[passed.argmax(axis=-1)], np.nan)


def _course(gazes: _Gazes) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
    """Sample intervals [I], sums per lane of (1, yaw, pitch, yaw^2 + pitch^2) [4, L, I, T], and where half of the
    trials are under way [I, T]."""
    intervals, place = np.unique(gazes.t_s, return_inverse=True)
    sums = np.zeros((4, gazes.lanes, len(intervals), max(len(path) for path in gazes.paths)))
    for path, lane, row in zip(gazes.paths, gazes.lane, place, strict=True):
        frames = slice(0, len(path))
        sums[0, lane, row, frames] += 1
        sums[1, lane, row, frames] += path[:, 0]
        sums[2, lane, row, frames] += path[:, 1]
        sums[3, lane, row, frames] += (path**2).sum(axis=1)
    count = sums[0].sum(axis=0)
    under_way = count >= UNDER_WAY * count[:, :1]
    longest = int(np.flatnonzero(under_way.any(axis=0))[-1]) + 1
    return intervals, sums[..., :longest], under_way[:, :longest]


def _branch(gazes: _Gazes) -> Branch:
    intervals, sums, under_way = _course(gazes)
    shape = sums.shape

    def separation(weights: Array) -> Array:
        """[N, B, D]"""
        n, yaw, pitch, square = (
            (weights @ each.reshape(shape[1], -1)).reshape(len(weights), *shape[2:]) for each in sums
        )
        found = np.full((len(weights), len(intervals) - 1, len(SINCE_SET)), np.nan)
        for row, t_s in enumerate(intervals[:-1]):
            for column, since in enumerate(SINCE_SET):
                frame = t_s + since
                waiting = (intervals > frame) & (intervals != t_s)
                if frame < 0 or not waiting.any() or frame >= shape[3] or not under_way[row, frame]:
                    continue
                there = n[:, waiting, frame].sum(axis=1)
                common = [ratio(each[:, waiting, frame].sum(axis=1), there) for each in (yaw, pitch, square)]
                spread = np.sqrt(np.maximum(common[2] - common[0] ** 2 - common[1] ** 2, 0.0))
                own = [ratio(each[:, row, frame], n[:, row, frame]) for each in (yaw, pitch)]
                found[:, row, column] = ratio(np.hypot(own[0] - common[0], own[1] - common[1]), spread)
        return found

    own = separation(np.ones((1, gazes.lanes)))[0]
    drawn = separation(gazes.resamples)

    def mean_at(columns: NDArray[np.bool_]) -> Array:
        """[1 + N] the data's own first"""
        every = np.concatenate([own[None], drawn])[:, :, columns]
        return mean_over_intervals(every.reshape(len(every), -1))

    def estimate(values: Array) -> Estimate:
        return Estimate(float(values[0]), interval_over_lanes(values[1:], gazes.lanes))

    before, after = mean_at(SINCE_SET < 0), mean_at(SINCE_SET == BRANCHED)
    return Branch(intervals[:-1], SINCE_SET, own, estimate(before), estimate(after), estimate(after - before))


def _expansion(gazes: _Gazes) -> Expansion:
    intervals, sums, under_way = _course(gazes)
    shape = sums.shape

    def extent(weights: Array) -> Array:
        """[N, I]"""
        n, yaw, pitch = ((weights @ each.reshape(shape[1], -1)).reshape(len(weights), *shape[2:]) for each in sums[:3])
        path = np.stack([ratio(yaw, n), ratio(pitch, n)], axis=-1)  # [N, I, T, 2]
        away = np.where(under_way[..., None] & np.isfinite(path), path - path[:, :, :1], 0.0)
        return np.linalg.norm(np.nan_to_num(away), axis=-1).max(axis=2)

    centred = intervals - intervals.mean()

    def slope(weights: Array) -> Array:
        return ratio(extent(weights) @ centred, np.full(len(weights), float(centred @ centred)))

    return Expansion(intervals, extent(np.ones((1, gazes.lanes)))[0], gazes.estimate(slope))
