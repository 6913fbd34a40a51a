"""A sweep over a cluster: each training is a process on a machine that has room for it.

The training is the one of `gnomon.sweep.sweeper`; Ray finds the machine, and if that is lost, another one, where the
training goes on from its last checkpoint. All machines must see the folder of the runs under the same path.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from gnomon.cluster.apart import RayApart
from gnomon.cluster.start import Resources
from gnomon.records.runs import RunFolder
from gnomon.sweep.experiment import Training
from gnomon.sweep.sweeper import Job, Process, Sweeper, train_apart

LOSSES = 3  # of its machine that a training survives
SAVING_SECONDS = 60  # at most, for a training to save itself
# If a runner is killed, Ray would kill the training, too; but that is to notice, and to stop with a checkpoint.
SPARED = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}


class Runner:
    """On the machine: runs the process of one training. The process notices if the runner is gone, and stops."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, folder: str, threads: int) -> int:
        """Train to the end; returns the exit code."""
        wait_until_free(RunFolder(Path(folder)))
        self.process = train_apart(Path(folder), threads)
        return self.process.wait()

    def signal(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)


def wait_until_free(run: RunFolder) -> None:
    """Wait for a training whose runner was lost, and which is saving itself."""
    for _ in range(SAVING_SECONDS):
        try:
            with run.locked():
                return
        except ValueError:
            time.sleep(1.0)


class RemoteProcess:
    """A training somewhere on the cluster, with as much of the face of a `Popen` as a sweep looks at."""

    stdin = None  # what runs the process there holds it

    def __init__(self, ray: RayApart, folder: Path, threads: int) -> None:
        self._ray, self._task = ray, (str(folder), threads)
        # Two calls at a time: to run, and to pass on a signal meanwhile.
        self._runner = ray.remote(Runner).options(
            num_cpus=threads, max_concurrency=2, scheduling_strategy="SPREAD", runtime_env=SPARED
        )
        self._losses, self._stopping = 0, False
        self._launch()

    def _launch(self) -> None:
        self._handle = self._runner.remote()
        self._code = self._handle.run.remote(*self._task)

    def poll(self, seconds: float = 0.0) -> int | None:
        """The exit code, if the training has ended. ConnectionError if the cluster is lost."""
        try:
            if not self._ray.wait([self._code], timeout=seconds)[0]:
                return None
            return self._ray.get(self._code)
        except self._ray.exceptions.RayTaskError:  # a mistake in the program, not of the cluster
            raise
        except ConnectionError:
            if self._stopping:
                return -signal.SIGKILL
            raise
        except self._ray.exceptions.RayError:
            if self._stopping or self._losses == LOSSES:
                return -signal.SIGKILL
            self._losses += 1
            self._launch()
            return None

    def wait(self) -> int:
        while (code := self.poll(1.0)) is None:
            pass
        return code

    def send_signal(self, number: int) -> None:
        self._stopping = True
        self._handle.signal.remote(number)

    def kill(self) -> None:
        self._stopping = True
        with suppress(self._ray.exceptions.RayError, ConnectionError):  # it is gone already
            self._ray.kill(self._handle)


class ClusterSweeper(Sweeper):
    """A sweeper whose trainings run on the cluster."""

    def __init__(self, trainings: Sequence[Training], runs: Path, ray: RayApart, *, jobs: int, threads: int) -> None:
        """runs: the folder of all runs. ValueError if a machine of the cluster does not see it."""
        super().__init__(trainings, runs, jobs=jobs, threads=threads)
        self._ray = ray
        ray.ask(check_shared, runs)

    def run(self, report: Callable[[list[Job]], None] = lambda jobs: None) -> None:
        """As any sweep does. ValueError if the cluster is lost; each training then stops, with a checkpoint."""
        try:
            super().run(report)
        except ConnectionError as error:
            raise ValueError(
                f"the cluster is lost: {error}; each training stops by itself, with a checkpoint. "
                "Go on with the same command, here without --cluster"
            ) from None

    def launch(self, job: Job) -> Process:
        job.log.touch()  # the cluster may be lost before the training has said a word
        return RemoteProcess(self._ray, job.folder.path.resolve(), self.threads)


def jobs_on(resources: Resources, jobs: int | None, threads: int) -> int:
    """Trainings at a time that the cluster has room for; ValueError if more are asked for."""
    if threads < 1:
        raise ValueError(f"threads per job is {threads}; it must be at least 1")
    room = resources.room(threads)
    if not room or (jobs or 0) > room:
        raise ValueError(
            f"{jobs or 1} trainings at a time with {threads} CPUs each were asked for, but the cluster has "
            f"{resources}: give --jobs {room or 1}, fewer --threads-per-job, or add machines (ray start --address=...)"
        )
    return room if jobs is None else jobs


def check_shared(ray: Any, runs: Path) -> None:
    """ValueError unless every machine of the cluster sees this folder under the same path."""
    runs.mkdir(parents=True, exist_ok=True)
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    alive = [node for node in ray.nodes() if node["Alive"]]
    with NamedTemporaryFile(dir=runs, prefix=".shared-") as file:
        sees = ray.remote(Path.exists)
        path = Path(file.name).resolve()
        seen = ray.get(
            [
                sees.options(num_cpus=0, scheduling_strategy=strategy(node["NodeID"], soft=False)).remote(path)
                for node in alive
            ]
        )
    blind = [node["NodeManagerHostname"] for node, there in zip(alive, seen, strict=True) if not there]
    if blind:
        raise ValueError(
            f"{', '.join(blind)} cannot see the folder {runs.resolve()}; choose --runs on a file system that all "
            "machines share"
        )
