"""Recordings of units whose activity is known, with their trial table."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import polars as pl
import xarray as xr
from numpy.typing import NDArray

FOREPERIOD, PAUSE = 3, 4  # frames
Row = tuple[int, int, str]  # sample interval, production interval, outcome
ROWS: list[Row] = [(t_s, t_s + late, "correct") for late in (-2, 0, 1, 5) for t_s in (10, 20, 30)]
Activity = Callable[[SimpleNamespace], NDArray]  # what is known of a frame -> units [lane, frame, unit]


def evaluation(activity: Activity, rows: list[Row] = ROWS, name: str = "cell") -> tuple[xr.Dataset, pl.DataFrame]:
    """Two lanes, each with two episodes of these trials, back to back; and their trial table.

    `activity` is told, [lane, frame], which trial is on and the frames since Ready and since Set (-1: none).
    """
    table: list[dict] = []
    lanes = []
    for lane in range(2):
        columns: dict[str, list[int]] = {
            key: [] for key in ("episode", "episode_frame", "trial", "ready", "set", "t_s")
        }
        for episode in range(2):
            start = 0
            frames = 1 + sum(FOREPERIOD + t_s + t_p + PAUSE for t_s, t_p, _ in rows)
            for key, fill in (("episode", episode), ("trial", -1), ("ready", -1), ("set", -1), ("t_s", -1)):
                columns[key] += [fill] * frames
            columns["episode_frame"] += range(-1, frames - 1)
            origin = len(columns["trial"]) - frames + 1
            for trial, (t_s, t_p, outcome) in enumerate(rows):
                ready = start + FOREPERIOD
                set_, end = ready + t_s, ready + t_s + t_p
                for frame in range(start, end):
                    columns["trial"][origin + frame] = len(table)
                    columns["t_s"][origin + frame] = t_s
                    columns["ready"][origin + frame] = frame - ready if ready <= frame < set_ else -1
                    columns["set"][origin + frame] = frame - set_ if frame >= set_ else -1
                happened = {"start_frame": start, "ready_frame": ready, "set_frame": set_, "end_frame": end}
                place = {"lane": lane, "episode": episode, "trial": trial}
                table.append({**place, "sample_interval": t_s, "outcome": outcome, **happened})
                start = end + PAUSE
        lanes.append(columns)
    known = SimpleNamespace(**{key: np.array([columns[key] for columns in lanes]) for key in lanes[0]})
    axes = ("lane", "frame")
    variables = {key: (axes, getattr(known, key)) for key in ("episode", "episode_frame")}
    units = activity(known).astype(np.float16)
    recording = xr.Dataset({**variables, f"units_{name}": ((*axes, "unit"), units)}, attrs={"task": "ready_set_go"})
    return recording, pl.DataFrame(table)


def elapsed(known: SimpleNamespace) -> NDArray:
    """Frames since the last of Ready and Set: [lane, frame]."""
    return np.maximum(known.ready, known.set)


def noise(known: SimpleNamespace) -> NDArray:
    return np.random.default_rng(1).normal(size=(*known.trial.shape, 6))


def ramp(known: SimpleNamespace) -> NDArray:
    units = 0.01 * noise(known)
    units[..., 2] += 0.1 * elapsed(known)
    return units
