"""Does the subject reproduce intervals it was never trained on, between the trained ones and beyond them?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gnomon.analysis.performance import N_BOOTSTRAP, Line, line, per_interval, samples


@dataclass(frozen=True, eq=False)
class Generalisation:
    """Production per sample interval and kind; arrays run over the I sample intervals, shortest first."""

    task: str
    sample_interval: NDArray[np.int64]  # [I] frames
    kind: tuple[str, ...]  # [I] trained, interpolated (between trained ones) or extrapolated (outside)
    n_trials: NDArray[np.int64]  # [I] all but aborted and cut off
    n_productions: NDArray[np.int64]  # [I]
    mean: NDArray[np.float64]  # [I] frames
    sd: NDArray[np.float64]  # [I] frames
    bias: NDArray[np.float64]  # [I] frames
    trained: Line  # the mean production's line through the intervals of each kind; nan with fewer than two
    interpolated: Line
    extrapolated: Line  # below and above together


def generalisation(
    trials: pl.DataFrame, trained: Sequence[int], n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> Generalisation:
    """Trained intervals beside the untrained ones (probes), each judged by the same trials table."""
    if not trained:
        raise ValueError("trained is empty; give the sample intervals of training, in frames")
    table = per_interval(trials)
    kinds = tuple(_kind(interval, trained) for interval in table["sample_interval"])
    if set(kinds) == {"trained"}:
        raise ValueError(
            f"every sample interval in the table is a trained one ({table['sample_interval'].to_list()}); "
            "generalisation needs probe trials at other intervals"
        )
    answered = table.with_columns(kind=pl.Series(kinds)).filter(pl.col("n_productions") > 0)
    t_p = samples(trials)

    def line_of(kind: str) -> Line:
        chosen = np.flatnonzero((answered["kind"] == kind).to_numpy())
        intervals = answered["sample_interval"].to_numpy()[chosen]
        return line(intervals, [t_p[index] for index in chosen], n_bootstrap, seed)

    return Generalisation(
        task=trials["task"][0],
        sample_interval=table["sample_interval"].to_numpy(),
        kind=kinds,
        n_trials=table["n_trials"].to_numpy(),
        n_productions=table["n_productions"].to_numpy(),
        mean=table["mean"].to_numpy(),
        sd=table["sd"].to_numpy(),
        bias=table["bias"].to_numpy(),
        trained=line_of("trained"),
        interpolated=line_of("interpolated"),
        extrapolated=line_of("extrapolated"),
    )


def _kind(interval: int, trained: Sequence[int]) -> str:
    if interval in trained:
        return "trained"
    return "interpolated" if min(trained) < interval < max(trained) else "extrapolated"
