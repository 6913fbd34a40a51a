"""The trial table: what happened, under the declared columns, and through Parquet and back."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

from gnomon.lab.laboratory import CLICK, Laboratory
from gnomon.lab.tasks import Bisection, CuedProduction, Discrimination, ReadySetGo, Task
from gnomon.records.trials import FIXED, OUTCOMES, read_trials, schema, take_trials, write_trials
from gnomon.subjects.scripted import PerfectSubject

SHORT: dict[str, Any] = {"pause": 5, "trials_per_episode": 2}
SHORT_TASKS: list[Task] = [
    ReadySetGo(**SHORT, intervals=(12, 18), hold_probability=0.5, probe_intervals=(15,), probe_probability=0.3),
    CuedProduction(**SHORT, intervals=(5, 9)),
    Bisection(**SHORT, durations=(6, 12)),
    Discrimination(**SHORT, durations=(6, 12)),
]
every_task = pytest.mark.parametrize("task", SHORT_TASKS, ids=lambda task: task.name)


def perfect_trials(task: Task, frames: int = 160, lanes: int = 3) -> pl.DataFrame:
    laboratory = Laboratory(task, lanes=lanes, seed=5)
    subject = PerfectSubject(laboratory)
    for _ in range(frames):
        laboratory.step(subject.act().action)
    return take_trials(laboratory.trials)


def test_the_columns_of_ready_set_go():
    assert schema(ReadySetGo) == pl.Schema(
        {
            "task": pl.String,
            "lane": pl.Int32,
            "episode": pl.Int32,
            "trial": pl.Int32,
            "sample_interval": pl.Int32,
            "production_interval": pl.Int32,
            "outcome": OUTCOMES,
            "tolerance": pl.Float64,
            "reward": pl.Float64,
            "start_frame": pl.Int32,
            "end_frame": pl.Int32,
            "foreperiod": pl.Int32,
            "probe": pl.Boolean,
            "fixation_hold": pl.Boolean,
            "ready_frame": pl.Int32,
            "ready_off_frame": pl.Int32,
            "set_frame": pl.Int32,
            "set_off_frame": pl.Int32,
            "timeout_frame": pl.Int32,
        }
    )
    assert OUTCOMES.categories.to_list() == ["correct", "wrong", "early", "timeout", "aborted", "cut_off"]


@every_task
def test_a_table_goes_through_parquet_and_back(task: Task, tmp_path: Path):
    table = perfect_trials(task)
    assert len(table) >= 6
    path = tmp_path / "deep" / "trials.parquet"
    write_trials(table, path)
    back = read_trials(path)
    assert back.schema == schema(task) == table.schema
    assert back.equals(table)
    assert [file.name for file in path.parent.iterdir()] == ["trials.parquet"]


def test_a_table_is_written_over(tmp_path: Path):
    table, path = perfect_trials(SHORT_TASKS[1]), tmp_path / "trials.parquet"
    write_trials(table, path)
    write_trials(table.head(2), path)
    assert len(read_trials(path)) == 2


def test_the_row_of_a_trial_worked_out_by_hand():
    task = ReadySetGo(intervals=(20,), foreperiods=(7,), flash=4, base_tolerance=6.0, tolerance_scaling=0.1)
    laboratory = Laboratory(task)
    laboratory.gaze[:] = laboratory.lattice.index(0, 0)
    up_right, stay, up = (laboratory.actions.index(name) for name in ("up right", "stay", "up"))
    # Frame 0 fixates; 7 shows Ready, 11 takes it away; 27 shows Set, 31 takes it away. Go is 7 steps away.
    for action in [*[stay] * 45, *[up_right] * 3, *[up] * 4]:
        laboratory.step(torch.tensor([action]))
    (row,) = take_trials(laboratory.trials).rows(named=True)
    assert row == {
        "task": "ready_set_go", "lane": 0, "episode": 0, "trial": 0, "sample_interval": 20,
        "production_interval": 51 - 27, "outcome": "correct", "tolerance": 2.5 * 8.0, "reward": 1.0,
        "start_frame": 0, "end_frame": 51, "foreperiod": 7, "probe": False, "fixation_hold": False,
        "ready_frame": 7, "ready_off_frame": 11, "set_frame": 27, "set_off_frame": 31, "timeout_frame": None,
    }  # fmt: skip


def test_rows_are_taken_once_and_in_the_order_in_which_trials_ended():
    laboratory = Laboratory(SHORT_TASKS[1], lanes=4, seed=5)
    subject = PerfectSubject(laboratory)
    tables = []
    for _ in range(6):
        for _ in range(30):
            laboratory.step(subject.act().action)
        tables.append(take_trials(laboratory.trials))
    assert pl.concat(tables).equals(perfect_trials(SHORT_TASKS[1], frames=180, lanes=4))
    assert take_trials(laboratory.trials).is_empty()
    assert take_trials(laboratory.trials).schema == schema(SHORT_TASKS[1])


def test_a_trial_cut_off_by_the_episodes_end_is_marked_not_lost():
    task = CuedProduction(episode_seconds=0.5, target_location=(0.5, 0.5), correct_reward=5.0)
    laboratory = Laboratory(task)
    laboratory.gaze[:] = laboratory.lattice.index(0, 0)
    for action in [0, 0, CLICK, *[0] * 27]:
        laboratory.step(torch.tensor([action]))
    (row,) = take_trials(laboratory.trials).rows(named=True)
    told = (
        "outcome",
        "production_interval",
        "reward",
        "start_frame",
        "first_click_frame",
        "timeout_frame",
        "end_frame",
    )
    assert [row[name] for name in told] == ["cut_off", None, 0.0, 0, 2, None, 29]
    assert laboratory.trials.episode.item() == 1


def test_choices_have_neither_production_nor_tolerance():
    table = perfect_trials(SHORT_TASKS[3])
    assert set(table["outcome"]) == {"correct"}
    assert table["production_interval"].is_null().all()
    assert table["tolerance"].is_null().all()
    assert (table["choice_frame"] - table["start_frame"] == table["sample_interval"]).all()
    assert table["flash_on_frame"].is_null().all()


# What cannot be read


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no trial table at .*nowhere\.parquet"):
        read_trials(tmp_path / "nowhere.parquet")


@pytest.mark.parametrize("damage", ["cut short", "not parquet", "empty"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str):
    path = tmp_path / "trials.parquet"
    write_trials(perfect_trials(SHORT_TASKS[1]), path)
    whole = path.read_bytes()
    path.write_bytes(
        {"cut short": whole[: len(whole) // 2], "not parquet": b"lane,trial\n0,0\n" * 9, "empty": b""}[damage]
    )
    with pytest.raises(ValueError, match=r"trials\.parquet is not a Parquet file, or is damaged"):
        read_trials(path)


def test_a_table_of_something_else_is_refused(tmp_path: Path):
    path = tmp_path / "metrics.parquet"
    perfect_trials(SHORT_TASKS[1]).drop("lane", "reward").write_parquet(path)
    with pytest.raises(ValueError, match=r"metrics\.parquet is not a trial table: it lacks the columns lane, reward"):
        read_trials(path)
    assert "lane" in FIXED
