"""The decoder reads time from units of known activity, and nothing where nothing was put in."""

from types import SimpleNamespace

import numpy as np
import pytest
from made_up_units import ROWS, Row, elapsed, evaluation, noise, ramp
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from gnomon.analysis.decoder import PENALTIES, decode_elapsed, ridge
from gnomon.analysis.units import (
    decoder_baseline,
    population,
)

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


def test_the_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    units = rng.normal(size=(300, 12)) * np.linspace(0.1, 5, 12)
    units[:, 11] = units[:, 10]  # two units that are the same
    units -= units.mean(0)
    chance = rng.normal(size=300)
    targets = np.stack([7 + units @ rng.normal(size=12), chance, units[:, 3] + 9 * rng.normal(size=300)], axis=1)
    theirs = RidgeCV(PENALTIES, alpha_per_target=True).fit(units, targets)
    assert len(np.unique(np.asarray(theirs.alpha_))) == 3  # or the choice of penalties would not be tested
    weights, intercepts = ridge(units, targets)
    np.testing.assert_allclose(weights.T, np.asarray(theirs.coef_), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(intercepts, np.asarray(theirs.intercept_), rtol=1e-12)
