"""Units: how a population moves through a trial, and how well elapsed time can be read from it.

The picture is one principal component analysis of trial averages over whole trials, from Ready to the response, one
trajectory per sample interval. `counter` turns what the paper says of its first component into numbers.

Beside it stands a linear decoder of elapsed time from single trials, tested on trials it never saw. A decoder shows
that the time is in the units. It does not show that the subject put it there to keep time, or that it reads it: any
network with a memory drifts after a stimulus, and from 128 random units that drift is enough (a frozen LSTM reaches an
R^2 of 0.99). So compare it with the same decoder of a network that has learned nothing, `decoder_baseline`.

Only completed trials count: those answered after Set. A frame belongs to Ready from its onset until the frame before
Set, and to Set from its onset until the frame before the response, so neither sees the next event. Times in frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import xarray as xr
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from gnomon.analysis.bootstrap import Estimate, difference_of, lane_index
from gnomon.analysis.counter import Counter, counter
from gnomon.analysis.decoder import FOLDS, Decoder, decode_elapsed
from gnomon.records.recordings import locate_trials
from gnomon.records.trials import PRODUCED

EVENTS = ("ready", "set")
DEFAULT_UNITS = ("cell", "hidden", "memory")  # the first that was recorded: an LSTM's cell, most others' hidden
COMPONENTS = 3  # of a trajectory
VARIANCES = 10  # explained variances that are kept
UNDER_WAY = 0.5  # an average goes on while this share of its trials does

COLUMNS = (
    "lane", "episode", "trial", "sample_interval", "outcome", "start_frame", "ready_frame", "set_frame", "end_frame"
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The trial average of one sample interval on the principal components; Ready is frame 0, Set `sample_interval`."""

    sample_interval: int
    n_trials: int
    projection: NDArray[np.float64]  # [frame, component]; ends when fewer than half of the trials are under way


@dataclass(frozen=True, eq=False)
class Population:
    """What the units do in completed trials."""

    task: str
    units: str  # which array: "cell", "hidden", ...
    n_units: int
    trials: NDArray[np.int64]  # [N, 3] lane, episode and trial of the trials used
    explained_variance: NDArray[np.float64]  # [up to 10] share of the trial averages' variance, per component
    trajectories: tuple[Trajectory, ...]  # from Ready to the response, shortest sample interval first
    counter: Counter  # the first component
    decoders: tuple[Decoder, ...]  # of the time since Ready, and since Set

    def decoder(self, event: str) -> Decoder:
        """The decoder of the time since "ready" or "set"."""
        for decoder in self.decoders:
            if decoder.event == event:
                return decoder
        raise ValueError(f"unknown event {event!r}; choose {', '.join(EVENTS)}")


@dataclass(frozen=True)
class DecoderBaseline:
    """A decoder beside the same decoder of a network that has not learned."""

    event: str
    r2: float
    baseline_r2: float
    difference: Estimate  # R^2 less that of the baseline


def population(recording: xr.Dataset, trials: pl.DataFrame, units: str | None = None, seed: int = 0) -> Population:
    """Trajectories, counter and decoders of the recorded units, by default those the paper looks at; `DEFAULT_UNITS`.

    `trials` is the table of the same evaluation. `seed` is that of the shuffles and resamples.
    """
    name = units or default_units(recording)
    if f"units_{name}" not in recording:
        raise ValueError(
            f"the recording has no units {name!r}; it has {', '.join(recorded_units(recording)) or 'none'}"
        )
    used = completed_trials(recording, trials)
    if used.height < FOLDS:
        raise ValueError(
            f"the recording holds {used.height} completed trials; at least {FOLDS} are needed, one per fold"
        )
    activity = recording[f"units_{name}"].values  # [lane, frame, unit]
    sample_interval, lane = used["sample_interval"].to_numpy(), lane_index(used["lane"])[0]
    whole = cut_out(activity, used, "ready_frame", "end_frame")
    components = principal_components(whole, sample_interval)
    first = [components.project(epoch)[:, 0] for epoch in whole]
    ends = zip(EVENTS, ("set_frame", "end_frame"), strict=True)
    return Population(
        task=str(recording.attrs["task"]),
        units=name,
        n_units=activity.shape[-1],
        trials=used.select(pl.col("lane", "episode", "trial").cast(pl.Int64)).to_numpy(),
        explained_variance=components.explained_variance,
        trajectories=components.trajectories,
        counter=counter(first, sample_interval, lane, seed=seed),
        decoders=tuple(
            decode_elapsed(event, cut_out(activity, used, f"{event}_frame", end), lane, seed) for event, end in ends
        ),
    )


def decoder_baseline(trained: Population, untrained: Population) -> tuple[DecoderBaseline, ...]:
    """How much more of elapsed time is in the units than in those of a network that has not learned, per event.

    `untrained` is best a recording of an untrained network that is shown the frames which the trained one saw, so that
    both have the same trials; a frozen network that has learned to respond will do. The interval of the difference
    joins those of both R^2 (square and add).
    """
    return tuple(
        DecoderBaseline(
            event,
            trained.decoder(event).r2,
            untrained.decoder(event).r2,
            difference_of(
                Estimate(trained.decoder(event).r2, trained.decoder(event).r2_interval),
                Estimate(untrained.decoder(event).r2, untrained.decoder(event).r2_interval),
            ),
        )
        for event in EVENTS
    )


# Which frames ---------------------------------------------------------------------------------------------


def recorded_units(recording: xr.Dataset) -> list[str]:
    """Names of the units in a recording."""
    return [str(name).removeprefix("units_") for name in recording if str(name).startswith("units_")]


def default_units(recording: xr.Dataset) -> str:
    """The units to look at where none are named."""
    recorded = recorded_units(recording)
    known = [name for name in DEFAULT_UNITS if name in recorded]
    if not known:
        raise ValueError(
            f"the recording has none of the units {', '.join(DEFAULT_UNITS)}; it has {', '.join(recorded) or 'none'}"
        )
    return known[0]


def completed_trials(recording: xr.Dataset, trials: pl.DataFrame) -> pl.DataFrame:
    """The Ready-Set-Go trials in a recording that were answered after Set, with `origin` (see `locate_trials`)."""
    missing = [name for name in COLUMNS if name not in trials.columns]
    if missing:
        raise ValueError(
            f"the trial table lacks the columns {missing}; only ready_set_go trials have a Ready and a Set"
        )
    used = locate_trials(recording, trials.filter(pl.col("outcome").cast(pl.String).is_in(PRODUCED)))
    if used.is_empty():
        raise ValueError(f"none of the {trials.height} trials was both recorded and answered after Set")
    return used


def cut_out(array: NDArray, trials: pl.DataFrame, start: str, end: str) -> list[NDArray[np.float64]]:
    """Each trial's frames of array [lane, frame, ...], from one event (a column) until the frame before another."""
    first, last = ((pl.col("origin") + pl.col(event)).alias(event) for event in (start, end))
    spans = trials.select("lane", first, last)
    return [array[lane, first:last].astype(np.float64) for lane, first, last in spans.iter_rows()]


# Principal components -------------------------------------------------------------------------------------


def trial_average(epochs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Mean at each frame over the trials still under way, while at least `UNDER_WAY` of them are: [frame, ...].

    Beyond that a mean would speak for few trials, and jump whenever one of them ends.
    """
    lengths = np.sort([len(epoch) for epoch in epochs])[::-1]
    longest = int(lengths[int(np.ceil(UNDER_WAY * len(epochs))) - 1])
    total = np.zeros((longest, *epochs[0].shape[1:]))
    count = (lengths[None, :] > np.arange(longest)[:, None]).sum(1)  # [frame]
    for epoch in epochs:
        total[: len(epoch)] += epoch[:longest]
    return total / count.reshape(-1, *[1] * (total.ndim - 1))


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of the trial averages, and these averages on them."""

    mean: NDArray[np.float64]  # [unit]
    directions: NDArray[np.float64]  # [unit, component]
    explained_variance: NDArray[np.float64]  # [up to 10]
    trajectories: tuple[Trajectory, ...]

    def project(self, activity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Activity [frame, unit] on the components: [frame, component]."""
        return (activity - self.mean) @ self.directions


def principal_components(epochs: Sequence[NDArray[np.float64]], sample_interval: NDArray[np.integer]) -> Components:
    """The components of whole trials: epochs [frame, unit] from Ready to the response, one per trial.

    All averages count together, every frame of every average once. A component's sign is such that it grows from Ready
    to Set; what it does after Set is left to the data.
    """
    groups = {int(t_s): np.flatnonzero(sample_interval == t_s).tolist() for t_s in np.unique(sample_interval)}
    averages = {t_s: trial_average([epochs[trial] for trial in group]) for t_s, group in groups.items()}
    rows = np.concatenate(list(averages.values()))  # [frames of all averages, unit]
    if len(rows) < 2 or not np.ptp(rows, axis=0).any():
        raise ValueError(f"the {rows.shape[1]} units never change in {len(rows)} frames; there is nothing to analyse")
    pca = PCA(min(VARIANCES, *rows.shape), svd_solver="full").fit(rows)
    directions = np.asarray(pca.components_)[:COMPONENTS].T
    before_set = np.concatenate([average[:t_s] for t_s, average in averages.items()])
    elapsed = np.concatenate([np.arange(len(average[:t_s])) for t_s, average in averages.items()])
    growth = (elapsed - elapsed.mean()) @ ((before_set - pca.mean_) @ directions)
    directions = directions * np.where(growth < 0, -1.0, 1.0)
    trajectories = tuple(
        Trajectory(t_s, len(groups[t_s]), (average - pca.mean_) @ directions) for t_s, average in averages.items()
    )
    return Components(pca.mean_, directions, pca.explained_variance_ratio_, trajectories)
