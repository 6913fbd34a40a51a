"""A sweep: many trainings, as many at a time as cores allow, each a process of its own.

A training is begun by writing its folder and resumed like any other: a run without a checkpoint starts at its first
frame. So whatever happened to the sweep or to a process, sweeping again goes on where each run's last checkpoint is.

`python -m gnomon.sweep.sweeper FOLDER THREADS` is such a process. Besides what every training writes, the folder then
has `log.txt` (what the process said) and, while it runs, `progress.json` (how far it is).
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any, Literal, Protocol, TypedDict

import torch

from gnomon.config import differing, read_config
from gnomon.declared import read_object
from gnomon.learn.loop import Limits, Trainer, patient_interrupts, resume
from gnomon.learn.malloc import keep_freed_memory
from gnomon.records.runs import RunFolder, write_text
from gnomon.sweep.experiment import Training

POLL_SECONDS = 0.25
PROGRESS_SECONDS = 1.0  # between two notes on how far a training is
LOG = "log.txt"  # in a run's folder: what its process said

# Elsewhere: another process trains it, perhaps that of a sweep that was killed.
State = Literal["waiting", "running", "elsewhere", "stopped", "finished", "failed"]


class HowFar(TypedDict, total=False):
    """progress.json."""

    frames: int
    minutes: float
    rewarded: float
    criterion: float
    frames_per_second: float


class Process(Protocol):
    """What a sweep asks of a training's process, wherever that runs: a part of `Popen`."""

    @property
    def stdin(self) -> IO[bytes] | None: ...

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def send_signal(self, sig: int, /) -> None: ...

    def kill(self) -> None: ...


@dataclass
class Job:
    """A training and how it stands."""

    training: Training
    folder: RunFolder
    state: State = "waiting"
    reason: str = ""
    """Why it failed."""
    process: Process | None = None

    @property
    def name(self) -> str:
        return self.training.name

    @property
    def frames(self) -> int:
        """How long the training is to be."""
        return self.training.config.learning.schedule.frames

    @property
    def log(self) -> Path:
        return self.folder.path / LOG

    def progress(self) -> dict[str, Any]:
        """The newest numbers: frames, minutes, rewarded, criterion and, of a running job, frames_per_second.

        Any of them may be missing, all of them before the first.
        """
        if self.state == "running":
            with suppress(FileNotFoundError, ValueError):  # it has not done a round yet
                return {**read_object(progress_file(self.folder), HowFar)}
        return self.folder.read_status()

    def finished(self) -> bool:
        """Whether a checkpoint has all frames (of a run that fails, the last frames are lost)."""
        status = self.folder.read_status()
        return status["state"] not in ("running", "failed") and status.get("frames", 0) >= self.frames

    def trained_elsewhere(self) -> bool:
        """Whether a process that is not ours is training this run; not to be asked of a running job."""
        if not self.folder.config.exists():
            return False
        try:
            with self.folder.locked():
                return False
        except ValueError:
            return True


class Sweeper:
    """Runs trainings in the order they are listed, `jobs` at a time with `threads` threads each."""

    def __init__(self, trainings: Sequence[Training], runs: Path, *, jobs: int, threads: int) -> None:
        """runs: the folder of all runs. ValueError if a run there was begun with other settings."""
        for name, value in (("jobs", jobs), ("threads per job", threads)):
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1")
        self.limit, self.threads = jobs, threads
        self.jobs = [Job(training, RunFolder(runs / training.name)) for training in trainings]
        self.stopping = False
        for job in self.jobs:
            check_same_settings(job)
            if job.finished():
                job.state = "finished"

    def run(self, report: Callable[[list[Job]], None] = lambda jobs: None) -> None:
        """Train until all have ended. `report` is told how they stand a few times a second.

        Ctrl-C once asks every training for a checkpoint and waits for it, twice kills them.
        """
        with patient_interrupts() as interrupted:
            try:
                while self.advance(bool(interrupted)):
                    report(self.jobs)
                    time.sleep(POLL_SECONDS)
            except BaseException:
                for job in self.jobs:
                    if job.process is not None:
                        job.process.kill()
                        end(job)
                raise
        report(self.jobs)

    def advance(self, stop: bool = False) -> bool:
        """Notice what has ended, start what may start or ask all to stop; returns whether there is more to do."""
        for job in self.jobs:
            if job.process is not None and job.process.poll() is not None:
                end(job)
            elif job.state == "elsewhere" and not job.trained_elsewhere():
                job.state = "waiting"
        if stop:
            if not self.stopping:
                for job in self.jobs:
                    if job.process is not None:
                        job.process.send_signal(signal.SIGINT)
            self.stopping = True
            return any(job.state == "running" for job in self.jobs)
        for job in self.jobs:
            busy = sum(each.state in ("running", "elsewhere") for each in self.jobs)
            if job.state == "waiting" and busy < self.limit:
                self.start(job)
        return any(job.state in ("waiting", "running", "elsewhere") for job in self.jobs)

    def start(self, job: Job) -> None:
        """Begin a training or go on with it, unless somebody else has finished it or is at it."""
        if job.finished():
            job.state = "finished"
            return
        if job.trained_elsewhere():
            job.state = "elsewhere"
            return
        try:
            if not job.folder.config.exists():
                torch.set_num_threads(self.threads)  # they are noted with the versions
                job.folder.create(job.training.config.to_json())
            progress_file(job.folder).unlink(missing_ok=True)
            job.process, job.state = self.launch(job), "running"
        except OSError as error:
            job.state, job.reason = "failed", str(error)

    def launch(self, job: Job) -> Process:
        """The process that trains a job."""
        return train_apart(job.folder.path, self.threads)


def train_apart(folder: Path, threads: int) -> subprocess.Popen[bytes]:
    """A process that trains the run in this folder and appends to its log what it says."""
    own = {"OMP_NUM_THREADS": str(threads), "POLARS_MAX_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "gnomon.sweep.sweeper", str(folder), str(threads)],
            stdin=subprocess.PIPE,  # closed when this process is gone, however it went
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | own,
            process_group=0,  # a Ctrl-C in the terminal is for the sweep alone
        )


def end(job: Job) -> None:
    """Note how a job's process ended."""
    process = job.process
    assert process is not None
    code = process.wait()
    if process.stdin is not None:
        process.stdin.close()
    job.process = None
    progress_file(job.folder).unlink(missing_ok=True)
    if code == 0:
        job.state = "finished" if job.finished() else "stopped"
    elif code == -signal.SIGINT:  # before its first round
        job.state = "stopped"
    else:
        said = job.log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), f"exit code {code}")
        job.state, job.reason = "failed", f"killed by {signal.Signals(-code).name}" if code < 0 else last


def check_same_settings(job: Job) -> None:
    """Raise unless the run that is there already, if any, has the settings asked for."""
    if not job.folder.config.exists():
        return
    for name, (before, now) in differing(read_config(job.folder.config), job.training.config).items():
        raise ValueError(
            f"{job.folder.path} was begun with {name} = {before}, and now it is {now}; "
            "sweep into another folder (--runs), or give the run another name"
        )


def progress_file(folder: RunFolder) -> Path:
    return folder.path / "progress.json"


# The process of one training.


def work(path: Path, threads: int) -> None:
    """Train the run in this folder to its end."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Ray's threads block it, and we inherit that
    torch.set_num_threads(threads)
    keep_freed_memory()
    Thread(target=stop_with_the_sweep, daemon=True).start()
    trainer, complaints = resume(path)
    for complaint in complaints:
        print(f"damaged: {complaint}")
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  process {os.getpid()}, from {trainer.frames:,} frames")
    reason = trainer.run(Limits(), ProgressNote(trainer))
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {reason}, at {trainer.frames:,} frames")


def stop_with_the_sweep() -> None:
    """Wait for the sweep's end of our input to close, then stop as if by Ctrl-C."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


class ProgressNote:
    """Writes how far the training is, about once a second."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.last = trainer, -1e9

    def __call__(self, row: dict[str, Any]) -> None:
        if time.monotonic() - self.last < PROGRESS_SECONDS:
            return
        self.last = time.monotonic()
        seconds = 60 * (row["minutes"] - self.trainer.minutes)  # of this process
        note = {name: row[name] for name in ("frames", "minutes", "rewarded", "criterion")}
        note["frames_per_second"] = (row["frames"] - self.trainer.frames_before) / max(seconds, 1e-9)
        with suppress(OSError):  # a full disk is waited out where checkpoints are written
            write_text(progress_file(self.trainer.folder), json.dumps(note))


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
