"""The likelihood of productions under the Bayesian observer, and the climb to its maximum.

Productions are whole frames, and their likelihood is the probability of the frame. (The density at the frame, which is
simpler, overstates w_p by 4 to 7 % at 0.05 and 10 to 100 frames, where the s.d. is below one frame.)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit, logit

from gnomon.analysis.observer import Array, Observer
from gnomon.analysis.performance import judged

MIN_PRODUCTIONS = 50
W_BOUNDS = (0.002, 1.5)  # of w_m and w_p in fits; at the lowest, the s.d. at 100 frames is a fifth of a frame
LAPSE_BOUNDS = (1e-6, 0.5)
FLAT_ERROR = 0.25  # standard error of log w above which the likelihood counts as flat
# How carefully to climb: first step (downwards), last step (both of log w) and last gain (of log likelihood).
SCOUTING = (-0.3, 0.1, 3.0)
POLISHING = (-0.03, 3e-4, 1e-3)


@dataclass(frozen=True, eq=False)
class Productions:
    """Productions and the observer that is to explain them."""

    model: Observer
    t_s: Array  # [D] the distinct pairs of sample and production interval
    t_p: Array  # [D]
    count: NDArray[np.int64]  # [D]
    lapse_span: float
    lapse_fitted: bool
    frame: float

    def log_likelihood(self, w_m: float, w_p: float, lapse: float) -> float:
        produced = self.model.probability(self.t_s, self.t_p, w_m, w_p, self.frame)
        lapsed = self.frame / (self.lapse_span + self.frame)  # one of the frames from 0 to the longest production
        return float(self.count @ np.log(np.maximum((1 - lapse) * produced + lapse * lapsed, 1e-300)))

    def climb(
        self, w_m: float, w_p: float, lapse: float, care: tuple[float, float, float]
    ) -> tuple[float, float, float, float, bool]:
        """Maximise from one start -> (w_m, w_p, lapse, log likelihood, converged within the bounds)."""
        size = 2 + self.lapse_fitted

        def unpack(theta: Array) -> tuple[float, float, float]:
            w_m, w_p = np.exp(theta[:2])
            return float(w_m), float(w_p), float(expit(theta[2])) if self.lapse_fitted else 0.0

        bounds = np.stack([np.log(W_BOUNDS), np.log(W_BOUNDS), logit(LAPSE_BOUNDS)])[:size]
        within = float(np.clip(lapse, *LAPSE_BOUNDS))
        start = np.clip([np.log(w_m), np.log(w_p), logit(within)][:size], *bounds.T)
        found = climb(lambda theta: -self.log_likelihood(*unpack(theta)), start, bounds, care)
        inside = bool(np.all((found.x > bounds[:, 0] + 1e-3) & (found.x < bounds[:, 1] - 1e-3)))
        return (*unpack(found.x), float(-found.fun), bool(found.success) and inside)

    def standard_errors(self, w_m: float, w_p: float, lapse: float, step: float = 0.03) -> tuple[float, float]:
        """Of log w_m and log w_p, from the curvature at the maximum; nan where that is too flat."""

        def at(i: int, j: int) -> float:
            return self.log_likelihood(w_m * np.exp(i * step), w_p * np.exp(j * step), lapse)

        centre, mixed = 2 * at(0, 0), at(1, 1) + at(-1, -1) - at(1, -1) - at(-1, 1)
        hessian = [[at(1, 0) + at(-1, 0) - centre, mixed / 4], [mixed / 4, at(0, 1) + at(0, -1) - centre]]
        information = -np.array(hessian) / step**2
        if np.linalg.eigvalsh(information).min() <= FLAT_ERROR**-2:
            return np.nan, np.nan
        error_m, error_p = np.sqrt(np.diag(np.linalg.inv(information)))
        return float(error_m), float(error_p)


def climb(
    loss: Callable[[Array], float], start: Array, bounds: Array, care: tuple[float, float, float]
) -> OptimizeResult:
    """The least loss within bounds [P, 2] by Nelder and Mead, from one start [P].

    care: the first step, its sign turned where it would leave the bounds; the last step; the last gain.
    """
    step, last_step, last_gain = care
    fits = (start + step > bounds[:, 0]) & (start + step < bounds[:, 1])
    options = {
        "initial_simplex": np.vstack([start, start + np.diag(np.where(fits, step, -step))]),
        "xatol": last_step,
        "fatol": last_gain,
    }
    return minimize(loss, start, method="Nelder-Mead", bounds=bounds, options=options)


def read_productions(
    trials: pl.DataFrame | tuple[ArrayLike, ArrayLike], frame: float
) -> tuple[Array, Array, list[float]]:
    """t_s and t_p of every production, and the sample intervals that are not probes."""
    if isinstance(trials, pl.DataFrame):
        produced = judged(trials).drop_nulls("production_interval")
        usual = produced.filter(~pl.col("probe")) if "probe" in produced.columns else produced
        t_s = produced["sample_interval"].cast(pl.Float64).to_numpy()
        t_p = produced["production_interval"].to_numpy()
        trained = usual["sample_interval"].unique().to_list()
    else:
        t_s, t_p = (np.asarray(column, dtype=np.float64) for column in trials)
        if t_s.ndim != 1 or t_s.shape != t_p.shape or not np.isfinite([t_s, t_p]).all():
            raise ValueError(f"t_s {t_s.shape} and t_p {t_p.shape} must be finite arrays of one length")
        if len(t_s) and t_s.min() <= 0:
            raise ValueError(f"the shortest t_s is {t_s.min():g} frames; sample intervals must be positive")
        trained = np.unique(t_s).tolist()
    if len(t_p) < MIN_PRODUCTIONS:
        raise ValueError(f"{len(t_p)} productions are too few; fitting an observer needs {MIN_PRODUCTIONS}")
    off = t_p[(t_p < 0) | (np.abs(t_p / frame - np.rint(t_p / frame)) > 1e-6)]
    if len(off):
        raise ValueError(
            f"{len(off)} productions, such as {off[0]:g}, are no whole multiples of frame {frame:g}, 0 or more"
        )
    return t_s, t_p, trained
