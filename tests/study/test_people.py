"""A person is a participant: the saved table goes through the same analyses, beside agents and scripted subjects."""

from pathlib import Path

import polars as pl
import pytest

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import PAPER, CuedProduction, Task
from gnomon.study.files import read_study
from gnomon.study.participants import participants
from gnomon.study.run import run_study
from gnomon.study.stages import Stages
from gnomon.subjects.evaluation import do_trials
from gnomon.subjects.scripted import NoisySubject


def played(folder: Path, name: str, task: Task = PAPER, trials: int = 60) -> Path:
    """What somebody with scalar noise would have saved from the page."""
    subject = NoisySubject(Laboratory(task, seed=3), 4, w_m=0.1, w_p=0.05)
    path = folder / name
    do_trials(subject, trials).trials.with_columns(pl.lit(0).alias("dropped_frames")).write_csv(path)
    return path


def test_a_person_stands_beside_a_scripted_subject(tmp_path: Path) -> None:
    path = played(tmp_path, "me.csv")
    everyone = participants([str(path), "perfect"])
    assert [each.name for each in everyone] == ["me", "perfect"]
    assert [each.person for each in everyone] == [path, None]
    run_study(everyone, Stages(tmp_path / "study"), trials=100, seed=1)
    found = read_study(tmp_path / "study").findings["me"]
    assert found.n_trials == 60
    assert found.production is not None
    assert 0.8 < found.production.line.slope < 1.2
    low, high = found.production.line.slope_interval
    assert low < found.production.line.slope < high, "with one person, trials are resampled"
    assert found.generalisation is None


@pytest.mark.parametrize(
    ("change", "message"),
    [("rename", "there is no file"), ("task", "a report is about ready_set_go"), ("twice", "is named twice")],
)
def test_a_file_that_cannot_take_part_is_named(change: str, message: str, tmp_path: Path) -> None:
    path = played(tmp_path, "me.csv", CuedProduction() if change == "task" else PAPER, trials=5)
    asked = [str(tmp_path / "you.csv")] if change == "rename" else [str(path)] * (2 if change == "twice" else 1)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        participants(asked)
