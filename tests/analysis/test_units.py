"""Units of known activity: the components and the decoder find what was put in, and nothing where nothing was."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnomon.analysis.counter import counter
from gnomon.analysis.decoder import FOLDS, decode_elapsed
from gnomon.analysis.results import from_json, to_json
from gnomon.analysis.units import (
    Population,
    completed_trials,
    cut_out,
    decoder_baseline,
    population,
    trial_average,
)

FOREPERIOD, PAUSE = 3, 4  # frames
Row = tuple[int, int, str]  # sample interval, production interval, outcome
ROWS: list[Row] = [(t_s, t_s + late, "correct") for late in (-2, 0, 1, 5) for t_s in (10, 20, 30)]
Activity = Callable[[SimpleNamespace], NDArray]  # what is known of a frame -> units [lane, frame, unit]


def evaluation(activity: Activity, rows: list[Row] = ROWS, name: str = "cell") -> tuple[xr.Dataset, pl.DataFrame]:
    """Two lanes, each with two episodes of these trials, back to back; and their trial table.

    `activity` is told, [lane, frame], which trial is on and the frames since Ready and since Set (-1: none).
    """
    table: list[dict] = []
    lanes = []
    for lane in range(2):
        columns: dict[str, list[int]] = {
            key: [] for key in ("episode", "episode_frame", "trial", "ready", "set", "t_s")
        }
        for episode in range(2):
            start = 0
            frames = 1 + sum(FOREPERIOD + t_s + t_p + PAUSE for t_s, t_p, _ in rows)
            for key, fill in (("episode", episode), ("trial", -1), ("ready", -1), ("set", -1), ("t_s", -1)):
                columns[key] += [fill] * frames
            columns["episode_frame"] += range(-1, frames - 1)
            origin = len(columns["trial"]) - frames + 1
            for trial, (t_s, t_p, outcome) in enumerate(rows):
                ready = start + FOREPERIOD
                set_, end = ready + t_s, ready + t_s + t_p
                for frame in range(start, end):
                    columns["trial"][origin + frame] = len(table)
                    columns["t_s"][origin + frame] = t_s
                    columns["ready"][origin + frame] = frame - ready if ready <= frame < set_ else -1
                    columns["set"][origin + frame] = frame - set_ if frame >= set_ else -1
                happened = {"start_frame": start, "ready_frame": ready, "set_frame": set_, "end_frame": end}
                place = {"lane": lane, "episode": episode, "trial": trial}
                table.append({**place, "sample_interval": t_s, "outcome": outcome, **happened})
                start = end + PAUSE
        lanes.append(columns)
    known = SimpleNamespace(**{key: np.array([columns[key] for columns in lanes]) for key in lanes[0]})
    axes = ("lane", "frame")
    variables = {key: (axes, getattr(known, key)) for key in ("episode", "episode_frame")}
    units = activity(known).astype(np.float16)
    recording = xr.Dataset({**variables, f"units_{name}": ((*axes, "unit"), units)}, attrs={"task": "ready_set_go"})
    return recording, pl.DataFrame(table)


def elapsed(known: SimpleNamespace) -> NDArray:
    """Frames since the last of Ready and Set: [lane, frame]."""
    return np.maximum(known.ready, known.set)


def noise(known: SimpleNamespace) -> NDArray:
    return np.random.default_rng(1).normal(size=(*known.trial.shape, 6))


def ramp(known: SimpleNamespace) -> NDArray:
    units = 0.01 * noise(known)
    units[..., 2] += 0.1 * elapsed(known)
    return units


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


# The counter.


def test_a_counter_rises_falls_and_comes_back() -> None:
    def count(known: SimpleNamespace) -> NDArray:
        # Counts to t_s, then down again; sign and place in the population are hidden from the analysis.
        level = np.where(known.set >= 0, known.t_s - known.set, np.maximum(known.ready, 0))
        return -0.1 * level[..., None] * np.array([1, 0, 2, 0, -1, 0]) + 0.01 * noise(known)

    found = population(*evaluation(count, [(t_s, t_s, "correct") for t_s in (10, 20, 30)])).counter
    assert found.rise.value > 0.99
    assert found.fall.value < -0.99
    assert found.distance.value < 0.05
    assert found.turn.value == pytest.approx(0, abs=1)
    assert found.before_set.value == pytest.approx(1, abs=0.1)
    assert found.order_at_set.value == 1
    assert found.height_per_frame.value == pytest.approx(1 / 30, rel=0.1)
    np.testing.assert_allclose(found.at_set, (np.array([10, 20, 30]) - 1) / 30, atol=0.05)
    assert (found.share_rising, found.share_falling) == (1, 1)
    assert not found.rise.known  # two lanes are too few for an interval


def test_a_clock_that_never_turns_is_no_counter() -> None:
    def climb(known: SimpleNamespace) -> NDArray:
        level = np.where(known.set >= 0, known.t_s + known.set, np.maximum(known.ready, 0))
        return 0.1 * level[..., None] * np.ones(6) + 0.01 * noise(known)

    found = population(*evaluation(climb)).counter
    assert found.rise.value > 0.99
    assert found.fall.value > 0.99
    assert found.distance.value > 0.5
    assert found.turn.value > 5
    assert found.before_set.value == pytest.approx(0.5, abs=0.1)
    assert found.share_falling == 0


def test_a_counter_of_many_lanes_has_intervals() -> None:
    rng = np.random.default_rng(0)
    t_s = np.tile([10, 20, 30], 40)
    up_and_down = [np.concatenate([np.arange(t), np.arange(t, 0, -1)]) + rng.normal(0, 0.5, 2 * t) for t in t_s]
    found = counter(up_and_down, t_s, np.arange(120) % 12, n_bootstrap=200)
    assert found.rise.above(0.9)
    assert found.fall.below(-0.9)
    assert found.order_at_set.above(0.9)
    assert found.fallen.below(-0.4)
    assert found.distance.below(0.1)


# The decoder.


def test_the_decoder_beside_that_of_a_network_that_has_not_learned() -> None:
    trained, untrained = population(*evaluation(ramp)), population(*evaluation(noise))
    (since_ready, since_set) = decoder_baseline(trained, untrained)
    assert (since_ready.event, since_set.event) == ("ready", "set")
    assert since_ready.r2 == trained.decoder("ready").r2
    assert since_set.difference.value == trained.decoder("set").r2 - untrained.decoder("set").r2
    assert since_set.difference.value > 0.9


def test_time_is_read_from_a_ramp() -> None:
    recording, trials = evaluation(ramp)
    result = population(recording, trials)
    for event, lengths in (("ready", trials["sample_interval"]), ("set", trials["end_frame"] - trials["set_frame"])):
        decoder = result.decoder(event)
        assert decoder.r2 > 0.999
        assert decoder.absolute_error < 0.3
        assert abs(decoder.chance_r2) < 0.05
        assert decoder.chance_r2_interval[0] <= decoder.chance_r2 <= decoder.chance_r2_interval[1] < 0.1
        assert 4 < decoder.chance_absolute_error < 10
        assert decoder.n_trials == trials.height
        assert decoder.n_frames == lengths.sum() == decoder.n_at_elapsed.sum()
        assert decoder.elapsed.tolist() == list(range(max(lengths.to_list())))
        assert decoder.n_at_elapsed.tolist() == [(lengths > frame).sum() for frame in decoder.elapsed]
        np.testing.assert_allclose(decoder.decoded_mean, decoder.elapsed, atol=0.5)
        assert decoder.decoded_sd.max() < 0.5
        weighted = (decoder.absolute_error_at_elapsed * decoder.n_at_elapsed).sum() / decoder.n_frames
        assert weighted == pytest.approx(decoder.absolute_error)


def test_nothing_is_read_from_noise() -> None:
    for decoder in population(*evaluation(noise)).decoders:
        assert abs(decoder.r2) < 0.05
        assert decoder.absolute_error == pytest.approx(decoder.chance_absolute_error, rel=0.05)


def test_a_trial_is_never_taught_and_tested() -> None:
    def codes_of_each_trial(known: SimpleNamespace) -> NDArray:
        one_hot = known.trial[..., None] == np.arange(4 * len(ROWS))
        return 0.1 * one_hot * elapsed(known)[..., None]

    # Each unit tells the time in one trial alone; whoever has seen other frames of it reads it without error.
    assert population(*evaluation(codes_of_each_trial)).decoder("ready").r2 < 0.05


def test_chance_knows_how_long_a_trial_lasts() -> None:
    def memory_of_the_sample(known: SimpleNamespace) -> NDArray:
        return 0.01 * noise(known) + known.t_s[..., None] / 10

    decoder = population(*evaluation(memory_of_the_sample)).decoder("set")
    assert decoder.chance_r2 > 0.1
    assert decoder.r2 == pytest.approx(decoder.chance_r2, abs=0.03)


def test_answers_on_sets_own_frame_leave_no_frames() -> None:
    rows: list[Row] = [(10, 0, "wrong"), (20, 18, "correct"), (20, 21, "correct"), (30, 33, "correct")]
    result = population(*evaluation(ramp, rows))
    assert [path.projection.shape for path in result.trajectories] == [(10, 3), (41, 3), (63, 3)]
    assert result.decoder("set").n_trials == 4 * 3


def test_a_time_that_does_not_vary_has_no_r2() -> None:
    decoder = decode_elapsed("set", list(np.random.default_rng(0).normal(size=(8, 1, 3))), np.arange(8), seed=0)
    assert np.isnan(decoder.r2)
    assert decoder.absolute_error == 0


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
