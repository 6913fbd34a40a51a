"""The first trial of an episode beside the later ones.

A recurrent subject begins an episode with an empty memory. An evaluation of short episodes has more first trials than
the task (one in 50), so they are shown apart.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from gnomon.analysis.bootstrap import (
    N_BOOTSTRAP,
    Array,
    Estimate,
    LaneMoments,
    Share,
    interval_over_lanes,
    lane_moments,
)
from gnomon.analysis.performance import productions, share_within
from gnomon.records.trials import TOLERANCE


@dataclass(frozen=True, eq=False)
class FirstTrials:
    """Trial 0 of each episode against the others; bias is the mean error, every sample interval counting once."""

    first_within: Share
    later_within: Share
    first_bias: Estimate  # frames; nan if nothing was produced
    later_bias: Estimate  # frames


def first_trials(
    trials: pl.DataFrame, tolerance: float = TOLERANCE, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> FirstTrials:
    """Share within tolerance and bias of the first trial of an episode and of the rest."""
    if "trial" not in trials.columns:
        raise ValueError(f"the trial table lacks the column 'trial'; it has {trials.columns}")
    first, later = trials.filter(pl.col("trial") == 0), trials.filter(pl.col("trial") > 0)
    produced = productions(trials)
    produced_first, produced_later = (produced.filter(of) for of in (pl.col("trial") == 0, pl.col("trial") > 0))
    return FirstTrials(
        first_within=share_within(first, tolerance, n_bootstrap, seed),
        later_within=share_within(later, tolerance, n_bootstrap, seed),
        first_bias=mean_bias(lane_moments(produced_first), n_bootstrap, seed),
        later_bias=mean_bias(lane_moments(produced_later), n_bootstrap, seed),
    )


def mean_bias(moments: LaneMoments, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> Estimate:
    """The mean error (frames), averaged over sample intervals."""
    if not len(moments.sample_interval):
        return Estimate(np.nan, (np.nan, np.nan))

    def over_intervals(means: Array) -> Array:
        return (means - moments.sample_interval).mean(axis=1)

    draws = over_intervals(moments.resampled(n_bootstrap, seed)[0])
    lanes = int((moments.n > 0).any(axis=1).sum())
    return Estimate(float(over_intervals(moments.moments()[0])[0]), interval_over_lanes(draws, lanes))
