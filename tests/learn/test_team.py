"""A team of workers learns what one learner would from the lanes of all, and is as reproducible as any run."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
import torch
from small_run import CONFIG, FRAMES_PER_ROUND, TEAM, limit
from torch import Tensor

from gnomon.config import LearningConfig, RunConfig
from gnomon.learn.build import build_actor
from gnomon.learn.learner import Learner
from gnomon.learn.loop import Trainer, resume, start
from gnomon.learn.team import settled, share_of
from gnomon.learn.unroll import Unroll
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint

WORKERS = 2


def team(**learning: Any) -> RunConfig:
    return replace(CONFIG, learning=replace(CONFIG.learning, **{"workers": WORKERS} | learning))


class Shared:
    """Adds up the tensors of learners that run in threads of one process."""

    def __init__(self) -> None:
        self.barrier, self.given = Barrier(WORKERS), {}

    def of(self, number: int, tensors: list[Tensor]) -> None:
        self.given[number] = [tensor.clone() for tensor in tensors]
        self.barrier.wait(30)
        for tensor, *parts in zip(tensors, *(self.given[each] for each in range(WORKERS)), strict=True):
            tensor.copy_(sum(parts[1:], parts[0]))
        self.barrier.wait(30)


@pytest.mark.parametrize("controller", ["lstm", "feedforward"])
def test_a_team_takes_the_step_that_one_learner_takes(controller: str) -> None:
    """Both workers' unrolls in one batch of a single learner: the same weights, up to rounding, and metrics."""
    config = replace(team(batch=32), agent=replace(CONFIG.agent, controller=controller, whitening=0.05))
    own, shared = share_of(config), Shared()
    actors = [build_actor(own, f" {number}") for number in range(WORKERS)]
    unrolls = [actor.unroll() for actor in actors]
    metrics: dict[int, dict[str, float]] = {}

    def learn(number: int) -> None:
        actor = actors[number]
        learner = Learner(
            actor.agent, actor.cache, own.learning, torch.Generator(), lambda tensors: shared.of(number, tensors)
        )
        metrics[number] = learner.learn(unrolls[number], 0)

    threads = [Thread(target=learn, args=(number,)) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    alone = build_actor(replace(config, learning=replace(config.learning, workers=1)))
    learner = Learner(alone.agent, alone.cache, config.learning, torch.Generator())
    expected = learner.learn(Unroll.join(unrolls), 0)
    for name, tensor in alone.agent.state_dict().items():
        for actor in actors:
            torch.testing.assert_close(actor.agent.state_dict()[name], tensor, rtol=1e-3, atol=2e-5, msg=name)
    for name in ("policy_loss", "value_loss", "entropy", "kl", "mean_value", "gradient_norm", "learning_rate"):
        assert metrics[0][name] == metrics[1][name] == pytest.approx(expected[name], rel=1e-3, abs=1e-6)


@pytest.fixture
def no_worker_left() -> Iterator[None]:
    yield
    for child in multiprocessing.active_children():
        child.kill()
        child.join()


def assert_same_checkpoint(run: Trainer, expected: Trainer) -> None:
    """Every tensor, every counter, every metric but the time it took, and every trial."""
    mine, theirs = (newest_checkpoint(trainer.folder.checkpoints)[0] for trainer in (run, expected))
    assert mine.tensors.keys() == theirs.tensors.keys()
    assert [name for name in mine.tensors if not torch.equal(mine.tensors[name], theirs.tensors[name])] == []
    assert mine.counters | {"minutes": 0} == theirs.counters | {"minutes": 0}
    metrics = [trainer.folder.read_metrics().drop("minutes") for trainer in (run, expected)]
    assert metrics[0].equals(metrics[1])
    assert len(expected.folder.read_trials()) > 10
    assert run.folder.read_trials().equals(expected.folder.read_trials())


@pytest.mark.usefixtures("no_worker_left")
def test_a_run_that_is_saved_and_resumed_is_the_same_run(tmp_path: Path) -> None:
    config = replace(TEAM, agent=replace(TEAM.agent, chrono_span=9.0, whitening=0.05))
    whole = start(config, tmp_path / "whole")
    whole.run(limit(16))
    parts = start(config, tmp_path / "parts")
    parts.run(limit(5), checkpoint_minutes=0.0)
    parts, complaints = resume(tmp_path / "parts")
    assert complaints == []
    parts.run(limit(16))
    assert_same_checkpoint(parts, whole)
    tensors = newest_checkpoint(whole.folder.checkpoints)[0].tensors
    for name, tensor in tensors.items():  # all but lanes, features and what waits for a batch is common to the team
        if name.startswith("learner.optimiser."):
            assert torch.equal(tensors[f"actor.worker1.{name}"], tensor), name
    lanes = whole.folder.read_trials()["lane"]
    assert (lanes < TEAM.learning.lanes // 2).any()
    assert (lanes >= TEAM.learning.lanes // 2).any()
    assert (lanes < TEAM.learning.lanes).all()
    assert whole.frames in (16 * FRAMES_PER_ROUND, 17 * FRAMES_PER_ROUND)  # a round may need a second unroll


@pytest.mark.usefixtures("no_worker_left")
def test_a_signal_that_asks_the_run_to_stop_does_not_end_its_workers(tmp_path: Path) -> None:
    """As when a terminal or `timeout` signals all processes of a run: the first one decides, and saves."""
    trainer = start(TEAM, tmp_path / "run")
    trainer.run(limit(2))
    (child,) = multiprocessing.active_children()
    assert child.pid is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(child.pid, number)
    assert trainer.run(limit(4)) == "frames"
    assert child.is_alive()


@pytest.mark.usefixtures("no_worker_left")
def test_a_lost_worker_is_one_clear_line(tmp_path: Path) -> None:
    trainer = start(TEAM, tmp_path / "run")
    trainer.run(limit(2))
    (child,) = multiprocessing.active_children()
    assert child.name == "gnomon worker 1"
    child.kill()
    child.join()
    with pytest.raises(ValueError, match="a worker of this run has ended"):
        trainer.run(limit(4))


@pytest.mark.parametrize(
    ("learning", "threads", "expected"),
    [
        ({"lanes": 200, "unroll": 100}, 2, 2),
        ({"lanes": 200, "unroll": 99}, 2, 1),  # too little to do
        ({"lanes": 501}, 2, 1),
        ({"lanes": 512, "batch": 33}, 2, 1),
        ({"lanes": 512}, 1, 1),
        ({"lanes": 512}, 7, 4),  # five to seven cannot share the batch of 32
        ({"lanes": 600, "batch": 36}, 9, 6),  # nine would have too little to do
        ({"lanes": 512, "device": "cuda"}, 2, 1),
        ({"lanes": 512, "workers": 1}, 2, 1),
        ({"lanes": 2, "workers": 2}, 1, 2),
    ],
)
def test_there_are_as_many_workers_as_pay(learning: dict[str, Any], threads: int, expected: int) -> None:
    config = RunConfig(learning=replace(LearningConfig(workers=0), **learning))
    assert settled(config, threads).learning.workers == expected


def test_a_runs_config_says_how_many_there_were(tmp_path: Path) -> None:
    start(team(workers=0), tmp_path / "run")
    assert RunConfig.from_json(RunFolder(tmp_path / "run").config.read_text()).learning.workers == 1


@pytest.mark.parametrize(
    ("learning", "complaint"),
    [
        ({"workers": 3}, "lanes is 32; 3 workers cannot share that"),
        ({"workers": 64}, "lanes is 32; 64 workers cannot share that"),
        ({"batch": 11}, "batch is 11; 2 workers cannot share that"),
        ({"device": "cuda"}, "workers are for cpu"),
    ],
)
def test_what_cannot_be_shared_is_named(tmp_path: Path, learning: dict[str, Any], complaint: str) -> None:
    if learning.get("device") == "cuda" and not torch.cuda.is_available():
        complaint = "device is 'cuda'"
    with pytest.raises(ValueError, match=complaint):
        start(team(**learning), tmp_path / "run")
