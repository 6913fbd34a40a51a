"""People's trial tables: what the page saves is read, and what cannot have happened is refused in one line."""

import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import Bisection, CuedProduction, Discrimination, ReadySetGo, Task
from gnomon.records.people import is_people, read_people
from gnomon.records.trials import schema, take_trials
from gnomon.subjects.scripted import NoisySubject

SHORT: dict[str, Any] = {"pause": 5, "trials_per_episode": 4}
TASKS: list[Task] = [
    ReadySetGo(**SHORT, intervals=(12, 18)),
    CuedProduction(**SHORT, intervals=(5, 9)),
    Bisection(**SHORT, durations=(6, 12)),
    Discrimination(**SHORT, durations=(6, 12)),
]


def trials_of(task: Task) -> pl.DataFrame:
    laboratory = Laboratory(task, seed=5)
    subject = NoisySubject(laboratory, 1)
    for _ in range(600):
        laboratory.step(subject.act().action)
    return take_trials(laboratory.trials)


def saved(folder: Path, table: pl.DataFrame) -> Path:
    """As the page writes it: a further column, truth values as words, nothing where there is nothing."""
    path = folder / "people.csv"
    table.with_columns(pl.lit(0).alias("dropped_frames")).write_csv(path)
    return path


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_saved_table_comes_back_in_the_declared_schema(task: Task, tmp_path: Path):
    table = trials_of(task)
    read = read_people(saved(tmp_path, table))
    assert read.schema == schema(task)
    assert read.equals(table)


def test_a_whole_dataset_is_read_from_its_archive(tmp_path: Path):
    table = trials_of(TASKS[0])
    with zipfile.ZipFile(tmp_path / "gnomon-data.zip", "w") as archive:
        archive.write(saved(tmp_path, table), "data/task-readysetgo_description-trials_data.csv")
        archive.writestr("data/task-readysetgo_description-frames_data.csv", "frame\n0\n")
    assert read_people(tmp_path / "gnomon-data.zip").equals(table)
    assert is_people("gnomon-data.zip")
    assert is_people("a/people.csv")
    assert not is_people("published/lstm-0")


BROKEN = {
    "production_interval is below 0": {"production_interval": -3},
    "sample_interval is below 1 frame": {"sample_interval": 0},
    "end_frame lies before start_frame": {"end_frame": 0},
    "set_frame lies outside its trial": {"set_frame": 9_999},
    "production_interval is not end_frame - set_frame": {
        "production_interval": 17,
        "outcome": "correct",
        "tolerance": 99.0,
    },
    "set_frame - ready_frame is not sample_interval": {"sample_interval": 19, "tolerance": 99.0, "outcome": "correct"},
    "the outcome is not what tolerance and times say": {"tolerance": 0.5, "outcome": "correct"},
    "a trial has a production_interval exactly if it was answered": {"outcome": "early"},
    "start_frame is missing": {"start_frame": None},
}


@pytest.mark.parametrize("complaint", BROKEN)
def test_impossible_trials_are_refused(complaint: str, tmp_path: Path):
    rows = trials_of(TASKS[0]).to_dicts()
    off = [n for n, row in enumerate(rows) if row["production_interval"] not in (None, row["sample_interval"], 17)]
    rows[off[0]] |= BROKEN[complaint]
    path = saved(tmp_path, pl.DataFrame(rows, schema=schema(TASKS[0])))
    with pytest.raises(ValueError, match=complaint) as refusal:
        read_people(path)
    assert f"row {off[0] + 1}:" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_productions_without_a_tolerance_are_refused(tmp_path: Path):
    """A table of a task that produces stays one, however much of it is blank."""
    blank = trials_of(TASKS[0]).with_columns(tolerance=None, production_interval=None)
    with pytest.raises(ValueError, match="exactly if it was answered"):
        read_people(saved(tmp_path, blank))


def test_overlapping_and_repeated_trials_are_refused(tmp_path: Path):
    table = trials_of(TASKS[0])
    with pytest.raises(ValueError, match=r"the one before it|the same number"):
        read_people(saved(tmp_path, pl.concat([table, table.head(1)])))
    late = pl.when(pl.col("trial") == 0).then(pl.col("end_frame") + 500).otherwise(pl.col("end_frame"))
    early = table.filter(pl.col("episode") == 0).with_columns(
        late.cast(pl.Int32).alias("end_frame"), pl.lit(None, pl.Int32).alias("production_interval"),
        pl.lit("aborted").alias("outcome"),
    )  # fmt: skip
    with pytest.raises(ValueError, match="begins before the one before it has ended"):
        read_people(saved(tmp_path, early))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("task,outcome\nready_set_go,correct\n", "it lacks the columns lane, episode"),
        ("a,b\n1,2\n", "it lacks the columns task, outcome"),
        ("task,outcome\ntetris,correct\n", "the tasks are tetris"),
        ("task,outcome\n", "holds no trials"),
    ],
)
def test_other_tables_are_refused(text: str, complaint: str, tmp_path: Path):
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(ValueError, match=complaint):
        read_people(tmp_path / "people.csv")


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("reward", "inf", "reward is 'inf'; it must be a number"),
        ("trial", "two", "trial is 'two'; it must be a whole number"),
        ("outcome", "great", "outcome is 'great'; it must be one of correct"),
        ("probe", "maybe", "probe is 'maybe'; it must be true or false"),
    ],
)
def test_a_cell_that_is_something_else_is_named(name: str, value: str, complaint: str, tmp_path: Path):
    table = trials_of(TASKS[0]).cast({name: pl.String}).with_columns(pl.lit(value).alias(name))
    with pytest.raises(ValueError, match=complaint):
        read_people(saved(tmp_path, table))


def test_what_is_not_there_or_damaged_is_said(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no file"):
        read_people(tmp_path / "none.csv")
    name, archive = "data/task-readysetgo_description-trials_data.csv", tmp_path / "broken.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.write(saved(tmp_path, trials_of(TASKS[0])), name)
    data = archive.read_bytes()
    contents = data.index(name.encode()) + len(name)  # the packed table begins here
    flags = data.index(b"PK\x01\x02") + 8
    flagged = data[:flags] + bytes([data[flags] | 1]) + data[flags + 1 :]  # as if it were encrypted
    for broken in (b"PK", data[:contents] + b"\xff" + data[contents + 1 :], flagged):
        archive.write_bytes(broken)
        with pytest.raises(ValueError, match="not a zip archive, or is damaged"):
            read_people(archive)
