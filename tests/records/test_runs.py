"""A run's folder: its state, its trials and metrics, and what is cut back when a run resumes."""

import hashlib
import json
import math
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import polars as pl
import pytest

from gnomon.records.contents import METRICS, Known, PartFacts, cut_back, metrics_checksum
from gnomon.records.metrics import read_lines
from gnomon.records.runs import RunFolder, list_runs, versions


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    run.create("{}")
    return run


def test_a_new_folder_has_config_and_versions_and_no_results(folder: RunFolder) -> None:
    assert folder.config.read_text() == "{}"
    written = json.loads((folder.path / "versions.json").read_text())
    assert {**written, "started": ""} == {**versions(), "started": ""}
    assert written["torch"] == version("torch")
    assert written["python"] == ".".join(map(str, sys.version_info[:3]))
    assert folder.read_status() == {"state": "unknown"}
    with pytest.raises(FileNotFoundError, match="no trials yet"):
        folder.read_trials()
    with pytest.raises(FileNotFoundError, match="no metrics yet"):
        folder.read_metrics()


def test_a_second_run_is_refused(folder: RunFolder) -> None:
    with pytest.raises(ValueError, match=r"holds a run already; choose another name, or --resume"):
        folder.create('{"seed": 1}')
    assert folder.config.read_text() == "{}"


def test_a_folder_without_config_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run"):
        RunFolder(tmp_path).require()


@pytest.mark.parametrize("state", ["running", "stopped", "finished", "failed"])
def test_the_state_of_a_living_process_is_what_it_wrote(folder: RunFolder, state: str) -> None:
    folder.write_status(state, frames=12, reason="minutes")
    status = folder.read_status()
    assert (status["state"], status["frames"], status["reason"]) == (state, 12, "minutes")
    assert status["process"] == os.getpid()


def set_process(folder: RunFolder, state: str, process: int) -> None:
    folder.write_status(state)
    status = json.loads((folder.path / "status.json").read_text())
    (folder.path / "status.json").write_text(json.dumps({**status, "process": process}))


def dead_process() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def test_a_run_whose_process_is_gone_was_interrupted_unless_it_had_ended(folder: RunFolder) -> None:
    process = dead_process()
    set_process(folder, "running", process)
    assert folder.read_status()["state"] == "interrupted"
    for state in ("stopped", "finished", "failed"):
        set_process(folder, state, process)
        assert folder.read_status()["state"] == state


@pytest.mark.parametrize("process", [0, -1, 2**40])
def test_numbers_that_no_process_has_count_as_gone(folder: RunFolder, process: int) -> None:
    set_process(folder, "running", process)
    assert folder.read_status()["state"] == "interrupted"


def test_a_damaged_status_is_unknown(folder: RunFolder) -> None:
    (folder.path / "status.json").write_text('{"state": "runn')
    assert folder.read_status() == {"state": "unknown"}


def test_runs_are_listed_oldest_first(tmp_path: Path) -> None:
    for age, name in ((30, "b"), (10, "c"), (20, "a")):
        run = RunFolder(tmp_path / name)
        run.create("{}")
        os.utime(run.config, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "not a run").mkdir()
    assert [run.path.name for run in list_runs(tmp_path)] == ["b", "a", "c"]
    assert list_runs(tmp_path / "nowhere") == []


def write_parts(folder: RunFolder) -> None:
    """Checkpoints 1 to 3 after 10, 20 and 30 rounds."""
    for number in (1, 2, 3):
        folder.write_trials(number, pl.DataFrame({"trial": [10 * number, 10 * number + 1]}))
        folder.append_metrics([{"round": 10 * number - 5, "loss": 0.1}, {"round": 10 * number, "loss": 0.2}])
        (folder.checkpoints / f"{number:06d}").mkdir()


def test_trials_and_metrics_come_in_the_order_of_the_checkpoints(folder: RunFolder) -> None:
    write_parts(folder)
    assert folder.read_trials()["trial"].to_list() == [10, 11, 20, 21, 30, 31]
    assert folder.read_metrics()["round"].to_list() == [5, 10, 15, 20, 25, 30]


def known(folder: RunFolder, number: int) -> Known:
    """What checkpoint `number` knows of the parts written by `write_parts`."""
    parts: dict[int, PartFacts] = {}
    for each in range(1, number + 1):
        data = (folder.path / "trials" / f"{each:06d}.parquet").read_bytes()
        parts[each] = {"rows": 2, "sha256": hashlib.sha256(data).hexdigest()}
    return Known(number, 10 * number, parts, metrics_checksum(read_lines(folder.path / METRICS).up_to(10 * number)))


def test_what_came_after_the_checkpoint_is_set_aside(folder: RunFolder) -> None:
    write_parts(folder)
    (folder.path / "trials" / "000004.parquet.part").write_bytes(b"half")
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"round": 35, "lo')  # torn by a kill
    assert cut_back(folder.path, known(folder, 2)) == []  # a kill leaves such things; nothing is damaged
    assert folder.read_trials()["trial"].to_list() == [10, 11, 20, 21]
    assert folder.read_metrics()["round"].to_list() == [5, 10, 15, 20]
    assert sorted(path.name for path in folder.checkpoints.iterdir()) == ["000001", "000002"]
    aside = folder.path / "set-aside"
    assert sorted(path.name for path in aside.iterdir()) == [
        "000003", "000003.parquet", "000004.parquet.part", "metrics.jsonl",
    ]  # fmt: skip
    assert (aside / "metrics.jsonl").read_text().endswith('30, "loss": 0.2}\n{"round": 35, "lo')
    folder.append_metrics([{"round": 25, "loss": 0.3}])
    assert folder.read_metrics()["round"].to_list() == [5, 10, 15, 20, 25]


def test_a_second_file_of_the_same_name_is_set_aside_beside_the_first(folder: RunFolder) -> None:
    write_parts(folder)
    for _ in range(2):
        folder.write_trials(3, pl.DataFrame({"trial": [0]}))
        cut_back(folder.path, known(folder, 2))
    assert {path.name for path in (folder.path / "set-aside").glob("*.parquet*")} == {
        "000003.parquet",
        "000003.parquet.2",
    }


def test_cut_back_to_the_beginning_leaves_nothing_in_its_place(folder: RunFolder) -> None:
    cut_back(folder.path, Known(0, 0, {}, metrics_checksum([])))  # nothing there yet
    write_parts(folder)
    cut_back(folder.path, Known(0, 0, {}, metrics_checksum([])))
    with pytest.raises(FileNotFoundError, match="no trials yet"):
        folder.read_trials()
    with pytest.raises(FileNotFoundError, match="no metrics yet"):
        folder.read_metrics()


def test_a_damaged_part_of_the_trial_table_is_named(folder: RunFolder) -> None:
    write_parts(folder)
    (folder.path / "trials" / "000002.parquet").write_bytes(b"half")
    (folder.path / "trials" / "stray.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"000002\.parquet is damaged .*gnomon check"):
        folder.read_trials()


@pytest.mark.parametrize("text", ["[]", "null", '{"threads": "x"}', '{"threads": -1}', "[" * 100_000, "{"])
def test_versions_of_another_shape_tell_no_threads(folder: RunFolder, text: str) -> None:
    (folder.path / "versions.json").write_text(text)
    assert folder.threads() is None


@pytest.mark.parametrize("text", ["[]", '{"frames": 3}', '{"state": 3}', '{"state": "finished", "frames": "many"}'])
def test_a_status_of_another_shape_is_unknown(folder: RunFolder, text: str) -> None:
    (folder.path / "status.json").write_text(text)
    assert folder.read_status() == {"state": "unknown"}


def test_lines_that_are_no_metrics_do_not_hide_the_others(folder: RunFolder) -> None:
    folder.append_metrics([{"round": 1}])
    with (folder.path / "metrics.jsonl").open("ab") as file:
        file.write(b'\xff\n{"frames": 3}\n{"round": "x"}\n[]\n{"round": 2, "loss": "x"}\n{"round": 3}\n')
    assert folder.read_metrics()["round"].to_list() == [1, 3]


def test_metrics_that_are_undefined_are_null(folder: RunFolder) -> None:
    rows = [{"round": 1, "explained_variance": math.nan}, {"round": 2, "explained_variance": 0.25}]
    folder.append_metrics(rows)
    assert folder.read_metrics()["explained_variance"].to_list() == [None, 0.25]


def test_later_rows_may_have_more_columns(folder: RunFolder) -> None:
    folder.append_metrics([{"round": 1}, {"round": 2, "criterion_10": 0.5}])
    assert folder.read_metrics()["criterion_10"].to_list() == [None, 0.5]
