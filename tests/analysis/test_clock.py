"""What interventions show, from tables made up with known answers."""

import math

import numpy as np
import polars as pl
import pytest
import xarray as xr
from made_up_clock import design

from gnomon.analysis.clock import Clock, clock, half_dose
from gnomon.analysis.clock_dynamics import scaling, unit_statistics
from gnomon.analysis.results import from_json, to_json


@pytest.fixture(scope="module")
def found() -> Clock:
    return clock(design())


def test_the_donor_share_is_that_of_the_regression(found: Clock) -> None:
    gaze, state = found.swap("gaze"), found.swap("state")
    assert gaze is not None
    assert state is not None
    assert gaze.own.value == pytest.approx(0.25, abs=0.02)
    assert gaze.donor.value == pytest.approx(0.75, abs=0.02)
    assert gaze.share.value == pytest.approx(0.75, abs=0.02)
    assert not gaze.carries
    assert state.does_not_carry
    assert found.place == "not decided"
    assert gaze.share.interval[0] < 0.75 < gaze.share.interval[1]


def test_a_pause_delays_per_frame_held_and_only_where_there_is_room(found: Clock) -> None:
    (pause,) = found.pauses
    assert (pause.what, pause.shortest) == ("gaze", 60)
    assert pause.per_frame.value == pytest.approx(0.5, abs=0.03)
    assert pause.later.dose.tolist() == [10, 20, 30]
    assert pause.later.value == pytest.approx([5, 10, 15], abs=0.5)


def test_a_displacement_is_a_slope_in_each_direction(found: Clock) -> None:
    moved = found.displacement
    assert moved is not None
    assert moved.right.value == pytest.approx(1.5, abs=0.2)
    assert moved.up.value == pytest.approx(-4.0, abs=0.2)
    assert moved.rightwards.value == pytest.approx([-3, 3], abs=0.5)
    assert moved.upwards.dose.tolist() == [2]


def test_lesions_give_slopes_answers_and_the_dose_that_halves_the_slope(found: Clock) -> None:
    (lesion,) = found.lesions
    assert lesion.slope.dose.tolist() == [0, 4, 8, 16]
    assert lesion.slope.value == pytest.approx([1, 0.8, 0.4, 0.1], abs=0.03)
    assert lesion.answered.value == pytest.approx([1, 1, 1, 0.5], abs=0.1)
    assert lesion.half.value == pytest.approx(7, abs=0.3)  # between 4 and 8: three quarters of the way
    assert lesion.half.known
    assert found.reset is not None
    assert found.reset.value == pytest.approx(0.0, abs=0.03)


def test_results_survive_json(found: Clock) -> None:
    assert to_json(from_json(Clock, to_json(found))) == to_json(found)


def test_the_same_trials_give_the_same_intervals(found: Clock) -> None:
    assert to_json(clock(design())) == to_json(found)


def test_untreated_trials_of_an_arm_do_not_count() -> None:
    table = design().with_columns(treated=pl.col("how") != "swap")
    assert clock(table).swaps == ()


def test_a_plain_trial_table_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks arm, what, how, dose, treated, donor_interval"):
        clock(design().drop("arm", "what", "how", "dose", "treated", "donor_interval"))


def test_the_half_dose_is_the_first_crossing() -> None:
    dose = np.array([0.0, 2.0, 4.0, 8.0])
    slopes = np.array([[1.0, 0.5, 0.9, 0.0], [2.0, 2.0, 0.0, 0.0], [1.0, 0.9, 0.8, 0.7], [1.0, 1.0, np.nan, np.nan]])
    first, second, never, silent = half_dose(dose, slopes)
    assert (first, second, silent) == (2.0, 3.0, 3.0)
    assert math.isnan(never)


# Dynamics


def recorded(index: float, lanes: int = 10, each: int = 8) -> tuple[xr.Dataset, pl.DataFrame]:
    """Activity of three units that runs on a circle after Set, at a speed that goes with t_s ** -index."""
    draw = np.random.default_rng(1)
    length = 300
    units = np.zeros((lanes, each * length, 3), dtype=np.float32)
    episode_frame = np.tile(np.arange(each * length), (lanes, 1))
    rows = []
    for lane in range(lanes):
        for trial in range(each):
            t_s = int(draw.choice([40, 60, 80, 100]))
            ready = trial * length + 10
            place, answer = ready + t_s, ready + 2 * t_s
            after = np.arange(answer - place)
            angle = 0.02 * after * (t_s / 40) ** -index
            units[lane, place:answer, :2] = np.stack([np.cos(angle), np.sin(angle)], 1)
            units[lane, ready:place, 2] = np.arange(t_s)  # only the last unit carries time up to Set
            rows.append((lane, 0, trial, t_s, "correct", trial * length, ready, place, answer))
    names = (
        "lane", "episode", "trial", "sample_interval", "outcome", "start_frame", "ready_frame", "set_frame", "end_frame"
    )  # fmt: skip
    axes = ("lane", "frame")
    recording = xr.Dataset(
        {
            "units_cell": ((*axes, "unit_cell"), units),
            "episode": (axes, np.zeros_like(episode_frame)),
            "episode_frame": (axes, episode_frame),
        },
        attrs={"task": "ready_set_go"},
    )
    return recording, pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("index", [0.0, 1.0])
def test_the_scaling_index_tells_one_speed_from_temporal_scaling(index: float) -> None:
    found = scaling(*recorded(index))
    assert found.index.value == pytest.approx(index, abs=0.1)
    assert found.index.known
    assert found.sample_interval.tolist() == [40, 60, 80, 100]


def test_units_are_ranked_by_the_time_they_carry() -> None:
    statistics = unit_statistics(*recorded(0.0))
    assert statistics.names == ("cell",)
    assert statistics.ranking[0] == 2
    assert statistics.time[2] == pytest.approx(1.0)
