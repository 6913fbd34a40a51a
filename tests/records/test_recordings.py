"""Trials are found in a recording where they happened, or not at all."""

import numpy as np
import polars as pl
import pytest
import xarray as xr

from gnomon.records.recordings import locate_trials

EPISODES = [[0] * 6 + [1] * 6, [0] * 4 + [1] * 8]  # of two lanes, 12 frames; each begins with its frame -1


def recording() -> xr.Dataset:
    episode = np.array(EPISODES)
    episode_frame = np.array([[*range(-1, 5), *range(-1, 5)], [*range(-1, 3), *range(-1, 7)]])
    axes = ("lane", "frame")
    return xr.Dataset({"episode": (axes, episode), "episode_frame": (axes, episode_frame)})


def table(*rows: tuple[int, int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["lane", "episode", "start_frame", "end_frame"], orient="row")


def test_origin_is_the_place_of_an_episodes_frame_0() -> None:
    located = locate_trials(recording(), table((0, 0, 1, 4), (0, 1, 0, 3), (1, 0, 0, 2), (1, 1, 5, 6)))
    assert located["origin"].to_list() == [1, 7, 1, 5]
    for lane, episode, start, _, origin in located.iter_rows():
        assert recording()["episode"].values[lane, origin + start] == episode
        assert recording()["episode_frame"].values[lane, origin + start] == start


def test_trials_outside_the_recording_are_left_out() -> None:
    # An end on the frame after the last recorded one may be missing; a later one may not. Nor may lane or episode.
    located = locate_trials(recording(), table((0, 1, 0, 5), (0, 1, 0, 6), (2, 0, 0, 3), (0, 2, 0, 3)))
    assert located.rows() == [(0, 1, 0, 5, 7)]


def test_an_episodes_last_trial_may_end_on_the_next_ones_first_picture() -> None:
    assert locate_trials(recording(), table((0, 0, 0, 5))).height == 1


def test_the_table_of_another_recording_is_refused() -> None:
    with pytest.raises(ValueError, match="belongs to another recording"):
        locate_trials(recording(), table((0, 0, 0, 6)))


def test_an_empty_table_is_located_in_full() -> None:
    assert locate_trials(recording(), table((0, 0, 0, 5)).clear()).columns[-1] == "origin"


def test_what_is_no_recording_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks episode, episode_frame; it has nothing"):
        locate_trials(xr.Dataset(), table((0, 0, 0, 5)))
