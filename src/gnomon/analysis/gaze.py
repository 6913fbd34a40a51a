"""Gaze: the paths that the eye takes while time passes, how alike they are from trial to trial, and how fast it moves.

Paths are in monitor units (x right, y down, the monitor from 0 to 1). They come from the recorded angles, projected
onto the monitor's plane, so a gaze off the monitor keeps its place beyond the edge. All trials of a sample interval see
Set equally long after Ready, so a path aligned to Ready is aligned to Set as well. Only completed trials count: those
answered after Set.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
import xarray as xr
from numpy.typing import NDArray

from gnomon.analysis.units import completed_trials, cut_out, trial_average
from gnomon.lab.optics import monitor_points
from gnomon.lab.screen import MONITOR, Widget
from gnomon.lab.tasks.ready_set_go import ReadySetGo

PHASES = ("ready_to_set", "set_to_response")
SINGLE_TRIALS = 5  # paths kept of each sample interval


@dataclass(frozen=True, eq=False)
class Movement:
    """How the gaze moved in one phase of the trials."""

    phase: str  # "ready_to_set": from Ready until the frame before Set, or "set_to_response"
    spread: float  # monitor units: mean distance from the mean path at the same frame; nan with fewer than two trials
    # Share of the gaze's variance that the mean path explains: 1 if all trials are alike, about 1 / trials by chance;
    # nan with fewer than two trials, or if the gaze never moves.
    stereotypy: float
    travelled: float  # monitor units per frame waited
    share_moved: float  # of the frames waited, those in which the gaze moved
    share_off_monitor: float  # of the frames


@dataclass(frozen=True, eq=False)
class IntervalGaze:
    """The paths of one sample interval; frame 0 is Ready's onset, frame `sample_interval` that of Set."""

    sample_interval: int
    n_trials: int
    mean_path: NDArray[np.float64]  # [frame, 2] x, y; ends when fewer than half of the trials are under way
    single_paths: tuple[NDArray[np.float64], ...]  # the first trials', each [frame, 2], to the response
    movements: tuple[Movement, ...]  # by phase


@dataclass(frozen=True, eq=False)
class GazePaths:
    """Where a subject looked in completed trials."""

    task: str
    monitor: tuple[Widget, ...]  # what the monitor shows in the course of a trial
    trials: NDArray[np.int64]  # [N, 3] lane, episode and trial of the trials used
    intervals: tuple[IntervalGaze, ...]  # shortest first
    overall: tuple[Movement, ...]  # by phase: means over sample intervals, those without a number left out


def gaze_paths(
    recording: xr.Dataset, trials: pl.DataFrame, task: ReadySetGo, single_trials: int = SINGLE_TRIALS
) -> GazePaths:
    """Mean and single-trial paths per sample interval; `trials` and `task` are the evaluation's own."""
    missing = [name for name in ("yaw", "pitch") if name not in recording]
    if missing:
        raise ValueError(
            f"the recording lacks {', '.join(missing)}; it has {', '.join(map(str, recording)) or 'nothing'}"
        )
    if single_trials < 0:
        raise ValueError(f"single_trials is {single_trials}; it must be at least 0")
    used = completed_trials(recording, trials)
    points = projected(recording["yaw"].values, recording["pitch"].values)
    paths = cut_out(points, used.with_columns(path_end(recording, used)), "ready_frame", "path_end")
    sample_interval = used["sample_interval"].to_numpy()
    intervals = tuple(
        interval_gaze(int(t_s), [paths[i] for i in np.flatnonzero(sample_interval == t_s)], single_trials)
        for t_s in np.unique(sample_interval)
    )
    return GazePaths(
        task=task.name,
        monitor=(task.cross(), *task.squares()),
        trials=used.select(pl.col("lane", "episode", "trial").cast(pl.Int64)).to_numpy(),
        intervals=intervals,
        overall=tuple(mean_movement([each.movements[i] for each in intervals]) for i in range(len(PHASES))),
    )


def path_end(recording: xr.Dataset, trials: pl.DataFrame) -> pl.Series:
    """One frame past the last that each located trial has in the recording: its response, or the frame before it.

    A response that ends the episode is missing: what is recorded next is the next episode's first frame.
    """
    episode = np.pad(
        recording["episode"].values, ((0, 0), (0, 1)), constant_values=-1
    )  # nothing follows the last frame
    end_frame = trials["end_frame"].to_numpy()
    there = episode[trials["lane"].to_numpy(), trials["origin"].to_numpy() + end_frame]
    return pl.Series("path_end", end_frame + (there == trials["episode"].to_numpy()))


def projected(yaw: NDArray, pitch: NDArray) -> NDArray[np.float64]:
    """Where angles [...] in degrees meet the monitor's plane, also beyond its edges: [..., 2]."""
    right, up = (torch.from_numpy(np.deg2rad(angle.astype(np.float64))) for angle in (yaw, pitch))
    x, y = monitor_points(right.tan(), up.tan() / right.cos(), torch.ones_like(right))
    return torch.stack([x, y], -1).numpy()


def interval_gaze(sample_interval: int, paths: Sequence[NDArray[np.float64]], single_trials: int) -> IntervalGaze:
    """What the paths [frame, 2] of one sample interval, from Ready on, have in common."""
    mean_path = trial_average(paths)
    # The step into Set's first frame was taken before Set could be seen, so it belongs to the wait.
    before = [path[: sample_interval + 1] for path in paths]
    after = [path[sample_interval:] for path in paths]
    phases = (
        movement("ready_to_set", [path[:sample_interval] for path in paths], before, mean_path[:sample_interval]),
        movement("set_to_response", after, after, mean_path[sample_interval:]),
    )
    return IntervalGaze(sample_interval, len(paths), mean_path, tuple(paths[:single_trials]), phases)


def movement(
    phase: str,
    places: Sequence[NDArray[np.float64]],
    walks: Sequence[NDArray[np.float64]],
    mean_path: NDArray[np.float64],
) -> Movement:
    """Spread of `places` about the mean path, and the steps of `walks`; all [frame, 2], one per trial."""
    # Beyond its end the mean path speaks for too few trials to be compared with.
    compared = [place[: len(mean_path)] for place in places]
    expected = np.concatenate([mean_path[: len(place)] for place in compared])  # [frames, 2]
    found = np.concatenate(compared)
    everywhere = np.concatenate(places)
    distance = np.linalg.norm(found - expected, axis=1)
    steps = np.concatenate([np.linalg.norm(np.diff(walk, axis=0), axis=1) for walk in walks])
    variance = found.var(axis=0).sum() if len(found) else 0.0
    x, y = torch.from_numpy(everywhere).unbind(-1)
    return Movement(
        phase=phase,
        spread=mean(distance) if len(places) > 1 else np.nan,
        stereotypy=1 - mean(distance**2) / float(variance) if variance > 0 and len(places) > 1 else np.nan,
        travelled=mean(steps),
        share_moved=mean(steps > 0),
        share_off_monitor=mean(~MONITOR.contains(x, y).numpy()),
    )


def mean(values: NDArray) -> float:
    """The mean; nan of nothing."""
    return float(values.mean()) if len(values) else np.nan


def mean_movement(movements: Sequence[Movement]) -> Movement:
    """The mean over sample intervals, each counting once; nan where none has a number."""

    def over_intervals(name: str) -> float:
        values = np.array([getattr(each, name) for each in movements])
        return mean(values[np.isfinite(values)])

    names = ("spread", "stereotypy", "travelled", "share_moved", "share_off_monitor")
    return Movement(movements[0].phase, *(over_intervals(name) for name in names))
