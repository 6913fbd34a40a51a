"""Training, evaluating and listing runs as a user types it."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from commands_typed import FRAMES, SMALL, Captured, complaint, typed
from rich.console import Console

from gnomon.agent.controllers import CONTROLLERS
from gnomon.commands.evaluate import print_scores, settings_name
from gnomon.config import read_config
from gnomon.lab.tasks import PAPER, PSYCHLAB, TASKS, ReadySetGo
from gnomon.presets import PRESETS
from gnomon.records.recordings import read_recording
from gnomon.records.trials import read_trials


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_task_trains_and_evaluates(here: Path, capsys: Captured, task: str) -> None:
    printed = typed(capsys, "train", "--task_name", task, "--name", "mine", *SMALL)
    assert f"after {FRAMES:,} frames" in printed
    assert "gnomon evaluate runs/mine" in printed
    assert read_config(here / "runs" / "mine" / "config.json").task.name == task

    printed = typed(capsys, "evaluate", "runs/mine", "--trials", "6", "--seed", "5", "--out", "done")
    assert ("choices per duration" if task in ("bisection", "discrimination") else "production") in printed
    trials = read_trials(here / "done" / "trials.parquet")
    assert set(trials["task"]) == {task}
    recording = read_recording(here / "done" / "recording.zarr.zip")
    assert dict(recording.units_cell.sizes) == {"lane": 1, "frame": recording.sizes["frame"], "unit_cell": 16}
    asked = json.loads((here / "done" / "evaluation.json").read_text())
    assert (asked["seed"], asked["config"]["task"]["name"]) == (5, task)


def test_first_trials_of_episodes_are_summed_up_apart(capsys: Captured) -> None:
    rows = [(0, 0, 10, 12), (0, 1, 20, 21), (0, 2, 20, 80), (1, 0, 20, 50), (1, 1, 10, 9)]
    trials = pl.DataFrame(rows, schema=["lane", "trial", "sample_interval", "production_interval"], orient="row")
    named = trials.with_columns(task=pl.lit("ready_set_go"), outcome=pl.lit("wrong"))
    print_scores(named, ReadySetGo(), Console(width=120))
    printed = capsys.readouterr().out
    assert "all trials   60.0%" in printed
    assert "first trials of an episode  50.0% of 2\n" in printed


@pytest.mark.parametrize("controller", sorted(CONTROLLERS))
def test_every_controller_trains_and_is_listed(here: Path, capsys: Captured, controller: str) -> None:
    typed(capsys, "train", "--controller", controller, *SMALL)
    printed = typed(capsys, "runs")
    assert controller in printed
    assert "finished" in printed
    assert f"{FRAMES:,}" in printed


def test_settings_that_ship_by_name_can_be_trained(here: Path, capsys: Captured) -> None:
    typed(capsys, "train", "--setting", "psychlab", "--name", "mine", *SMALL)
    assert read_config(here / "runs" / "mine" / "config.json").task == PSYCHLAB
    assert "choose paper, psychlab" in complaint(capsys, "train", "--setting", "pschlab")


def test_a_run_whose_schedule_is_over_is_not_sent_on(here: Path, capsys: Captured) -> None:
    """Beyond the schedule of the preset laptop all learning rates are 0."""
    printed = typed(capsys, "train", "--name", "mine", *SMALL, "--learning.schedule.frames", f"{FRAMES}")
    assert "or go on" not in printed
    printed = typed(capsys, "train", "--resume", "runs/mine")
    assert "begin a new run with more --learning.schedule.frames" in " ".join(printed.split())
    beyond = ("--frames", f"{FRAMES + 1}")
    assert f"fall to 0 at {FRAMES:,}; begin a new run" in complaint(capsys, "train", "--resume", "runs/mine", *beyond)
    assert "fall to 0 at 40,000,000" in complaint(capsys, "train", "--name", "other", "--frames", "40000001")
    assert not (here / "runs" / "other").exists()


def test_a_run_goes_on_with_its_own_settings(here: Path, capsys: Captured) -> None:
    typed(capsys, "train", "--name", "mine", *SMALL)
    printed = typed(capsys, "train", "--resume", "runs/mine", "--frames", f"{FRAMES}")
    assert "nothing to do" in printed
    assert "give more --frames" in printed
    assert "--learning.schedule.frames" not in printed
    printed = typed(capsys, "train", "--resume", "runs/mine", "--frames", f"{2 * FRAMES}")
    assert f"after {2 * FRAMES:,} frames" in printed
    assert "threads" not in printed  # as many as before, not as many as there are cores
    printed = typed(capsys, "train", "--resume", "runs/mine", "--frames", f"{3 * FRAMES}", "--threads", "2")
    assert "the run had 1 threads, now 2" in printed


def test_same_seed_same_trial_table_and_no_stale_recording(here: Path, capsys: Captured) -> None:
    typed(capsys, "train", "--name", "mine", *SMALL)
    for out in ("one", "two"):
        typed(capsys, "evaluate", "runs/mine", "--trials", "8", "--seed", "4711", "--out", out)
    one, two = (read_trials(here / out / "trials.parquet") for out in ("one", "two"))
    assert one.equals(two)
    typed(capsys, "evaluate", "runs/mine", "--trials", "8", "--out", "two", "--record-lanes", "0")
    assert not (here / "two" / "recording.zarr.zip").exists()


def test_folders_are_named_after_the_settings_that_differ() -> None:
    assert settings_name(PAPER, PAPER) == ""
    assert settings_name(PAPER, replace(PAPER, intervals=(30, 60))) == "intervals-30-60"
    assert settings_name(PSYCHLAB, replace(PSYCHLAB, reward_probes=False)) == "reward_probes-False"
    long = [settings_name(PAPER, replace(PAPER, intervals=tuple(range(1, last)))) for last in (90, 91)]
    assert long[0] != long[1]
    assert max(map(len, long)) < 100


def test_probes_and_chosen_units(here: Path, capsys: Captured) -> None:
    typed(capsys, "train", "--name", "mine", *SMALL)
    probing = ("--probes", "15", "130", "--probe-probability", "1.0", "--units", "hidden")
    printed = typed(capsys, "evaluate", "runs/mine", "--trials", "12", *probing)
    evaluation = here / "runs" / "mine" / "evaluation"
    assert not (evaluation / "trials.parquet").exists(), "only the task as it was trained is evaluated there"
    place = evaluation / "probe_intervals-15-130-probe_probability-1.0"
    assert place.name in printed
    trials = read_trials(place / "trials.parquet")
    assert trials["probe"].all()
    assert set(trials["sample_interval"]) <= {15, 130}
    assert trials.select((pl.col("reward") == 0).all()).item()
    recording = read_recording(place / "recording.zarr.zip")
    assert "units_hidden" in recording
    assert "units_cell" not in recording


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        (["train", "--controler", "lstm"], "did you mean --controller?"),
        (["train", "--controller", "lsmt"], "choose lstm, feedforward"),
        (["train", "--preset", "lap"], "choose laptop, paper"),
        (["train", "--task-name", "bisect"], "choose"),
        (["train", "--learning.device", "cuda:7", *SMALL], "this machine has cpu"),
        (["train", "--learning.loss.entropy-cost", "-0.01"], "at least 0"),
        (["train", "--chrono-span", "0.5"], "at least 1 frame"),
        (["train", "--controller", "rnn", "--chrono-span", "9"], "a rnn has no gates; set it to 0"),
        (["train", "--frames", "-5"], "a limit must be above 0"),
        (["train", "--name", "../mine"], "--name is '../mine'; a name has letters"),
        (["train", "--name", ""], "--name is ''; a name has letters"),
        (["train", "--threads", "0"], "at least 1"),
        (["train", "--task.intervals", "50", "20"], "ascending"),
        (["train", "--optics.gaze-step", "1", "--optics.gaze-limit", "36"], "choose a larger gaze_step"),
        (["train", "--resume", "nowhere"], "is not a run"),
        (["evaluate", "nowhere"], "is not a run"),
        (["evaluate", "nowhere", "--trials", "0"], "at least 1"),
        (["evaluate", "nowhere", "--record-lanes", "-3"], "at least 0"),
        (["evaluate", "published/nobody"], "unknown published agent 'nobody'"),
    ],
)
def test_a_mistake_is_answered_by_one_line(capsys: Captured, arguments: list[str], right: str) -> None:
    assert right in complaint(capsys, *arguments)


def test_mistakes_with_a_run_at_hand(here: Path, capsys: Captured) -> None:
    typed(capsys, "train", "--name", "mine", *SMALL)
    assert "holds a run already" in complaint(capsys, "train", "--name", "mine", *SMALL)
    for option in (("--learning.batch", "4"), ("--seed", "0"), ("--controller=lstm",), ("--runs", "elsewhere")):
        assert "keeps its own settings" in complaint(capsys, "train", "--resume", "runs/mine", *option)
    assert "unknown units 'cel'" in complaint(capsys, "evaluate", "runs/mine", "--units", "cel")
    (here / "taken").write_text("a file")
    assert "cannot write to taken" in complaint(capsys, "evaluate", "runs/mine", "--out", "taken")


def test_presets_have_the_printed_numbers() -> None:
    paper = PRESETS["paper"].learning
    assert (paper.lanes, paper.batch, paper.unroll) == (200, 32, 100)
    optimiser, loss, schedule = paper.optimiser, paper.loss, paper.schedule
    assert (optimiser.learning_rate, optimiser.vision_learning_rate, optimiser.epsilon) == (1e-5, 1e-5, 1e-4)
    assert (optimiser.betas, optimiser.vision_every) == ((0.9, 0.999), 1)
    assert (loss.discount, loss.entropy_cost, loss.value_cost) == (0.99, 0.01, 0.5)
    assert (schedule.final_learning_rate, schedule.final_entropy) == (1.0, 1.0)
    assert (PRESETS["paper"].agent.chrono_span, PRESETS["paper"].agent.whitening) == (0, 0)
    for config in PRESETS.values():
        assert config.task.intervals == tuple(range(10, 101, 10))  # pyright: ignore[reportAttributeAccessIssue]
        assert (config.agent.units, config.agent.features) == (128, 256)
        assert (config.learning.unroll, config.learning.loss.discount, config.learning.loss.horizon) == (100, 0.99, 0)
