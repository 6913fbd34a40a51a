"""A cluster that is lost: the run is saved, says so, and goes on elsewhere; so does a sweep."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_ray import FakeRay, RayError, on_pools
from small_experiment import write_experiment
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.cluster import apart, pools
from gnomon.cluster.pools import ClusterError
from gnomon.cluster.sweep import ClusterSweeper
from gnomon.learn.loop import Limits, resume, start
from gnomon.sweep.experiment import read_experiment
from gnomon.sweep.sweeper import Job


@pytest.mark.parametrize("call", ["wait", "put", "get"])
def test_a_lost_cluster_leaves_a_checkpoint_and_a_run_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    ray = FakeRay()
    monkeypatch.setattr(pools, "import_ray", lambda: ray)
    trainer = start(CONFIG, tmp_path / "run", on_pools(2, 1))

    def lose(*_: Any, **__: Any) -> Any:
        raise RayError("the head node\nis gone")

    def report(row: dict[str, Any]) -> None:
        if row["round"] == 3:
            monkeypatch.setattr(ray, call, lose)
            monkeypatch.setattr(ray, "kill", lose)
            monkeypatch.setattr(trainer.source, "_weights", trainer.source._weights)  # type: ignore[attr-defined]
            trainer.source._weights._put = ray.put  # type: ignore[attr-defined]

    with pytest.raises(ClusterError, match="is gone"):
        trainer.run(Limits(frames=9 * FRAMES_PER_ROUND), report)
    status = trainer.folder.read_status()
    assert status["state"] == "stopped"
    assert "is gone" in status["reason"]
    again, complaints = resume(tmp_path / "run")  # on this machine
    assert (again.rounds, again.frames, complaints) == (3, trainer.frames, [])
    assert again.run(Limits(frames=5 * FRAMES_PER_ROUND)) == "frames"


class EndlessRay(FakeRay):
    """Trainings on it go on until it is lost; then every call says so, as `RayApart` does."""

    lost = False

    def _answer(self, answer: Any) -> Any:
        if self.lost:
            raise ConnectionError("Ray has ended")
        return answer

    def _start(self, *arguments: Any) -> Any:
        method = SimpleNamespace(remote=lambda *given: self._answer(given))
        return SimpleNamespace(run=method, signal=method)

    def ask(self, function: Any, *given: Any) -> None: ...

    def wait(self, calls: list[Any], num_returns: int = 1, timeout: float = 0.0) -> tuple[list[Any], list[Any]]:
        return self._answer(([], calls))

    def kill(self, actor: Any) -> None:
        self._answer(None)


@pytest.mark.parametrize("stop", [False, True])
def test_a_sweep_whose_cluster_is_lost_ends_with_one_line(tmp_path: Path, stop: bool) -> None:
    ray: Any = EndlessRay()
    experiment = write_experiment(tmp_path / "try.toml", 2, {"name": "x", "seeds": [0, 1, 2]})
    sweeper = ClusterSweeper(read_experiment(experiment), tmp_path / "runs", ray, jobs=2, threads=1)
    running: list[int] = []

    def report(jobs: list[Job]) -> None:
        running.append(sum(job.state == "running" for job in jobs))
        ray.lost = len(running) == 2
        if stop and ray.lost:
            sweeper.advance(stop=True)

    with pytest.raises(ValueError, match=r"the cluster is lost: Ray has ended; each training stops .* same command"):
        sweeper.run(report)
    assert running == [2, 2]
    assert [job.process for job in sweeper.jobs] == [None, None, None]
    assert sweeper.jobs[2].state == "waiting"


@pytest.mark.parametrize("alive", [False, True])
def test_the_process_at_ray_ends_when_the_cluster_gives_its_machine_up(
    monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    """Ray itself would let it wait for ever for actors that have been killed."""

    class Ended(Exception):
        pass

    def end(code: int) -> None:
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(apart, "ALIVE_SECONDS", -1.0)
    ray: Any = FakeRay()
    ray.get_runtime_context = lambda: SimpleNamespace(get_node_id=lambda: "here")
    ray.nodes = lambda: [{"NodeID": "there", "Alive": True}, {"NodeID": "here", "Alive": alive}]
    answers: list[Any] = []
    pipe: Any = SimpleNamespace(recv=iter([([], "put", [apart.Name(0), "a"]), ([], "get", [apart.Name(0)])]).__next__)
    pipe.send = answers.append
    monkeypatch.setattr(ray, "get", lambda value: value)
    with pytest.raises(StopIteration if alive else Ended):
        apart.answer_calls(pipe, ray)
    assert answers == ([None, "a"] if alive else [])
