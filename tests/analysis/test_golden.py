"""Every analysis of a small shipped trial table gives the shipped result.

`python tests/analysis/test_golden.py` lets a scripted subject make the table again, and writes the results; look at the
difference before you keep it. Results are compared as numbers, for another machine may round the last digits otherwise.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from gnomon.analysis import observer_fit, observer_uncertainty
from gnomon.analysis.generalisation import Generalisation, generalisation
from gnomon.analysis.observer import Observer
from gnomon.analysis.observer_fit import Comparison, ObserverFit
from gnomon.analysis.observer_uncertainty import ObserverBootstrap, Profile
from gnomon.analysis.performance import LearningCurve, Production, learning_curve, production
from gnomon.analysis.results import from_json, to_json
from gnomon.analysis.scalar_variability import ScalarVariability, scalar_variability
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import PAPER
from gnomon.records.trials import read_trials, schema, take_trials, write_trials
from gnomon.subjects.scripted import NoisySubject

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
PROBED = replace(PAPER, probe_intervals=(5, 25, 55, 110, 120), probe_probability=0.3)
W_M, W_P = 0.15, 0.08
LANES, TRIALS, FRAMES = 100, 8, 3_500  # frames enough for everybody's trials


class BayesianSubject(NoisySubject):
    """The noisy subject with a prior, so that the observer's fit has one maximum."""

    def estimate(self, interval: torch.Tensor) -> torch.Tensor:
        observer = Observer("bls", "discrete", tuple(float(t_s) for t_s in PROBED.intervals))
        return torch.from_numpy(observer.estimate(super().estimate(interval).numpy(), self.w_m))


def make_trials() -> pl.DataFrame:
    """The first trials of many subjects, a third of them probes."""
    laboratory = Laboratory(PROBED, lanes=LANES, seed=5)
    subject = BayesianSubject(laboratory, seed=6, w_m=W_M, w_p=W_P)
    for _ in range(FRAMES):
        laboratory.step(subject.act().action)
    table = take_trials(laboratory.trials).filter(pl.int_range(pl.len()).over("lane") < TRIALS)
    assert table.height == LANES * TRIALS
    return table


def curves(trials: pl.DataFrame) -> LearningCurve:
    """Rewards per 1,000 frames over the trials, as if each half of the lanes were one seed's training."""
    halves = [trials.filter(pl.col("lane") % 2 == half) for half in (0, 1)]
    frames = (pl.col("end_frame") - pl.col("start_frame")).cum_sum()
    rate = (1000 * pl.col("reward").cum_sum() / frames).alias("reward_rate")
    return learning_curve([half.select(frames.alias("frames"), rate) for half in halves], points=20)


def fit(trials: pl.DataFrame) -> ObserverFit:
    return observer_fit.fit(trials)


def likelihood(trials: pl.DataFrame) -> Profile:
    return observer_uncertainty.profile(observer_fit.fit(trials), w_m=[0.12, 0.15, 0.18], w_p=[0.06, 0.08, 0.1])


def bootstrap(trials: pl.DataFrame) -> ObserverBootstrap:
    return observer_uncertainty.bootstrap(trials, observer_fit.fit(trials), n=4)


def compare(trials: pl.DataFrame) -> Comparison:
    # without a prior w_m and w_p cannot be told apart, and where on the ridge a search ends is a matter of chance
    return observer_fit.compare(trials, [("bls", "discrete"), ("bls", "uniform"), ("map", "uniform")])


# Name of the file: the result's class, the analysis, and how closely a number must agree. Searches (for a maximum, for
# least squares) end within their own tolerance, in which what they maximise hardly changes.
FLAT_AT_THE_MAXIMUM = ("log_likelihood", "aic", "bic")
ANALYSES: dict[str, tuple[type, Callable[[pl.DataFrame], Any], float]] = {
    "learning_curve": (LearningCurve, curves, 1e-9),
    "production": (Production, production, 1e-9),
    "generalisation": (Generalisation, lambda trials: generalisation(trials, PROBED.intervals), 1e-9),
    "scalar_variability": (ScalarVariability, scalar_variability, 1e-4),
    "observer_fit": (ObserverFit, fit, 1e-2),
    "observer_comparison": (Comparison, compare, 1e-2),
    "observer_profile": (Profile, likelihood, 1e-2),
    "observer_bootstrap": (ObserverBootstrap, bootstrap, 1e-2),
}


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    return read_trials(GOLDEN / "trials.parquet")


def test_the_table_has_the_declared_schema(trials: pl.DataFrame) -> None:
    assert trials.schema == schema(PROBED)
    assert trials.height == LANES * TRIALS


def test_the_golden_fit_finds_the_subject() -> None:
    fitted = from_json(ObserverFit, (GOLDEN / "observer_fit.json").read_text())
    assert (fitted.w_m, fitted.w_p) == pytest.approx((W_M, W_P), rel=0.2)
    assert fitted.complaint == ""


@pytest.mark.parametrize("name", ANALYSES)
def test_result_is_the_golden_one(name: str, trials: pl.DataFrame) -> None:
    cls, analysis, tolerance = ANALYSES[name]
    expected = (GOLDEN / f"{name}.json").read_text()
    assert json.loads(to_json(from_json(cls, expected))) == json.loads(expected)  # nothing is lost in reading it
    assert_same(json.loads(to_json(analysis(trials))), json.loads(expected), tolerance, name)


def assert_same(found: Any, expected: Any, tolerance: float, where: str) -> None:
    """Equal but for the last digits of real numbers; says where they differ."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            closely = min(tolerance, 1e-5) if key in FLAT_AT_THE_MAXIMUM else tolerance
            assert_same(found[key], value, closely, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for index, value in enumerate(expected):
            assert_same(found[index], value, tolerance, f"{where}[{index}]")
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=where)
    else:
        assert found == expected, where


if __name__ == "__main__":
    made = make_trials()
    write_trials(made, GOLDEN / "trials.parquet")
    for file, (_, analyse, _) in ANALYSES.items():
        (GOLDEN / f"{file}.json").write_text(to_json(analyse(made)) + "\n")
        print(f"{GOLDEN / file}.json")
