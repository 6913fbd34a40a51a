"""`gnomon sweep`, `gnomon publish` and `gnomon evaluate published/NAME` as a user types them."""

import io
import os
import signal
import time
from itertools import groupby
from pathlib import Path
from threading import Thread

import pytest
import torch
from commands_typed import Captured, complaint
from rich.console import Console
from small_experiment import write_experiment
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.cli import main
from gnomon.commands.sweep import progress_table
from gnomon.learn.loop import Limits, start
from gnomon.published import agents
from gnomon.records.runs import RunFolder, write_text
from gnomon.records.trials import read_trials
from gnomon.saving.checkpoint import newest_checkpoint
from gnomon.sweep.experiment import read_experiment
from gnomon.sweep.sweeper import Sweeper, progress_file

ROUNDS = 14
FRAMES = ROUNDS * FRAMES_PER_ROUND


# Sweeps.


def kill_midway(run: RunFolder) -> None:
    """Wait for a training's first news, then kill its process."""
    deadline = time.monotonic() + 60
    while not progress_file(run).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    if progress_file(run).exists():
        os.kill(run.read_status()["process"], signal.SIGKILL)


def test_a_sweep_goes_on_after_a_kill_and_gives_the_same_run(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_experiment(Path("try.toml"), ROUNDS, {"name": "first"}, {"name": "last", "controller": "rnn"})
    first, last = (RunFolder(Path("runs/try") / name) for name in ("first-3", "last-3"))
    config = read_experiment(path)[0].config

    # The first run has ended early; it goes on, and is killed before its next checkpoint.
    start(config, first.path).run(Limits(frames=2 * FRAMES_PER_ROUND))
    killer = Thread(target=kill_midway, args=[first])
    killer.start()
    assert main(["sweep", "try.toml", "--jobs", "1"]) == 1
    killer.join()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 trainings of try.toml in runs/try: 0 finished; 1 at a time, 1 thread each"
    said = [line.split()[:2] for line in lines if line.startswith(("first-3", "last-3"))]
    assert [state for state, _ in groupby(said)] == [  # on a slow machine a run may be said to be running again
        ["first-3", "running"], ["first-3", "failed"], ["last-3", "running"], ["last-3", "finished"],
    ]  # fmt: skip
    assert any(line.startswith("last-3") and f"{FRAMES:,} frames (100%)" in line for line in lines)
    assert "failed: first-3: killed by SIGKILL (see runs/try/first-3/log.txt)" in lines
    assert "1 failed, 1 finished" in lines
    assert "try next      gnomon evaluate runs/try/last-3" in lines
    assert (first.read_status()["state"], last.read_status()["state"]) == ("interrupted", "finished")
    assert newest_checkpoint(first.checkpoints)[0].counters["rounds"] == 2

    assert (first.threads(), last.threads()) == (1, 1)

    # The same command goes on where it was.
    finished = (last.path / "status.json").stat().st_mtime_ns
    assert main(["sweep", "try.toml", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 trainings of try.toml in runs/try: 1 finished;")
    assert "2 finished" in lines
    assert (last.path / "status.json").stat().st_mtime_ns == finished
    assert (first.path / "log.txt").read_text().count(f"from {2 * FRAMES_PER_ROUND:,} frames") == 2

    expected = start(config, tmp_path / "expected")
    expected.run(Limits())
    (mine, complaints), (theirs, _) = (newest_checkpoint(run.checkpoints) for run in (first, expected.folder))
    assert complaints == []
    assert [name for name in theirs.tensors if not torch.equal(mine.tensors[name], theirs.tensors[name])] == []
    assert first.read_trials().equals(expected.folder.read_trials())


def test_a_sweep_that_is_stopped_ends_with_130(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(sweeper: Sweeper, report: object) -> None:
        sweeper.stopping = True

    monkeypatch.setattr(Sweeper, "run", stop)
    path = write_experiment(tmp_path / "try.toml", ROUNDS, {"name": "first", "seeds": [0, 1]})
    assert main(["sweep", str(path), "--runs", str(tmp_path / "runs")]) == 130
    printed = capsys.readouterr().out
    assert "2 waiting" in printed
    assert "go on with the same command" in printed


def test_another_number_of_threads_is_said(capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sweeper, "run", lambda sweeper, report: None)
    path = write_experiment(tmp_path / "try.toml", ROUNDS, {"name": "x", "seeds": [0, 1]})
    config = read_experiment(path)[0].config
    RunFolder(tmp_path / "runs" / "x-0").create(config.to_json())
    for threads, lines in (("1", 0), ("2", 1)):
        main(["sweep", str(path), "--runs", str(tmp_path / "runs"), "--threads-per-job", threads])
        assert capsys.readouterr().out.count("x-0 had 1 threads so far") == lines


def test_mistakes_are_one_line_and_nothing_starts(capsys: Captured, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    path = write_experiment(tmp_path / "try.toml", ROUNDS, {"name": "a"}, {"name": "b", "units": 0})
    said = complaint(capsys, "sweep", str(path), "--runs", str(runs))
    assert said == f"gnomon: {path}, run 'b': units must be at least 1, got 0\n"
    path.write_text("[[run]\n")
    assert f"{path} is not TOML: " in complaint(capsys, "sweep", str(path), "--runs", str(runs))
    write_experiment(path, ROUNDS, {"name": "a"})
    assert "jobs is 0; it must be at least 1" in complaint(capsys, "sweep", str(path), "--jobs", "0")
    assert "threads per job is 0" in complaint(capsys, "sweep", str(path), "--threads-per-job", "0")
    assert "nowhere.toml" in complaint(capsys, "sweep", str(tmp_path / "nowhere.toml"))
    assert not runs.exists()


def test_the_table_has_a_row_per_run(tmp_path: Path) -> None:
    path = write_experiment(tmp_path / "try.toml", ROUNDS, {"name": "x", "seeds": [0, 1, 2]})
    sweeper = Sweeper(read_experiment(path), tmp_path / "runs", jobs=1, threads=1)
    done, running, _ = sweeper.jobs
    for job in (done, running):
        job.folder.create(job.training.config.to_json())
        job.folder.write_status("running", frames=FRAMES // 2, rewarded=0.25, criterion=0.125)
    done.folder.write_status("finished", frames=FRAMES + 5, rewarded=0.5, criterion=1.0)
    done.state, running.state = "finished", "running"
    note = f'{{"frames": {FRAMES * 3 // 4}, "rewarded": 0.375, "criterion": 0.0, "frames_per_second": 12345.6}}'
    write_text(progress_file(running.folder), note)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(progress_table(sweeper.jobs))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in console.export_text().splitlines()]
    assert rows[-4:-1] == [
        ["x-0", "finished", f"{FRAMES + 5:,}", "100%", "-", "50.0%", "100.0%"],
        ["x-1", "running", f"{FRAMES * 3 // 4:,}", "75%", "12,346", "37.5%", "0.0%"],
        ["x-2", "waiting", "-", "-", "-", "-", "-"],
    ]


# Published agents.


def test_a_published_agent_does_the_same_trials_as_the_run(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start(CONFIG, Path("runs/small")).run(Limits(frames=3 * FRAMES_PER_ROUND))
    evaluation = ["--trials", "8", "--seed", "4711"]
    assert main(["evaluate", "runs/small", *evaluation]) == 0
    expected = read_trials(Path("runs/small/evaluation/trials.parquet"))
    assert expected.height == 8

    assert main(["publish", "runs/small"]) == 0
    assert "published     agents/small (0." in capsys.readouterr().out
    before = {file: file.stat().st_mtime_ns for file in Path("agents/small").rglob("*")}
    assert main(["evaluate", "agents/small", *evaluation]) == 0
    assert read_trials(Path("out/small/trials.parquet")).equals(expected)
    assert "out/small/trials.parquet" in capsys.readouterr().out

    monkeypatch.setattr(agents, "SHIPPED", tmp_path / "package" / "agents")
    assert main(["publish", "runs/small", "--out", "package/agents/tiny-0"]) == 0
    assert main(["evaluate", "published/tiny-0", *evaluation]) == 0
    assert read_trials(Path("out/tiny-0/trials.parquet")).equals(expected)
    assert main(["evaluate", "published/tiny-0", *evaluation, "--out", "there"]) == 0
    assert read_trials(Path("there/trials.parquet")).equals(expected)
    assert {file: file.stat().st_mtime_ns for file in Path("agents/small").rglob("*")} == before

    said = complaint(capsys, "evaluate", "published/tiny-1")
    assert said == "gnomon: unknown published agent 'tiny-1'; choose tiny-0\n"
    weights = Path("package/agents/tiny-0/weights.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1])
    assert "weights.safetensors is truncated or altered" in complaint(capsys, "evaluate", "published/tiny-0")


def test_an_unknown_published_agent_is_said_to_be_so(capsys: Captured) -> None:
    assert complaint(capsys, "evaluate", "published/nobody").startswith("gnomon: unknown published agent 'nobody'; ")
