"""The dynamics of a clock: how fast activity runs after Set, and which units carry the time.

Two ways to wait longer: run along the same course more slowly (temporal scaling, as in the primate's frontal cortex),
or count down at one speed from another height, as the paper's account of its recurrent agent implies. The scaling index
tells them apart. In the same frames after Set, in trials of every sample interval, speed ~ t_s ** -index. It is 1 for
temporal scaling and 0 for one speed; below 0, activity runs faster when there is longer to wait.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
import xarray as xr
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from gnomon.analysis.bootstrap import (
    N_BOOTSTRAP,
    Array,
    Estimate,
    interval_over_lanes,
    intervals_over_lanes,
    lane_index,
    lane_weights,
    ratio,
)
from gnomon.analysis.units import completed_trials, cut_out, default_units, recorded_units

FROM, UNTIL = 10, 30  # frames after Set: when the flash is over, and before anyone answers
SHORTEST = 40  # frames: sample intervals whose answers come later than that
STEP = 10  # frames over which a displacement is measured: longer ones are less noisy
GAZE = "gaze"  # in the place of units
COMPONENTS = 3  # of the trial averages, in which speed is measured


@dataclass(frozen=True, eq=False)
class Scaling:
    """How fast activity runs after Set, by sample interval."""

    units: str  # or "gaze": its speed on the screen, in degrees
    n_trials: int
    sample_interval: NDArray[np.int64]  # [I]
    speed: Array  # [I] per frame, relative to the mean over sample intervals
    speed_interval: Array  # [I, 2]
    index: Estimate  # 1: temporal scaling; 0: one speed


@dataclass(frozen=True, eq=False)
class UnitStatistics:
    """Every unit of a controller's state while it does its trials."""

    names: tuple[str, ...]  # parts of the state: "cell", "hidden", ...
    mean: tuple[Array, ...]  # [U] each, from Ready to the answer
    sd: tuple[Array, ...]
    time: Array  # [U] share of a unit's variance at Set that the sample interval explains

    @property
    def ranking(self) -> NDArray[np.int64]:
        """Numbers of the units, the one that carries most time first."""
        return np.argsort(-self.time, kind="stable")


def scaling(recording: xr.Dataset, trials: pl.DataFrame, units: str | None = None, seed: int = 0) -> Scaling:
    """The speed of the trial averages in their first components, per sample interval, and the scaling index."""
    name = units or clock_units(recording)
    used = completed_trials(recording, trials)
    long = pl.col("end_frame") - pl.col("set_frame") > UNTIL
    used = used.filter((pl.col("sample_interval") >= SHORTEST) & long)
    t_s, place = np.unique(used["sample_interval"].to_numpy(), return_inverse=True)
    if len(t_s) < 2:
        raise ValueError(f"the recording has {len(t_s)} sample intervals of at least {SHORTEST} frames; 2 are needed")
    windows = cut_out(activity(recording, name), used, "set_frame", "end_frame")
    epochs = np.stack([window[FROM : UNTIL + 1 : STEP] for window in windows])  # [trial, time, unit]
    averages = np.stack([epochs[place == each].mean(axis=0) for each in range(len(t_s))])
    components = PCA(min(COMPONENTS, averages.shape[-1])).fit(averages.reshape(-1, averages.shape[-1]))
    projected = components.transform(epochs.reshape(-1, epochs.shape[-1]))
    epochs = projected.reshape(*epochs.shape[:2], -1)  # [trial, time, component]
    lane, lanes = lane_index(used["lane"])
    total, count = np.zeros((lanes, len(t_s), *epochs.shape[1:])), np.zeros((lanes, len(t_s)))
    np.add.at(total, (lane, place), epochs)
    np.add.at(count, (lane, place), 1.0)

    def speeds(weights: Array) -> Array:
        """Mean speed per frame, [N, I], for weights of lanes [N, L]."""
        mean = ratio(np.tensordot(weights, total, 1), np.broadcast_to(
            (weights @ count)[:, :, None, None], (len(weights), *total.shape[1:])
        ))  # fmt: skip
        return np.linalg.norm(np.diff(mean, axis=2), axis=3).mean(axis=2) / STEP

    present, draws = speeds(np.ones((1, lanes))), speeds(lane_weights(lanes, N_BOOTSTRAP, seed))
    relative = draws / draws.mean(axis=1, keepdims=True)
    return Scaling(
        name,
        used.height,
        t_s.astype(np.int64),
        present[0] / present[0].mean(),
        intervals_over_lanes(relative, (count > 0).sum(axis=0)),
        Estimate(float(exponent(t_s, present)[0]), interval_over_lanes(exponent(t_s, draws), lanes)),
    )


def clock_units(recording: xr.Dataset) -> str:
    """The units to look at where none are named: those the paper looks at, or the only ones there are."""
    names = recorded_units(recording)
    return names[0] if len(names) == 1 else default_units(recording)


def activity(recording: xr.Dataset, name: str) -> NDArray[np.float32]:
    """The units of this name, or the gaze's yaw and pitch in degrees: [lane, frame, unit]."""
    if name == GAZE:
        return np.stack([recording["yaw"].values, recording["pitch"].values], axis=-1)
    return recording[f"units_{name}"].values


def exponent(t_s: NDArray[np.int64], speed: Array) -> Array:
    """By how much log speed [N, I] falls with log t_s [I]: [N]."""
    x = np.log(t_s) - np.log(t_s).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        return -(np.log(speed) @ x) / (x @ x)


def unit_statistics(recording: xr.Dataset, trials: pl.DataFrame) -> UnitStatistics:
    """Mean, s.d. and time of every unit in the completed trials of a recording."""
    used = completed_trials(recording, trials)
    if used.height < 2:
        raise ValueError(f"the recording holds {used.height} completed trials; at least 2 are needed")
    names = tuple(recorded_units(recording))
    parts = [cut_out(activity(recording, name), used, "ready_frame", "end_frame") for name in names]
    whole = [np.concatenate(part) for part in parts]
    before = cut_out(activity(recording, clock_units(recording)), used, "ready_frame", "set_frame")
    at_set = np.stack([epoch[-1] for epoch in before])  # [trial, unit]
    t_s = used["sample_interval"].to_numpy().astype(np.float64)
    x, y = t_s - t_s.mean(), at_set - at_set.mean(axis=0)
    explained = ratio((x @ y) ** 2, (x @ x) * (y**2).sum(axis=0))
    return UnitStatistics(
        names,
        tuple(each.mean(axis=0) for each in whole),
        tuple(each.std(axis=0) for each in whole),
        np.nan_to_num(explained),
    )
