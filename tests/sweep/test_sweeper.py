"""An experiment file becomes trainings; a sweep runs them all, whatever happens to some of them."""

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_experiment import write_experiment
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.config import Schedule
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint
from gnomon.sweep.experiment import read_experiment
from gnomon.sweep.sweeper import Job, Process, Sweeper, progress_file


def wait_for(happened: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


# Sweeping.


def small_sweep(folder: Path, rounds: int, *runs: dict[str, Any], jobs: int = 2) -> Sweeper:
    path = write_experiment(folder / "small.toml", rounds, *runs)
    return Sweeper(read_experiment(path), folder / "runs", jobs=jobs, threads=1)


def states(sweeper: Sweeper) -> dict[str, str]:
    return {job.name: job.state for job in sweeper.jobs}


class FakeProcess:
    """Ends when it is told to."""

    def __init__(self, command: list[str], **options: Any) -> None:
        self.command, self.stdin, self.pid = command, None, -1
        self.returncode: int | None = None
        self.signals: list[int] = []

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweeper:
    """Four runs, two at a time, whose processes do nothing."""
    fake = SimpleNamespace(Popen=FakeProcess, PIPE=subprocess.PIPE, STDOUT=subprocess.STDOUT)
    monkeypatch.setattr("gnomon.sweep.sweeper.subprocess", fake)
    monkeypatch.setattr("gnomon.sweep.sweeper.POLL_SECONDS", 0.01)
    return small_sweep(tmp_path, 5, {"name": "b", "seeds": [1, 0]}, {"name": "a", "seeds": [0, 1]})


def fake_end(job: Job, code: int, state: str = "running") -> None:
    job.folder.write_status(state, frames=job.frames if state == "finished" else 1)
    assert isinstance(job.process, FakeProcess)
    job.process.returncode = code


def test_runs_start_in_order_and_whenever_there_is_room(fakes: Sweeper) -> None:
    b1, b0, a0, a1 = fakes.jobs
    assert fakes.advance()
    assert states(fakes) == {"b-1": "running", "b-0": "running", "a-0": "waiting", "a-1": "waiting"}
    assert isinstance(b0.process, FakeProcess)
    assert b0.process.command[-2:] == [str(b0.folder.path), "1"]
    assert not a0.folder.path.exists()
    b0.log.write_text("Traceback\n  ...\nOSError: no space left\n\n")
    fake_end(b0, 1)
    assert fakes.advance()
    assert states(fakes) == {"b-1": "running", "b-0": "failed", "a-0": "running", "a-1": "waiting"}
    assert b0.reason == "OSError: no space left"
    fake_end(b1, 0, "finished")
    fake_end(a0, 0, "stopped")  # by somebody else
    assert fakes.advance()
    fake_end(a1, -signal.SIGSEGV)
    assert not fakes.advance()
    assert states(fakes) == {"b-1": "finished", "b-0": "failed", "a-0": "stopped", "a-1": "failed"}
    assert a1.reason == "killed by SIGSEGV"


def test_a_run_that_cannot_begin_does_not_stop_the_others(fakes: Sweeper, monkeypatch: pytest.MonkeyPatch) -> None:
    create = RunFolder.create

    def refuse_one(folder: RunFolder, config: str) -> None:
        if folder.path.name == "b-0":
            raise OSError("no room")
        create(folder, config)

    monkeypatch.setattr(RunFolder, "create", refuse_one)
    assert fakes.advance()
    assert states(fakes) == {"b-1": "running", "b-0": "failed", "a-0": "running", "a-1": "waiting"}
    assert fakes.jobs[1].reason == "no room"


def test_all_are_asked_to_stop_once_and_nothing_is_started(fakes: Sweeper) -> None:
    b1, b0, a0, _ = fakes.jobs
    assert fakes.advance()
    first, second = b1.process, b0.process
    assert isinstance(first, FakeProcess)
    assert isinstance(second, FakeProcess)
    assert fakes.advance(stop=True)
    fake_end(b1, 0, "stopped")
    assert fakes.advance(stop=True)
    fake_end(b0, -signal.SIGINT)  # before it could listen
    assert not fakes.advance(stop=True)
    assert first.signals == second.signals == [signal.SIGINT]
    assert states(fakes) == {"b-1": "stopped", "b-0": "stopped", "a-0": "waiting", "a-1": "waiting"}
    assert not a0.folder.path.exists()


def test_other_settings_under_the_same_name_are_refused(tmp_path: Path) -> None:
    RunFolder(tmp_path / "runs" / "a-3").create(
        replace(CONFIG, learning=replace(CONFIG.learning, schedule=Schedule(frames=1280))).to_json()
    )
    (job,) = small_sweep(tmp_path, 5, {"name": "a"}).jobs
    assert job.state == "waiting"
    with pytest.raises(ValueError, match=r"a-3 was begun with units = 16, and now it is 32; sweep into another folder"):
        small_sweep(tmp_path, 5, {"name": "new"}, {"name": "a", "units": 32})
    with pytest.raises(ValueError, match=r"a-3 was begun with learning\.schedule\.frames = 1280, and now it is 1536"):
        small_sweep(tmp_path, 6, {"name": "a"})
    with pytest.raises(ValueError, match=r"a-3 was begun with optics\.retina = \(8, 8\), and now it is \(9, 9\)"):
        small_sweep(tmp_path, 5, {"name": "a", "optics.retina": [9, 9]})


class Obliging(FakeProcess):
    """Stops when asked to, after a while."""

    asked = False

    def poll(self) -> int | None:
        if self.asked and self.returncode is None:
            RunFolder(Path(self.command[-2])).write_status("stopped")
            self.returncode = 0
            return None
        return self.returncode

    def send_signal(self, number: int) -> None:
        super().send_signal(number)
        self.asked = True


def test_ctrl_c_once_waits(fakes: Sweeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnomon.sweep.sweeper.subprocess.Popen", Obliging)
    before = signal.getsignal(signal.SIGINT)
    moments: list[list[str]] = []

    def interrupt(jobs: list[Job]) -> None:
        moments.append([job.state for job in jobs])
        if len(moments) == 1:
            signal.raise_signal(signal.SIGINT)

    fakes.run(interrupt)
    assert moments[0] == moments[1] == ["running", "running", "waiting", "waiting"]
    assert moments[-1] == ["stopped", "stopped", "waiting", "waiting"]
    assert fakes.stopping
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_twice_kills(tmp_path: Path) -> None:
    sweeper = small_sweep(tmp_path, 10_000, {"name": "long", "seeds": [0, 1]})
    before = signal.getsignal(signal.SIGINT)
    processes: list[Process] = []

    def interrupt(jobs: list[Job]) -> None:
        processes.extend(job.process for job in jobs if job.process is not None)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sweeper.run(interrupt)
    assert [process.poll() for process in processes] == [-signal.SIGKILL] * 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_training_whose_sweep_is_gone_stops_with_a_checkpoint(tmp_path: Path) -> None:
    sweeper = small_sweep(tmp_path, 10_000, {"name": "long"})
    (job,) = sweeper.jobs
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as in Ray's threads, and children inherit it
    assert sweeper.advance()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert job.progress() == {"state": "unknown"}  # before its first round
    wait_for(progress_file(job.folder).exists)
    note = job.progress()
    assert note.keys() == {"frames", "minutes", "rewarded", "criterion", "frames_per_second"}
    assert note["frames"] >= FRAMES_PER_ROUND
    assert note["frames_per_second"] == pytest.approx(note["frames"] / note["minutes"] / 60)
    assert job.process is not None
    assert job.process.stdin is not None
    job.process.stdin.close()  # as when the sweep is killed
    wait_for(lambda: not sweeper.advance())
    assert job.state == "stopped"
    assert not progress_file(job.folder).exists()
    checkpoint = newest_checkpoint(job.folder.checkpoints)[0]
    assert checkpoint.counters["rounds"] > 0
    assert job.progress()["frames"] == checkpoint.counters["frames"]


def test_a_run_that_is_trained_elsewhere_is_waited_for(fakes: Sweeper) -> None:
    b1, b0, a0, a1 = fakes.jobs
    b1.folder.create(b1.training.config.to_json())
    with b1.folder.locked():
        assert fakes.advance()
        assert states(fakes) == {"b-1": "elsewhere", "b-0": "running", "a-0": "waiting", "a-1": "waiting"}
        assert b1.process is None
        assert fakes.advance()
        assert b1.state == "elsewhere"
    b1.folder.write_status("finished", frames=b1.frames)
    assert fakes.advance()
    assert states(fakes) == {"b-1": "finished", "b-0": "running", "a-0": "running", "a-1": "waiting"}
    a1.folder.create(a1.training.config.to_json())
    with a1.folder.locked():
        fake_end(b0, 0, "finished")
        fake_end(a0, 0, "finished")
        assert fakes.advance()
        assert not fakes.advance(stop=True)  # it is not ours to stop
    assert a1.state == "elsewhere"


def test_a_run_that_ended_early_is_not_finished(tmp_path: Path) -> None:
    sweeper = small_sweep(tmp_path, 5, {"name": "a"})
    (job,) = sweeper.jobs
    job.folder.create(job.training.config.to_json())
    job.folder.write_status("finished", reason="minutes", frames=job.frames - 1)
    assert not job.finished()
    job.folder.write_status("failed", frames=job.frames)  # in its last round, after the last checkpoint
    assert not job.finished()
    for state in ("finished", "stopped"):
        job.folder.write_status(state, frames=job.frames + 100)
        assert job.finished()


@pytest.mark.parametrize(("jobs", "threads", "name"), [(0, 1, "jobs"), (1, 0, "threads per job")])
def test_there_is_at_least_one_of_each(tmp_path: Path, jobs: int, threads: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0; it must be at least 1"):
        Sweeper([], tmp_path, jobs=jobs, threads=threads)


def test_a_config_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "a-3"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"a-3/config\.json: Expecting"):
        small_sweep(tmp_path, 5, {"name": "a"})
