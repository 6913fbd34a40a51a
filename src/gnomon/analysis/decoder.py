"""Elapsed time read from units: a linear decoder of single trials, tested on trials it never saw.

`gnomon.analysis.units` says what a decoder can and cannot show.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from gnomon.analysis.bootstrap import Interval, interval_over_lanes, lane_weights, percentile_interval, ratio

FOLDS = 5
PENALTIES = np.logspace(-2, 5, 15)  # ridge penalties tried; the units are standardised
SHUFFLES = 20


@dataclass(frozen=True, eq=False)
class Decoder:
    """Ridge regression of the frames since an event on the units; every number is of held-out trials.

    Chance is the same decoder taught and tested with times shuffled within each trial: it may know how long a trial is,
    which a memory of the sample interval tells, but not when in the trial it is.
    """

    event: str  # "ready" or "set"
    n_trials: int
    n_frames: int
    r2: float  # 1 - squared error / variance of elapsed time; nan if elapsed time does not vary
    r2_interval: Interval  # 95 % over lanes
    absolute_error: float  # frames, mean over frames
    chance_r2: float  # mean over shuffles
    chance_r2_interval: tuple[float, float]  # 95 % of the shuffles
    chance_absolute_error: float  # frames, mean over shuffles
    elapsed: NDArray[np.int64]  # [E] frames since the event
    n_at_elapsed: NDArray[np.int64]  # [E] trials still under way
    decoded_mean: NDArray[np.float64]  # [E] frames
    decoded_sd: NDArray[np.float64]  # [E] frames, divided by n
    absolute_error_at_elapsed: NDArray[np.float64]  # [E] frames


def decode_elapsed(event: str, epochs: Sequence[NDArray[np.float64]], lane: NDArray[np.int64], seed: int) -> Decoder:
    """How well the frames since the event can be read from single trials, epochs of [frame, unit] and their lanes."""
    lane = np.array([each for each, epoch in zip(lane, epochs, strict=True) if len(epoch)], dtype=np.int64)
    lasting = [epoch for epoch in epochs if len(epoch)]  # a response on Set's own frame leaves none
    if len(lasting) < FOLDS:
        raise ValueError(
            f"{len(lasting)} trials last a frame beyond their event; at least {FOLDS} are needed, one per fold"
        )
    rng = np.random.default_rng(seed)
    targets = np.concatenate([shuffled_times(len(epoch), rng) for epoch in lasting])  # [frames, 1 + shuffles]
    trial = np.repeat(np.arange(len(lasting)), [len(epoch) for epoch in lasting])
    decoded = held_out(np.concatenate(lasting), targets, trial)
    error = np.abs(decoded - targets)
    variance = np.var(targets[:, 0])
    r2 = 1 - (error**2).mean(0) / variance if variance else np.full(1 + SHUFFLES, np.nan)
    elapsed, place, count = np.unique(targets[:, 0], return_inverse=True, return_counts=True)

    def mean_at_elapsed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(place, values) / count

    mean = mean_at_elapsed(decoded[:, 0])
    return Decoder(
        event=event,
        n_trials=len(lasting),
        n_frames=len(targets),
        r2=float(r2[0]),
        r2_interval=r2_interval(error[:, 0], targets[:, 0], lane[trial], seed),
        absolute_error=float(error[:, 0].mean()),
        chance_r2=float(r2[1:].mean()),
        chance_r2_interval=percentile_interval(r2[1:]),
        chance_absolute_error=float(error[:, 1:].mean()),
        elapsed=elapsed.astype(np.int64),
        n_at_elapsed=count.astype(np.int64),
        decoded_mean=mean,
        decoded_sd=np.sqrt(mean_at_elapsed((decoded[:, 0] - mean[place]) ** 2)),
        absolute_error_at_elapsed=mean_at_elapsed(error[:, 0]),
    )


def r2_interval(
    error: NDArray[np.float64], target: NDArray[np.float64], lane: NDArray[np.int64], seed: int
) -> Interval:
    """95 % over lanes of R^2, given error, target and lane of every frame; the decoder is not fitted again."""
    sums = np.stack([np.bincount(lane, each) for each in (np.ones(len(target)), target, target**2, error**2)])  # [4, L]
    n, total, square, missed = sums @ lane_weights(sums.shape[1], seed=seed).T  # each [N]
    lanes = int((sums[0] > 0).sum())
    return interval_over_lanes(1 - ratio(missed, square - ratio(total**2, n)), lanes)


def shuffled_times(frames: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A trial's times 0, 1, ... in order, and beside them shuffled: [frames, 1 + shuffles]."""
    times = np.tile(np.arange(frames, dtype=np.float64)[:, None], (1, 1 + SHUFFLES))
    times[:, 1:] = rng.permuted(times[:, 1:], axis=0)
    return times


def held_out(
    activity: NDArray[np.float64], targets: NDArray[np.float64], trial: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Each target [frames, n] decoded from activity [frames, unit] by a fit to other trials' frames.

    Frames of one trial resemble each other, so a trial is never split between teaching and testing. The penalty is
    chosen for each target within the teaching trials.
    """
    decoded = np.empty_like(targets)
    for taught, tested in GroupKFold(FOLDS).split(activity, groups=trial):
        standardise = StandardScaler().fit(activity[taught]).transform
        weights, mean = ridge(np.asarray(standardise(activity[taught])), targets[taught])
        decoded[tested] = np.asarray(standardise(activity[tested])) @ weights + mean
    return decoded


def ridge(units: NDArray[np.float64], targets: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ridge regression of targets [frames, n] on centred units [frames, unit]: weights [unit, n], intercepts [n].

    Of `PENALTIES`, each target gets the one with the least squared error when every frame is predicted by a fit to all
    others. That is scikit-learn's `RidgeCV(PENALTIES, alpha_per_target=True)`, which goes back to the units for every
    penalty; on their principal axes, where a penalty only shrinks each axis, it takes a quarter of the time.
    """
    mean = targets.mean(0)
    variances, axes = np.linalg.eigh(units.T @ units)
    rotated, centred = units @ axes, targets - mean
    shared = rotated.T @ centred  # [axis, n]
    shrunk = 1 / (variances[:, None] + PENALTIES)  # [axis, penalty]
    own_share = 1 / len(units) + rotated**2 @ shrunk  # [frame, penalty]; of a frame in its own prediction
    errors = [
        (((centred - rotated @ (by[:, None] * shared)) / (1 - own[:, None])) ** 2).sum(0)
        for by, own in zip(shrunk.T, own_share.T, strict=True)
    ]
    return axes @ (shrunk[:, np.argmin(errors, axis=0)] * shared), mean
