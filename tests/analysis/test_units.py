"""Units of known activity: the components and the decoder find what was put in, and nothing where nothing was."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_units import ROWS, Row, elapsed, evaluation, noise, ramp
from numpy.typing import NDArray

from gnomon.analysis.decoder import FOLDS
from gnomon.analysis.results import from_json, to_json
from gnomon.analysis.units import (
    Population,
    completed_trials,
    cut_out,
    population,
    trial_average,
)

# Which frames.


def test_epochs_run_from_their_event_to_the_frame_before_the_next() -> None:
    recording, trials = evaluation(noise)
    used = completed_trials(recording, trials)
    place = recording["episode_frame"].values
    for start, end in (("ready_frame", "set_frame"), ("set_frame", "end_frame")):
        for trial, epoch in zip(trials.to_dicts(), cut_out(place, used, start, end), strict=True):
            assert epoch.tolist() == list(range(trial[start], trial[end]))


def test_only_completed_and_recorded_trials_count() -> None:
    rows: list[Row] = [*ROWS, (10, 7, "early"), (10, 90, "timeout"), (20, 9, "cut_off"), (20, 9, "wrong")]

    def wild_when_not_completed(known: SimpleNamespace) -> NDArray:
        number = known.trial % len(rows)
        return ramp(known) + 1000.0 * ((number >= len(ROWS)) & (number < len(rows) - 1))[..., None]

    recording, trials = evaluation(wild_when_not_completed, rows)
    elsewhere = trials.filter(pl.col("lane") == 1).with_columns(lane=pl.lit(7, pl.Int64))
    result = population(recording, pl.concat([trials, elsewhere]))
    expected = trials.filter(pl.col("outcome").is_in(["correct", "wrong"])).select("lane", "episode", "trial")
    assert result.trials.tolist() == expected.to_numpy().tolist()
    assert len(result.trials) == 4 * (len(ROWS) + 1)
    assert [path.n_trials for path in result.trajectories] == [16, 20, 16]
    assert max(np.abs(path.projection).max() for path in result.trajectories) < 10


# Averages and components.


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=9), st.integers(0, 2**32 - 1))
def test_an_average_is_over_trials_under_way_while_half_of_them_are(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    epochs = [rng.normal(size=(length, 2)) for length in lengths]
    expected = []
    for frame in range(max(lengths)):
        here = [epoch[frame] for epoch in epochs if len(epoch) > frame]
        if len(here) < 0.5 * len(epochs):
            break
        expected.append(sum(here) / len(here))
    np.testing.assert_allclose(trial_average(epochs), np.array(expected).reshape(-1, 2), atol=1e-12)


def test_components_are_those_of_the_averages_covariance() -> None:
    def slow(known: SimpleNamespace) -> NDArray:
        weights = np.random.default_rng(3).normal(size=(3, 6))
        time = elapsed(known)
        return np.stack([time, 8 * np.sin(time / 3), known.t_s / 4], -1) @ weights + noise(known)

    recording, trials = evaluation(slow)
    result = population(recording, trials)
    units = recording["units_cell"].values.astype(float)
    averages = []
    for t_s in (10, 20, 30):
        epochs = [
            units[trial["lane"], recording["episode"].values[trial["lane"]] == trial["episode"]][
                1 + trial["ready_frame"] : 1 + trial["end_frame"]
            ]
            for trial in trials.to_dicts()
            if trial["sample_interval"] == t_s
        ]
        averages.append(trial_average(epochs))
    rows = np.concatenate(averages)
    variance, directions = np.linalg.eigh(np.cov(rows.T))
    variance, directions = variance[::-1], directions[:, ::-1]
    np.testing.assert_allclose(result.explained_variance, variance / variance.sum(), rtol=1e-6)
    for path, average in zip(result.trajectories, averages, strict=True):
        expected = (average - rows.mean(0)) @ directions[:, :3]
        np.testing.assert_allclose(np.abs(path.projection), np.abs(expected), atol=1e-8)
    before_set = [path.projection[: path.sample_interval] for path in result.trajectories]
    time = np.concatenate([np.arange(len(each)) for each in before_set])
    assert all(np.corrcoef(time, column)[0, 1] >= 0 for column in np.concatenate(before_set).T)


def test_a_rotating_population_lies_in_one_plane() -> None:
    def rotating(known: SimpleNamespace) -> NDArray:
        plane, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 2)))
        angle = 2 * np.pi * elapsed(known) / 10  # whole turns in every sample interval
        return np.stack([np.cos(angle), np.sin(angle)], -1) @ plane.T

    result = population(*evaluation(rotating, [(t_s, t_s, "correct") for t_s in (10, 20, 30)]))
    np.testing.assert_allclose(result.explained_variance[:3], [0.5, 0.5, 0], atol=1e-3)
    for path in result.trajectories:
        assert path.projection.shape == (2 * path.sample_interval, 3)
        np.testing.assert_allclose(np.linalg.norm(path.projection, axis=1), 1, atol=2e-3)


# Names, files, mistakes.


def test_the_cell_is_preferred_and_others_can_be_named() -> None:
    recording, trials = evaluation(noise, name="hidden")
    assert population(recording, trials).units == "hidden"
    both = recording.assign(units_cell=recording["units_hidden"] * 2)
    assert population(both, trials).units == "cell"
    assert population(both, trials, units="hidden").units == "hidden"


def test_the_same_seed_gives_the_same_result_which_survives_json() -> None:
    recording, trials = evaluation(ramp)
    text = to_json(population(recording, trials))
    assert text == to_json(population(recording, trials))
    assert text == to_json(from_json(Population, text))
    other = population(recording, trials, seed=1)
    assert to_json(other) != text
    assert other.decoder("set").r2 == from_json(Population, text).decoder("set").r2


def test_mistakes_are_named() -> None:
    recording, trials = evaluation(noise)
    with pytest.raises(ValueError, match="no units 'memory'; it has cell"):
        population(recording, trials, units="memory")
    with pytest.raises(ValueError, match="none of the units cell, hidden, memory; it has none"):
        population(recording.drop_vars("units_cell"), trials)
    with pytest.raises(ValueError, match=r"lacks the columns \['ready_frame'\]; only ready_set_go"):
        population(recording, trials.drop("ready_frame"))
    with pytest.raises(ValueError, match=f"holds {FOLDS - 1} completed trials; at least {FOLDS}"):
        population(recording, trials.head(FOLDS - 1))
    with pytest.raises(ValueError, match="none of the 0 trials"):
        population(recording, trials.clear())
    with pytest.raises(ValueError, match="none of the 48 trials was both recorded and answered"):
        population(recording.isel(lane=slice(0)), trials)
    with pytest.raises(ValueError, match="the 6 units never change"):
        population(recording.assign(units_cell=recording["units_cell"] * 0), trials)
    with pytest.raises(ValueError, match="unknown event 'go'"):
        population(recording, trials).decoder("go")


def test_too_few_trials_beyond_set_are_named() -> None:
    rows: list[Row] = [(10, 0, "wrong"), (20, 0, "wrong"), (30, 33, "correct")]
    with pytest.raises(ValueError, match="4 trials last a frame beyond their event; at least 5"):
        population(*evaluation(ramp, rows))
