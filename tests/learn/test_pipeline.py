"""A pipelined run learns from unrolls acted with the weights of one round before, and is as reproducible as any."""

import multiprocessing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import CONFIG, FRAMES_PER_ROUND, PIPELINED
from torch import Tensor

from gnomon.config import LearningConfig, RunConfig
from gnomon.learn.aids import AIDS, Aids
from gnomon.learn.build import build_actor, stream
from gnomon.learn.learner import Learner
from gnomon.learn.loop import Limits, Trainer, resume, start
from gnomon.learn.pipeline import source
from gnomon.learn.pipeline.lanes import Far, Lanes
from gnomon.learn.pipeline.source import settled
from gnomon.learn.schedule import Progress
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint


class Near(Far):
    """The lanes without a process of their own: they do what they are told when an answer is wanted."""

    def __init__(self, config: RunConfig) -> None:
        self.lanes, self.told = Lanes(config, torch.get_num_threads()), []

    def tell(self, method: str, *arguments: Any) -> None:
        if method == "follow":  # pickled at once in the real one
            weights, *rest = arguments
            arguments = ({name: array.copy() for name, array in weights.items()}, *rest)
        self.told.append((method, arguments))

    def answer(self) -> Any:
        while True:
            method, arguments = self.told.pop(0)
            if (answer := getattr(self.lanes, method)(*arguments)) is not None:
                return answer


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "Far", Near)


def piped(**learning: Any) -> RunConfig:
    return replace(CONFIG, learning=replace(CONFIG.learning, **{"pipeline": "on"} | learning))


def literal_run(config: RunConfig, rounds: int) -> dict[str, Tensor]:
    """The weights after some unrolls: the learner's are noted, and those of two unrolls ago are loaded to act with."""
    actor, own = build_actor(config), build_actor(config)
    learner = Learner(
        own.agent, own.cache, config.learning, torch.Generator().manual_seed(stream(config.seed, "batches"))
    )
    progress = Progress(total=config.learning.schedule.frames)
    weights = [{name: tensor.clone() for name, tensor in own.agent.state_dict().items()}]
    for number in range(rounds):
        actor.agent.load_state_dict(weights[max(0, number - 1)])
        unroll = actor.unroll()
        learner.learn(unroll, progress)
        progress.frames += unroll.frames
        weights.append({name: tensor.clone() for name, tensor in own.agent.state_dict().items()})
    return weights[-1]


@pytest.mark.parametrize("controller", ["lstm", "feedforward"])
@pytest.mark.usefixtures("near")
def test_an_unroll_is_acted_with_the_weights_from_before_the_learner_began(tmp_path: Path, controller: str) -> None:
    config = replace(piped(batch=16), agent=replace(CONFIG.agent, controller=controller))
    trainer = start(config, tmp_path / "run")
    lags = [trainer.round()["lag"] for _ in range(5)]
    assert lags == [0, 2, 2, 2, 2]  # updates: two a round
    for name, tensor in literal_run(config, 5).items():
        torch.testing.assert_close(trainer.agent.state_dict()[name], tensor, msg=name)


def assert_same_checkpoint(run: Trainer, expected: Trainer) -> None:
    """Every tensor, every counter, every metric but the time it took, and every trial."""
    mine, theirs = (newest_checkpoint(trainer.folder.checkpoints)[0] for trainer in (run, expected))
    assert mine.tensors.keys() == theirs.tensors.keys()
    assert [name for name in mine.tensors if not torch.equal(mine.tensors[name], theirs.tensors[name])] == []
    assert mine.counters | {"minutes": 0} == theirs.counters | {"minutes": 0}
    if (expected.folder.path / "metrics.jsonl").stat().st_size:
        metrics = [trainer.folder.read_metrics().drop("minutes") for trainer in (run, expected)]
        assert metrics[0].equals(metrics[1])
    assert len(expected.folder.read_trials()) > 10
    assert run.folder.read_trials().equals(expected.folder.read_trials())


@pytest.mark.parametrize(
    "learning",
    [
        {},
        {"batch": 80},
        {"optimiser": PIPELINED.learning.optimiser},
        {"aids": Aids(use=tuple(AIDS))},
    ],
    ids=["plain", "waiting", "sampled", "all_aids"],
)
@pytest.mark.usefixtures("near")
def test_a_run_that_is_saved_and_resumed_is_the_same_run(tmp_path: Path, learning: dict[str, Any]) -> None:
    whole = start(piped(**learning), tmp_path / "whole")
    whole.run(Limits(frames=16 * FRAMES_PER_ROUND))
    parts = start(piped(**learning), tmp_path / "parts")
    parts.run(Limits(frames=4 * FRAMES_PER_ROUND), checkpoint_minutes=0.0)
    for rounds in (9, 16):
        parts, complaints = resume(tmp_path / "parts")
        assert complaints == []
        parts.run(Limits(frames=rounds * FRAMES_PER_ROUND))
    assert_same_checkpoint(parts, whole)


def test_a_second_process_does_what_one_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = start(PIPELINED, tmp_path / "far")
    far.run(Limits(frames=12 * FRAMES_PER_ROUND))
    assert [process.name for process in multiprocessing.active_children()] == ["gnomon lanes"]
    monkeypatch.setattr(source, "Far", Near)
    near = start(PIPELINED, tmp_path / "near")
    near.run(Limits(frames=12 * FRAMES_PER_ROUND))
    assert_same_checkpoint(far, near)
    (child,) = multiprocessing.active_children()
    child.kill()
    child.join()
    with pytest.raises(ValueError, match="the process that acts has ended"):
        far.run(Limits(frames=14 * FRAMES_PER_ROUND))


@pytest.mark.parametrize(
    ("learning", "threads", "expected"),
    [
        ({"lanes": 100, "unroll": 100}, 2, "on"),
        ({"lanes": 100, "unroll": 99}, 2, "off"),  # too little to do
        ({"lanes": 512}, 1, "off"),
        ({"lanes": 512, "device": "cuda"}, 2, "off"),
        ({"lanes": 512, "pipeline": "off"}, 2, "off"),
        ({"lanes": 1, "pipeline": "on"}, 1, "on"),
    ],
)
def test_auto_is_on_where_it_pays(learning: dict[str, Any], threads: int, expected: str) -> None:
    config = RunConfig(learning=replace(LearningConfig(pipeline="auto"), **learning))
    assert settled(config, threads).learning.pipeline == expected


def test_a_runs_config_says_what_auto_was(tmp_path: Path) -> None:
    start(piped(pipeline="auto"), tmp_path / "run")
    assert RunConfig.from_json(RunFolder(tmp_path / "run").config.read_text()).learning.pipeline == "off"


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match="pipeline is 'yes'; choose off, on, auto"):
        LearningConfig(pipeline="yes")
