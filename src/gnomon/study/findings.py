"""What is found about one participant, and about a family's training: every analysis, as one result that is saved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import polars as pl
import xarray as xr

from gnomon.analysis.first_trials import FirstTrials, first_trials
from gnomon.analysis.gaze import GazePaths, gaze_paths
from gnomon.analysis.gaze_strategy import GazeStrategy, gaze_strategy
from gnomon.analysis.generalisation import Generalisation, generalisation
from gnomon.analysis.observer_fit import Comparison, ObserverFit, compare
from gnomon.analysis.observer_rivals import Rivals, rivals
from gnomon.analysis.observer_uncertainty import Profile, profile
from gnomon.analysis.performance import LearningCurve, Production, learning_curve, production
from gnomon.analysis.scalar_variability import ScalarVariability, scalar_variability
from gnomon.analysis.units import Population, population
from gnomon.lab.tasks import ReadySetGo

Result = TypeVar("Result")

PAPERS_OBSERVER = ("bls", "discrete")  # kind and prior


@dataclass(frozen=True, eq=False)
class Findings:
    """Every analysis of one participant; those that could not be done are None, and `missing` says why."""

    name: str
    n_trials: int
    production: Production | None
    first_trials: FirstTrials | None
    scalar_variability: ScalarVariability | None
    generalisation: Generalisation | None
    comparison: Comparison | None  # of observers
    observer: ObserverFit | None  # the paper's: BLS with the prior of training
    profile: Profile | None
    rivals: Rivals | None  # models without a prior, and tests of fit
    population: Population | None
    untrained: Population | None  # the same network before training, shown the same frames
    gaze: GazePaths | None
    strategy: GazeStrategy | None
    missing: tuple[tuple[str, str], ...]  # analysis, reason

    @property
    def share_within(self) -> float:
        """Share of all judged trials that missed by less than the tolerance; 0 if Set was never answered."""
        return 0.0 if self.production is None else self.production.within.value


@dataclass(frozen=True, eq=False)
class Learning:
    """A family's reward rate over training."""

    over_frames: LearningCurve
    over_minutes: LearningCurve


def find(
    name: str,
    task: ReadySetGo,
    trials: pl.DataFrame,
    probes: pl.DataFrame | None = None,
    recording: xr.Dataset | None = None,
    untrained: xr.Dataset | None = None,
    *,
    closely: bool = True,
) -> Findings:
    """Every analysis that can be done with these tables and recordings; observers are fitted only if closely."""
    missing: list[tuple[str, str]] = []

    def attempt(analysis: str, analyse: Callable[[], Result]) -> Result | None:
        try:
            return analyse()
        except ValueError as reason:  # too few productions, say: others may still tell something
            missing.append((analysis, str(reason)))
            return None

    intervals = sorted(task.intervals)
    tolerance = task.base_tolerance
    produced = attempt("production", lambda: production(trials, tolerance))
    first = attempt("first trials", lambda: first_trials(trials, tolerance))
    spread = attempt("scalar variability", lambda: scalar_variability(trials))
    general = comparison = observer = surface = others = units = before = paths = strategy = None
    if probes is not None:
        general = attempt("generalisation", lambda: generalisation(probes, intervals))
    if closely:
        comparison = attempt("observer", lambda: compare(trials, intervals=intervals))
    if comparison is not None:
        bls = {(fitted.observer, fitted.prior): fitted for fitted in comparison.fits}[PAPERS_OBSERVER]
        observer, surface = bls, attempt("profile", lambda: profile(bls))
        others = attempt("rivals", lambda: rivals(trials, comparison, intervals))
    if recording is not None:
        units = attempt("units", lambda: population(recording, trials))
        paths = attempt("gaze", lambda: gaze_paths(recording, trials, task))
        strategy = attempt("strategy of the gaze", lambda: gaze_strategy(recording, trials, task))
    if untrained is not None:
        before = attempt("untrained units", lambda: population(untrained, trials))
    return Findings(
        name=name,
        n_trials=trials.height,
        production=produced,
        first_trials=first,
        scalar_variability=spread,
        generalisation=general,
        comparison=comparison,
        observer=observer,
        profile=surface,
        rivals=others,
        population=units,
        untrained=before,
        gaze=paths,
        strategy=strategy,
        missing=tuple(missing),
    )


def find_learning(tables: Sequence[pl.DataFrame]) -> Learning:
    """The learning curves over seeds, one table of metrics for each."""
    return Learning(learning_curve(tables, "frames"), learning_curve(tables, "minutes"))


def curve_columns(metrics: pl.DataFrame | None) -> pl.DataFrame | None:
    """The columns of the metrics that a learning curve needs, if there are enough rows."""
    wanted = ("frames", "minutes", "reward_rate")
    if metrics is None or any(name not in metrics.columns for name in wanted):
        return None
    rows = metrics.select(pl.col(*wanted).cast(pl.Float64)).fill_nan(None).drop_nulls()
    return rows if rows.height > 1 else None
