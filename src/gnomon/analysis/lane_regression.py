"""Linear regression over trials, with intervals that resample lanes.

Lanes that belong to different arms of an experiment are resampled within their arm, so that no arm is ever missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gnomon.analysis.bootstrap import (
    N_BOOTSTRAP,
    Array,
    Estimate,
    interval_over_lanes,
    lane_index,
    lane_weights,
    ratio,
)

CONSTANT = "constant"


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a linear regression, in the data and in every resample."""

    predictors: tuple[str, ...]  # the first is the constant
    coefficients: Array  # [P]
    draws: Array  # [N, P]
    sd: float  # of the residuals
    sd_draws: Array  # [N]
    n_trials: int
    lanes: int

    def estimate(self, predictor: str) -> Estimate:
        """A coefficient and its interval."""
        place = self.predictors.index(predictor)
        return Estimate(float(self.coefficients[place]), interval_over_lanes(self.draws[:, place], self.lanes))

    def share(self, predictor: str, *others: str) -> Estimate:
        """What a coefficient makes of the sum of itself and others."""
        places = [self.predictors.index(name) for name in (predictor, *others)]
        values = ratio(self.coefficients[places[:1]], self.coefficients[places].sum(keepdims=True))
        draws = ratio(self.draws[:, places[0]], self.draws[:, places].sum(axis=1))
        return Estimate(float(values[0]), interval_over_lanes(draws, self.lanes))

    @property
    def spread(self) -> Estimate:
        """The s.d. of the residuals and its interval."""
        return Estimate(self.sd, interval_over_lanes(self.sd_draws, self.lanes))


def regress(
    trials: pl.DataFrame,
    outcome: str,
    predictors: Sequence[str],
    *,
    arm: str = "arm",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Regression:
    """Regress a column on others, and a constant; all nan where the trials cannot tell the predictors apart."""
    names = (CONSTANT, *predictors)
    x = np.column_stack([np.ones(trials.height), *(trials[name].cast(pl.Float64).to_numpy() for name in predictors)])
    y = trials[outcome].cast(pl.Float64).to_numpy()
    lane, lanes = lane_index(trials["lane"])
    weights = stratified_weights(trials, lane, lanes, arm, n_bootstrap, seed)
    if trials.height <= len(names) or np.linalg.matrix_rank(x) < len(names):
        nan = np.full(len(names), np.nan)
        draws = np.full((n_bootstrap, len(names)), np.nan)
        return Regression(names, nan, draws, np.nan, draws[:, 0], trials.height, lanes)

    def summed(values: NDArray[np.float64]) -> Array:
        total = np.zeros((lanes, *values.shape[1:]))
        np.add.at(total, lane, values)
        return total

    products, target = summed(x[:, :, None] * x[:, None, :]), summed(x * y[:, None])
    squares, count = summed(y**2), summed(np.ones(len(y)))

    def solve(w: Array) -> tuple[Array, Array]:
        """Coefficients [N, P] and residual s.d. [N] for weights of lanes [N, L]."""
        a, b = np.tensordot(w, products, 1), w @ target
        found = (np.linalg.pinv(a, hermitian=True) @ b[:, :, None])[:, :, 0]
        left = np.maximum(w @ squares - (found * b).sum(axis=1), 0.0)
        return found, np.sqrt(ratio(left, np.maximum(w @ count - len(names), 1.0)))

    coefficients, sd = solve(np.ones((1, lanes)))
    draws, sd_draws = solve(weights)
    return Regression(names, coefficients[0], draws, float(sd[0]), sd_draws, trials.height, lanes)


def stratified_weights(
    trials: pl.DataFrame, lane: NDArray[np.int64], lanes: int, arm: str, n_bootstrap: int, seed: int
) -> Array:
    """How often each resample draws each lane, [N, L], every arm by itself."""
    of_lane = np.full(lanes, 0)
    if arm in trials.columns:
        numbers = np.unique(trials[arm].cast(pl.String).to_numpy(), return_inverse=True)[1]
        of_lane[lane] = numbers
    weights = np.zeros((n_bootstrap, lanes))
    for number in np.unique(of_lane):
        members = np.flatnonzero(of_lane == number)
        weights[:, members] = lane_weights(len(members), n_bootstrap, seed + int(number))
    return weights
