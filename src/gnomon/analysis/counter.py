"""Is the first principal component a counter? It rises until Set, falls afterwards, and is back where it began.

These are the paper's statements about its recurrent agent, as numbers. The component comes from one analysis of whole
trials (`gnomon.analysis.units`). Its sign makes it grow from Ready to Set, so that it rises on the whole is no finding;
that it rises steadily, turns at Set, comes back, and stands higher at Set after longer intervals is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.bootstrap import (
    N_BOOTSTRAP,
    Array,
    Estimate,
    interval_over_lanes,
    lane_weights,
    rank_correlation,
    ratio,
)


@dataclass(frozen=True, eq=False)
class Counter:
    """The first component; heights are from 0, its lowest trial average, to 1, its highest. Intervals are over lanes.

    Each number is a mean over the I sample intervals.
    """

    sample_interval: NDArray[np.int64]  # [I] frames
    n_trials: NDArray[np.int64]  # [I]
    at_ready: Array  # [I] height on Ready's first frame
    at_set: Array  # [I] on the last frame before Set
    at_response: Array  # [I] on the last frame before the response
    rise: Estimate  # rank correlation with time from Ready to Set: 1 if it never falls
    fall: Estimate  # the same from Set to the response: -1 if it never rises
    risen: Estimate  # height at Set less that at Ready
    fallen: Estimate  # height at the response less that at Set
    turn: Estimate  # frames from Set to the highest point of the average: 0 if it turns at Set, less if it does before
    before_set: Estimate  # share of the whole climb, from Ready to the highest point, that is done by Set
    distance: Estimate  # of the height at the response from that at Ready, whatever its sign
    order_at_set: Estimate  # rank correlation of the height at Set with the sample interval
    height_per_frame: Estimate  # slope of the height at Set on the sample interval
    share_rising: float  # of the sample intervals, those that are higher at Set than at Ready
    share_falling: float  # those that are lower at the response than at Set


def counter(
    component: Sequence[Array],
    sample_interval: NDArray[np.integer],
    lane: NDArray[np.int64],
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Counter:
    """The counter's numbers from a component of single trials, each [frame] from Ready until before the response.

    The components themselves are not fitted again to the resamples.
    """
    t_s, place = np.unique(sample_interval, return_inverse=True)
    lanes, longest = int(lane.max()) + 1, max(len(each) for each in component)
    count, total = np.zeros((2, lanes, len(t_s), longest))
    ends, n_trials = np.zeros((lanes, len(t_s))), np.zeros((lanes, len(t_s)))
    for values, of_lane, of_interval in zip(component, lane, place, strict=True):
        count[of_lane, of_interval, : len(values)] += 1
        total[of_lane, of_interval, : len(values)] += values
        ends[of_lane, of_interval] += values[-1]
        n_trials[of_lane, of_interval] += 1
    trials = n_trials.sum(axis=0)
    under_way = count.sum(axis=0) >= trials[:, None] / 2  # [I, frame]; as a trial average

    def averages(weights: Array) -> tuple[Array, Array]:
        """The mean course [N, I, frame] and the mean height at the response [N, I]."""
        shape = (len(weights), len(t_s), longest)
        course = ratio(weights @ total.reshape(lanes, -1), weights @ count.reshape(lanes, -1)).reshape(shape)
        return course, ratio(weights @ ends, weights @ n_trials)

    own, own_ends = averages(np.ones((1, lanes)))
    seen = np.where(under_way, own[0], np.nan)
    low, span = float(np.nanmin(seen)), float(np.nanmax(seen) - np.nanmin(seen)) or 1.0
    drawn, drawn_ends = averages(lane_weights(lanes, n_bootstrap, seed))
    there = int((n_trials.sum(axis=1) > 0).sum())

    def estimate(number: Callable[[Array, Array], Array]) -> Estimate:
        """A number of courses [N, I, frame] and ends [N, I], of the data and of the resamples, all in heights."""
        value = number((own - low) / span, (own_ends - low) / span)[0]
        draws = number((drawn - low) / span, (drawn_ends - low) / span)
        return Estimate(float(value), interval_over_lanes(draws, there))

    def at_set(course: Array) -> Array:
        return np.stack([course[:, index, interval - 1] for index, interval in enumerate(t_s)], axis=1)

    def correlation(course: Array, frames: Callable[[int, int], slice]) -> Array:
        ends = [int(row.sum()) for row in under_way]
        parts = [course[:, index, frames(int(interval), ends[index])] for index, interval in enumerate(t_s)]
        return mean_over_intervals(
            np.stack([rank_correlation(np.arange(part.shape[1]), part) for part in parts if part.shape[1] > 1], axis=1)
        )

    def peak(course: Array) -> tuple[Array, Array]:
        """Where the average of each sample interval is highest, and how high: both [N, I]."""
        seen = np.where(under_way & np.isfinite(course), course, -np.inf)
        height = seen.max(axis=2)
        return seen.argmax(axis=2).astype(np.float64), np.where(np.isfinite(height), height, np.nan)

    def slope(heights: Array) -> Array:
        centred = t_s - t_s.mean()
        return heights @ centred / max(float(centred @ centred), 1e-300) if len(t_s) > 1 else heights[:, 0] * np.nan

    starts, sets = (own[0, :, 0] - low) / span, (at_set(own)[0] - low) / span
    responses = (own_ends[0] - low) / span
    return Counter(
        sample_interval=t_s.astype(np.int64),
        n_trials=trials.astype(np.int64),
        at_ready=starts,
        at_set=sets,
        at_response=responses,
        rise=estimate(lambda course, _: correlation(course, lambda interval, _end: slice(0, interval))),
        fall=estimate(lambda course, _: correlation(course, lambda interval, end: slice(interval, end))),
        risen=estimate(lambda course, _: mean_over_intervals(at_set(course) - course[:, :, 0])),
        fallen=estimate(lambda course, ends: mean_over_intervals(ends - at_set(course))),
        turn=estimate(lambda course, _: mean_over_intervals(peak(course)[0] - t_s)),
        before_set=estimate(
            lambda course, _: ratio(
                mean_over_intervals(at_set(course) - course[:, :, 0]),
                mean_over_intervals(peak(course)[1] - course[:, :, 0]),
            )
        ),
        distance=estimate(lambda course, ends: mean_over_intervals(np.abs(ends - course[:, :, 0]))),
        order_at_set=estimate(lambda course, _: rank_correlation(t_s, at_set(course))),
        height_per_frame=estimate(lambda course, _: slope(at_set(course))),
        share_rising=float(np.mean(sets > starts)),
        share_falling=float(np.mean(responses < sets)),
    )


def mean_over_intervals(values: Array) -> Array:
    """The mean over the sample intervals [N, I] that a resample has: [N]."""
    there = np.isfinite(values)
    return ratio(np.where(there, values, 0.0).sum(axis=1), there.sum(axis=1))
