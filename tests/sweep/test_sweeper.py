"""An experiment file becomes trainings; a sweep runs them all, whatever happens to some of them."""

import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_experiment import SMALL, toml, write_experiment
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.config import Schedule
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint
from gnomon.sweep.experiment import read_experiment
from gnomon.sweep.sweeper import Job, Process, Sweeper, progress_file

PROJECT = Path(__file__).parents[2]


def wait_for(happened: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


# Reading an experiment.


def test_every_setting_can_be_written_down(tmp_path: Path) -> None:
    path = tmp_path / "all.toml"
    path.write_text(toml(SMALL) + '[[run]]\nname = "small"\n')
    (training,) = read_experiment(path)
    assert (training.name, training.config) == ("small-3", CONFIG)


def test_a_run_has_the_shared_settings_unless_it_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(
        """
        learning.schedule.frames = 500
        learning.batch = 7
        units = 64
        [[run]]
        name = "b"
        seeds = [4, 2]
        [[run]]
        name = "a"
        controller = "gru"
        units = 32
        learning.batch = 9
        learning.optimiser.clip_norm = 3
        """
    )
    trainings = read_experiment(path)
    assert [training.name for training in trainings] == ["b-4", "b-2", "a-0"]  # as listed
    assert [training.config.seed for training in trainings] == [4, 2, 0]
    agents = [(training.config.agent.controller, training.config.agent.units) for training in trainings]
    assert agents == [("lstm", 64), ("lstm", 64), ("gru", 32)]
    assert [training.config.learning.batch for training in trainings] == [7, 7, 9]
    assert [training.config.learning.schedule.frames for training in trainings] == [500, 500, 500]
    assert isinstance(trainings[2].config.learning.optimiser.clip_norm, float)


RUN = '[[run]]\nname = "x"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("learning.schedule.frames = \n" + RUN, " is not TOML: Invalid value (at line 1"),
        ("", " lists no trainings; each begins with a line [[run]]"),
        ('run = "x"', " lists no trainings"),
        ('name = "y"\n' + RUN, ": name is set above the first [[run]]"),
        ("[[run]]\nunits = 3", ", run 1 has no name; a name has letters"),
        (RUN + '[[run]]\nname = "../up"', ", run 2 has the name '../up'; a name has letters"),
        (RUN + RUN, ": x-0 is listed twice"),
        (RUN + "seeds = [1, 1]", ": x-1 is listed twice"),
        (RUN + "seeds = 3", ", run 'x': seeds is 3; it must be a list of whole numbers"),
        (RUN + "seeds = [true]", ", run 'x': seeds is [True]; it must be a list"),
        (RUN + "seeds = []", ", run 'x': seeds is []; it must be a list"),
        (RUN + "seed = 1", ", run 'x': unknown setting 'seed'; did you mean seeds?"),
        (
            RUN + "learning.loss.horizn = 10",
            ", run 'x': unknown setting 'learning.loss.horizn'; did you mean learning.loss.horizon?",
        ),
        (
            RUN + "learning.horizon = 10",
            ", run 'x': unknown setting 'learning.horizon'; did you mean learning.loss.horizon?",
        ),
        (
            RUN + "optics.q = 1",
            ", run 'x': unknown setting 'optics.q'; choose optics.retina, optics.field_of_view, optics.g",
        ),
        (RUN + "horizon = 10", ", run 'x': unknown setting 'horizon'; did you mean learning.loss.horizon?"),
        (RUN + "zzz = 1", ", run 'x': unknown setting 'zzz'; choose preset, task_name, seeds, controller, units, feat"),
        ("learning = 3\n" + RUN, ", run 'x': unknown setting 'learning'; "),
        (RUN + "task.durations = [10, 20]", ", run 'x': unknown setting 'task.durations'"),
        (RUN + 'preset = "desktop"', ", run 'x': unknown preset 'desktop'; choose laptop, paper"),
        (RUN + "preset = 1", ", run 'x': preset is 1; it must be a text in quotes"),
        (RUN + 'task_name = "reproduction"', ", run 'x': unknown task 'reproduction'; choose "),
        (RUN + 'controller = "lsmt"', ", run 'x': unknown controller 'lsmt'; choose lstm, "),
        (RUN + 'controller = "rmc"\nunits = 100', ", run 'x': units of an rmc must be a multiple of "),
        (RUN + 'units = "32"', ", run 'x': units is '32'; it must be a whole number"),
        (RUN + "units = 32.0", ", run 'x': units is 32.0; it must be a whole number"),
        (RUN + "learning.batch = true", ", run 'x': learning.batch is True; it must be a whole number"),
        (
            RUN + "learning.loss.discount = [0.9]",
            ", run 'x': learning.loss.discount is (0.9,); it must be a number",
        ),
        (RUN + "learning.loss.discount = 1.5", ", run 'x': discount is 1.5; it must lie between 0 and 1"),
        (
            RUN + "learning.aids.lstd_critic.privileged = 1",
            ", run 'x': learning.aids.lstd_critic.privileged is 1; it must be true or false",
        ),
        (
            RUN + "learning.loss.horizon = 1.5",
            ", run 'x': learning.loss.horizon is 1.5; it must be a whole number",
        ),
        (
            RUN + "learning.optimiser.betas = [0.9]",
            ", run 'x': learning.optimiser.betas is (0.9,); it must be a list (2, each a n",
        ),
        (RUN + "task.intervals = 50", ", run 'x': task.intervals is 50; it must be a list (each a whole number)"),
        (RUN + "task.intervals = [50, 10]", ", run 'x': intervals is (50, 10); intervals must be ascending"),
        (RUN + "optics.gaze_step = 180", ", run 'x': no gaze of the lattice falls into box"),
    ],
)
def test_a_mistake_names_file_run_and_setting(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}{expected}")):
        read_experiment(path)


def test_the_papers_agents_have_equal_budgets() -> None:
    trainings = {training.name: training.config for training in read_experiment(PROJECT / "experiments" / "paper.toml")}
    assert list(trainings) == [
        "lstm-0", "lstm-1", "lstm-2", "feedforward-0", "feedforward-1", "feedforward-2", "rnn-0", "gru-0", "rmc-0",
        "frozen_lstm-0", "lstm32-0", "lstm256-0", "feedforward64-0", "feedforward512-0",
        "lstm_10step-0", "feedforward_10step-0",
    ]  # fmt: skip
    budgets = {
        (config.agent.controller == "feedforward", config.learning.schedule.frames) for config in trainings.values()
    }
    assert len(budgets) == 2  # one for agents with a memory, one for those without
    for name, config in trainings.items():
        controller, units, horizon = re.fullmatch(r"([a-z_]*[a-z])(\d*)(_10step)?-\d", name).groups()  # type: ignore
        assert config.agent.controller == controller
        assert config.agent.units == int(units or 128)
        assert config.learning.loss.horizon == (10 if horizon else 0)


def test_the_example_of_the_manual_is_an_experiment(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", (PROJECT / "docs" / "sweep.md").read_text(), re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example)
    trainings = {training.name: training.config for training in read_experiment(path)}
    assert list(trainings) == ["lstm-0", "lstm-1", "large-0", "ten_step-0"]
    assert {config.learning.schedule.frames for config in trainings.values()} == {20_000_000}
    assert trainings["large-0"].agent.units == 256
    assert trainings["ten_step-0"].learning.loss.horizon == 10


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
    assert sweeper.advance()
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
