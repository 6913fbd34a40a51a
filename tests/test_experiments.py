"""The examples that compare the runs of an experiment, and the tables that were made with them."""

import json
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import xarray as xr
from small_run import CONFIG

from gnomon.config import differing, read_config
from gnomon.records.metrics import append_metrics
from gnomon.records.recordings import write_recording
from gnomon.records.trials import write_trials
from gnomon.sweep.experiment import read_experiment

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

Captured = pytest.CaptureFixture[str]


def a_run(folder: Path, rewarded: list[float]) -> None:
    """A folder with nothing but a config and metrics."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(CONFIG.to_json())
    rows = [
        {"round": i, "frames": 1_000_000 * (i + 1), "minutes": float(i), "rewarded": share, "criterion": share / 2}
        for i, share in enumerate(rewarded)
    ]
    append_metrics(folder / "metrics.jsonl", rows)


def test_what_each_part_is_worth(tmp_path: Path, capsys: Captured) -> None:
    a_run(tmp_path / "runs" / "lstm-1", [0.1, 0.6, 0.4, 0.9])
    a_run(tmp_path / "runs" / "lstm-0", [0.2, 0.3, 0.5, 0.8])
    a_run(tmp_path / "runs" / "lstm_without_chrono-0", [0.1, 0.4, 0.2, 0.3])
    a_run(tmp_path / "runs" / "lstm_plain-0", [0.0, 0.1, 0.1, 0.0])
    a_run(tmp_path / "runs" / "lstm_plain_with_value_network-0", [0.0, 0.1, 0.2, 0.2])
    (tmp_path / "runs" / "begun-0").mkdir()
    (tmp_path / "runs" / "begun-0" / "config.json").write_text(CONFIG.to_json())  # nothing is known of it yet
    example = runpy.run_path(str(EXAMPLES / "what_each_part_is_worth.py"))
    example["main"](tmp_path / "runs", tmp_path / "figure")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert table[2:] == [
        ["lstm", "40 45", "80 90", "3.0 2.0", "0 20"],
        ["lstm_plain", "0", "0", "-", "10"],
        ["lstm_plain_with_value_network", "10", "20", "-", "0"],
        ["lstm_without_chrono", "15", "30", "-", "20"],
    ]
    words = (tmp_path / "figure.svg").read_text()
    assert all(label in words for label in ("without chrono", "lstm plain", "with value network"))
    with pytest.raises(SystemExit, match="has no run of a whole recipe"):
        example["main"](tmp_path / "runs" / "lstm-0", None)


def test_answers_by_condition(tmp_path: Path, capsys: Captured) -> None:
    for name, factor in (("lstm_20deg-0", 1.0), ("lstm_20deg-1", 1.2), ("feedforward_20deg-0", 0.5)):
        a_run(tmp_path / "runs" / name, [0.5, 0.5])
        t_s = np.repeat([20, 40], 6)
        trials = pl.DataFrame(
            {
                "task": "ready_set_go",
                "lane": np.arange(12) % 3,
                "sample_interval": t_s,
                "production_interval": (t_s * factor).round().astype(int),
                "outcome": "correct",
                **dict.fromkeys(("episode", "trial", "tolerance", "reward", "start_frame", "end_frame"), 0),
            }
        )
        write_trials(trials, tmp_path / "runs" / name / "evaluation" / "trials.parquet")
    silent = trials.with_columns(production_interval=None, outcome=pl.lit("timeout"))
    a_run(tmp_path / "runs" / "feedforward_fixed-0", [0.0, 0.0])
    write_trials(silent, tmp_path / "runs" / "feedforward_fixed-0" / "evaluation" / "trials.parquet")
    example = runpy.run_path(str(EXAMPLES / "answers_by_condition.py"))
    example["main"](tmp_path / "runs", tmp_path / "figure")
    *table, last = capsys.readouterr().out.splitlines()
    assert last.startswith("left out: feedforward_fixed-0: none of the 12 trials has a production interval")
    header, _, *rows = (line.strip("| ").split(" | ") for line in table)
    assert header == ["agent", "seeds", "within 8 (%)", "slope", "20", "40"]
    assert rows == [
        ["feedforward, 20deg", "1", "0 (0 to 0)", "0.50 (0.50 to 0.50)", "10", "20"],
        ["lstm, 20deg", "2", "75 (50 to 100)", "1.10 (1.00 to 1.20)", "22", "44"],
    ]
    assert "20deg" in (tmp_path / "figure.svg").read_text()
    with pytest.raises(SystemExit, match="has no evaluated runs"):
        example["main"](tmp_path, None)


@pytest.mark.parametrize("experiment", sorted((ROOT / "experiments" / "results").iterdir()), ids=lambda path: path.name)
def test_the_tables_of_the_experiments_are_those_of_their_records(experiment: Path, capsys: Captured) -> None:
    example = "what_each_part_is_worth.py" if experiment.name == "ablation" else "answers_by_condition.py"
    runpy.run_path(str(EXAMPLES / example))["main"](experiment, None)
    _, _, *rows = capsys.readouterr().out.splitlines()
    documents = [line for page in (ROOT / "docs").glob("*.md") for line in page.read_text().splitlines()]
    assert rows
    for row in rows:
        cells = row.rstrip("| ").split(" | ")
        while cells[-1] == "-":
            del cells[-1]  # intervals that another agent of the same table was asked for
        assert any(line.strip().startswith(" | ".join(cells)) for line in documents), row


@pytest.mark.parametrize("experiment", sorted((ROOT / "experiments" / "results").iterdir()), ids=lambda path: path.name)
def test_kept_runs_are_those_that_the_experiment_lists(experiment: Path) -> None:
    listed = {each.name: each.config for each in read_experiment(ROOT / "experiments" / f"{experiment.name}.toml")}
    kept = list(experiment.iterdir())
    assert kept
    for run in kept:
        assert not differing(read_config(run / "config.json"), listed[run.name.replace("_collapsed", "")]), run.name


def test_how_much_room_is_used(tmp_path: Path, capsys: Captured) -> None:
    """One trial of eight frames between Ready and the response, two of them at the limit; all else is left out."""
    evaluation = tmp_path / "feedforward_20deg-0" / "evaluation"
    evaluation.mkdir(parents=True)
    config = replace(CONFIG, optics=replace(CONFIG.optics, gaze_step=20, gaze_limit=20.0))  # 9 steps of 2.11 degrees
    (evaluation / "evaluation.json").write_text(json.dumps({"config": json.loads(config.to_json())}))
    yaw = np.array([[19, 19, 19, 19, 0, 2.1, -4.2, -6.3, -19, -19, 8.4, 0, 19, 19]])
    frames = np.arange(yaw.size)[None]
    axes = ("lane", "frame")
    arrays = {"yaw": yaw, "pitch": yaw / 2, "episode": 0 * frames, "episode_frame": frames}
    write_recording(
        xr.Dataset({name: (axes, array) for name, array in arrays.items()}), evaluation / "recording.zarr.zip"
    )
    row = {"task": "ready_set_go", "outcome": "correct", "lane": 0, "episode": 0, "trial": 0, "tolerance": 8.0}
    row |= {"start_frame": 2, "ready_frame": 4, "set_frame": 8, "end_frame": 12, "reward": 1.0}
    write_trials(pl.DataFrame([row | {"sample_interval": 4, "production_interval": 4}]), evaluation / "trials.parquet")
    runpy.run_path(str(EXAMPLES / "how_much_room_is_used.py"))["main"]([evaluation])
    *_, last = capsys.readouterr().out.splitlines()
    assert last.strip("| ").split(" | ") == ["feedforward_20deg-0", "20", "5", "19", "25"]
