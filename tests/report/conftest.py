"""A noisy subject's trials and what the analyses say of it."""

import polars as pl
import pytest
from figure_parts import PROBES, TRAINED

from gnomon.analysis.generalisation import Generalisation, generalisation
from gnomon.analysis.observer_fit import Comparison, ObserverFit, compare, fit
from gnomon.analysis.performance import Production, production
from gnomon.analysis.scalar_variability import ScalarVariability, scalar_variability
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.records.trials import take_trials
from gnomon.subjects.scripted import NoisySubject


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    """A noisy subject's trials, one trial in three a probe."""
    task = ReadySetGo(intervals=TRAINED, probe_intervals=PROBES, probe_probability=0.33, foreperiods=(12,), pause=2)
    laboratory = Laboratory(task, lanes=64, seed=1)
    subject = NoisySubject(laboratory, 1)
    for _ in range(900):
        laboratory.step(subject.act().action)
    return take_trials(laboratory.trials)


@pytest.fixture(scope="module")
def produced(trials: pl.DataFrame) -> Production:
    return production(trials.filter(~pl.col("probe")), n_bootstrap=20)


@pytest.fixture(scope="module")
def generalised(trials: pl.DataFrame) -> Generalisation:
    return generalisation(trials, TRAINED, n_bootstrap=20)


@pytest.fixture(scope="module")
def spread(trials: pl.DataFrame) -> ScalarVariability:
    return scalar_variability(trials, n_bootstrap=20)


@pytest.fixture(scope="module")
def fitted(trials: pl.DataFrame) -> ObserverFit:
    return fit(trials.filter(~pl.col("probe")))


@pytest.fixture(scope="module")
def compared(trials: pl.DataFrame) -> Comparison:
    return compare(trials.filter(~pl.col("probe")), [("bls", "uniform"), ("mle", "none")])
