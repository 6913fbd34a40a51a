"""Scripted clocks go through the battery and come out as what they are: without this no result counts."""

from pathlib import Path

import polars as pl
import pytest

from gnomon.analysis.clock import Clock, clock
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import Bisection, ReadySetGo
from gnomon.study import clock_battery
from gnomon.study.clock import study_clock
from gnomon.study.clock_battery import run_battery, scripted_clock, standard_arms
from gnomon.subjects.clocks import ClockSubject
from gnomon.subjects.intervened import Arm, intervene
from gnomon.subjects.intervention import Intervention

SWAPS = [
    Arm("control", None, 8),
    Arm("gaze swapped", Intervention(what="gaze", how="swap"), 16),
    Arm("state swapped", Intervention(what="state", how="swap"), 16),
]
EXACT = 0.05


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_mixtures_share_is_recovered_by_both_swaps(share: float) -> None:
    laboratory = Laboratory(ReadySetGo(pause=10), lanes=40, seed=3)
    table = intervene(ClockSubject(laboratory, share=share), SWAPS, frames_each=1_200, seed=4)
    found = clock(table)
    gaze, state = found.swap("gaze"), found.swap("state")
    assert gaze is not None
    assert state is not None
    assert gaze.share.value == pytest.approx(share, abs=EXACT)
    assert state.share.value == pytest.approx(1 - share, abs=EXACT)
    assert gaze.share.interval[1] - gaze.share.interval[0] < 2 * EXACT
    assert found.place == {0.0: "state", 1.0: "gaze"}.get(share, "not decided")


def battery(share: float) -> Clock:
    task = ReadySetGo(pause=10)
    return clock(run_battery(scripted_clock(share), task, OpticsConfig(), frames_each=700, seed=2).trials)


def test_a_counter_stops_when_the_state_is_held_and_a_path_when_the_gaze_is() -> None:
    counter, path = battery(0.0), battery(1.0)
    for found, stops, runs in ((counter, "state", "gaze"), (path, "gaze", "state")):
        delay = {pause.what: pause.per_frame.value for pause in found.pauses}
        assert delay[stops] == pytest.approx(1.0, abs=EXACT)
        assert delay[runs] == pytest.approx(0.0, abs=EXACT)
        spread = {doses.what: doses.sd.value for doses in found.noise}
        assert spread[stops][-1] > 5 * spread[runs][-1]
        assert found.place == stops
    assert counter.reset is not None
    assert counter.reset.value == pytest.approx(0.0, abs=0.1)
    assert path.reset is not None
    assert path.reset.value == pytest.approx(1.0, abs=EXACT)
    assert counter.displacement is not None
    assert path.displacement is not None
    assert abs(counter.displacement.up.value) < 1 < abs(path.displacement.up.value)  # the path goes on a row further
    assert counter.lesions[0].answered.value[-1] == 0  # its mean never runs out
    assert path.lesions[0].slope.value[-1] == pytest.approx(1.0, abs=EXACT)
    for found in (counter, path):  # neither looks at anything
        assert len(found.looks) == 4
        assert [look.slope.value[-1] for look in found.looks] == pytest.approx([1.0] * 4, abs=EXACT)


def test_without_a_memory_the_units_are_changed_and_with_one_the_state() -> None:
    for memory, what in ((False, "units"), (True, "state")):
        arms = standard_arms(2.0, range(8), seed=0, memory=memory)
        assert {arm.intervention.what for arm in arms if arm.intervention is not None} == {
            "gaze", "picture", "room", what,
        }  # fmt: skip
        lesions = [arm.name for arm in arms if arm.intervention and arm.intervention.how == "lesion"]
        assert set(lesions) == {"units by time", "units at random"}


@pytest.mark.parametrize("agent", ["lstm-0", "feedforward-0"])
def test_the_same_seed_gives_the_same_files_byte_for_byte(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_battery, "LANES", 1)
    monkeypatch.setattr(clock_battery, "SWAP_LANES", 3)
    monkeypatch.setattr(clock_battery, "FIRST_LANES", 8)
    monkeypatch.setattr(clock_battery, "FIRST_FRAMES", 300)
    for folder in ("one", "again"):
        study_clock(f"published/{agent}", tmp_path / folder, frames=300, seed=1)
    for kind in ("json", "parquet"):
        one, again = ((tmp_path / folder / f"clock/{agent}.{kind}").read_bytes() for folder in ("one", "again"))
        assert one == again
    trials = pl.read_parquet(tmp_path / "one" / f"clock/{agent}.parquet")
    assert {"control", "gaze swapped", "units by time"} <= set(trials["arm"])


def test_lesions_follow_the_ranking_or_chance() -> None:
    ranking = [5, 3, 1, 7, 0, 2, 4, 6]
    lesions = [
        arm
        for arm in standard_arms(2.0, ranking, seed=0, memory=True)
        if arm.intervention and arm.intervention.how == "lesion"
    ]
    by_time = [arm.intervention.units for arm in lesions if arm.name == "units by time" and arm.intervention]
    assert by_time == [(5,), (5, 3), (5, 3, 1, 7), (5, 3, 1, 7, 0, 2)]
    at_random = [arm.intervention.units for arm in lesions if arm.name == "units at random" and arm.intervention]
    assert at_random != by_time
    assert [len(units or ()) for units in at_random] == [1, 2, 4, 6]


def test_a_scripted_clock_says_where_it_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"share is 1.5; it must lie between 0"):
        ClockSubject(Laboratory(ReadySetGo()), share=1.5)
    with pytest.raises(ValueError, match="a scripted clock is for ready_set_go; the task here is bisection"):
        ClockSubject(Laboratory(Bisection()), share=0.5)
    coarse = Laboratory(ReadySetGo(), OpticsConfig(gaze_step=60, gaze_limit=20.0))
    with pytest.raises(ValueError, match="does not fit below the cross on a lattice of 7 x 7 gazes"):
        ClockSubject(coarse, share=0.5)
