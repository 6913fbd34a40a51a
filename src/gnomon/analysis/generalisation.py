"""Does the subject reproduce intervals it was never trained on: between the trained ones, below them, above them?

The three regions are never pooled. A subject may interpolate well and have nothing to say beyond the longest interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gnomon.analysis.bootstrap import N_BOOTSTRAP, intervals_over_lanes, lane_moments
from gnomon.analysis.performance import Line, line, per_interval, productions

Kind = Literal["trained", "interpolated", "below", "above"]


@dataclass(frozen=True, eq=False)
class Generalisation:
    """Production per sample interval and region; arrays run over the I sample intervals, shortest first."""

    task: str
    sample_interval: NDArray[np.int64]  # [I] frames
    kind: tuple[Kind, ...]  # [I] trained; interpolated between them; below the shortest; above the longest
    n_trials: NDArray[np.int64]  # [I] all but aborted and cut off
    n_productions: NDArray[np.int64]  # [I]
    mean: NDArray[np.float64]  # [I] frames; nan where nothing was produced
    sd: NDArray[np.float64]  # [I] frames
    bias: NDArray[np.float64]  # [I] frames; the mean error
    bias_interval: NDArray[np.float64]  # [I, 2] 95 % over lanes
    trained: Line  # the line through the means of each region; nan with fewer than two sample intervals
    interpolated: Line
    below: Line
    above: Line  # slope 1 follows beyond the longest trained interval, slope 0 has levelled off

    def region(self, kind: Kind) -> NDArray[np.bool_]:
        """Which sample intervals belong to a region: [I]."""
        return np.array(self.kind) == kind

    def line(self, kind: Kind) -> Line:
        """The line of a region."""
        lines = {"trained": self.trained, "interpolated": self.interpolated, "below": self.below, "above": self.above}
        return lines[kind]


def generalisation(
    trials: pl.DataFrame, trained: Sequence[int], n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> Generalisation:
    """Trained intervals beside the untrained ones (probes), each judged by the same trials table."""
    if not trained:
        raise ValueError("trained is empty; give the sample intervals of training, in frames")
    table = per_interval(trials)
    kinds: tuple[Kind, ...] = tuple(_kind(interval, trained) for interval in table["sample_interval"])
    if set(kinds) == {"trained"}:
        raise ValueError(
            f"every sample interval in the table is a trained one ({table['sample_interval'].to_list()}); "
            "generalisation needs probe trials at other intervals"
        )
    moments = lane_moments(productions(trials))
    answered = (table["n_productions"] > 0).to_numpy()
    bias_interval = np.full((table.height, 2), np.nan)
    means, _ = moments.resampled(n_bootstrap, seed)
    bias_interval[answered] = intervals_over_lanes(means - moments.sample_interval, moments.lanes)

    def line_of(kind: Kind) -> Line:
        return line(moments.chosen(np.array(kinds)[answered] == kind), n_bootstrap, seed)

    return Generalisation(
        task=trials["task"][0],
        sample_interval=table["sample_interval"].to_numpy(),
        kind=kinds,
        n_trials=table["n_trials"].to_numpy(),
        n_productions=table["n_productions"].to_numpy(),
        mean=table["mean"].to_numpy(),
        sd=table["sd"].to_numpy(),
        bias=table["bias"].to_numpy(),
        bias_interval=bias_interval,
        trained=line_of("trained"),
        interpolated=line_of("interpolated"),
        below=line_of("below"),
        above=line_of("above"),
    )


def _kind(interval: int, trained: Sequence[int]) -> Kind:
    if interval in trained:
        return "trained"
    if interval < min(trained):
        return "below"
    return "above" if interval > max(trained) else "interpolated"
