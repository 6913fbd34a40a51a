"""A run survives what is done to it, and goes on as if nothing had happened, bit for bit."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_run
import torch
from small_run import CONFIG, FRAMES_PER_ROUND, KINDS, SAMPLED, WAITING, changed, limit

from gnomon.config import RunConfig
from gnomon.learn.learner import NotFiniteError
from gnomon.learn.loop import Limits, resume, start
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint, numbered, unnest, write_checkpoint

ROUNDS = 22
EVERY_ROUND = 0.0  # minutes between checkpoints: one after each round


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The small run, done in one go."""
    trainer = start(CONFIG, tmp_path_factory.mktemp("uninterrupted") / "run")
    assert trainer.run(limit(ROUNDS)) == "frames"
    return trainer.folder


def assert_same_run(run: RunFolder, expected: RunFolder) -> None:
    """Every tensor and counter of the last checkpoint, every trial, and every metric but the time it took."""
    (mine, complaints), (theirs, _) = (newest_checkpoint(folder.checkpoints) for folder in (run, expected))
    assert complaints == []
    assert mine.tensors.keys() == theirs.tensors.keys()
    different = [name for name in mine.tensors if not torch.equal(mine.tensors[name], theirs.tensors[name])]
    assert different == []
    assert {**mine.counters, "minutes": 0} == {**theirs.counters, "minutes": 0}
    assert len(expected.read_trials()) > 10
    assert run.read_trials().equals(expected.read_trials())
    if (expected.path / "metrics.jsonl").stat().st_size:
        assert run.read_metrics().drop("minutes").equals(expected.read_metrics().drop("minutes"))


# Kill -9.


def start_process(folder: Path, kind: str) -> subprocess.Popen[str]:
    command = [sys.executable, small_run.__file__, str(folder), str(ROUNDS), kind]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kill_after(process: subprocess.Popen[str], rounds: int, seconds: float) -> int:
    """Let a process do some rounds and some seconds more, then kill it; returns the round it began at."""
    assert process.stdout is not None
    began = int(process.stdout.readline().removeprefix("at "))
    for _ in range(rounds):
        assert process.stdout.readline().startswith("done ")
    time.sleep(seconds)
    process.kill()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    return began


@pytest.mark.parametrize(("kind", "kills"), [("plain", 5), ("sampled", 3), ("team", 3)])
def test_a_run_that_is_killed_again_and_again_is_the_same_run(tmp_path: Path, kind: str, kills: int) -> None:
    uninterrupted = start(KINDS[kind], tmp_path / "uninterrupted")
    uninterrupted.run(limit(ROUNDS))
    chance = random.Random(17)
    folder = RunFolder(tmp_path / "run")
    begun = []
    for kill in range(kills):
        rounds = 0 if kill == 0 else chance.randint(1, 3)  # the first has no checkpoint yet, or hardly one
        begun.append(kill_after(start_process(folder.path, kind), rounds, chance.uniform(0, 0.08)))
        assert folder.read_status()["state"] in ("interrupted", "unknown")  # the latter: before it had said anything
    assert begun == sorted(begun)
    assert len(set(begun)) > kills // 2  # it got on from kill to kill
    last = start_process(folder.path, kind)
    output, _ = last.communicate(timeout=300)
    assert last.returncode == 0
    assert int(output.split()[1]) < ROUNDS, "all was done before the last process began"
    assert folder.read_status()["state"] == "finished"
    assert_same_run(folder, uninterrupted.folder)


EVERY_THIRD = changed(optimiser=replace(CONFIG.learning.optimiser, vision_every=3))  # rounds of several unrolls
FEEDFORWARD = replace(CONFIG, agent=replace(CONFIG.agent, controller="feedforward"))
VALUE_NETWORK = replace(CONFIG, agent=replace(CONFIG.agent, value_units=12))
FIRST_WEIGHTS = replace(CONFIG, agent=replace(CONFIG.agent, chrono_span=9.0, whitening=0.05))


@pytest.mark.parametrize(
    "config",
    [WAITING, EVERY_THIRD, SAMPLED, FEEDFORWARD, VALUE_NETWORK, FIRST_WEIGHTS],
    ids=["waiting", "every_third", "sampled", "feedforward", "value_network", "first_weights"],
)
def test_a_run_in_three_parts_is_the_same_run(tmp_path: Path, config: RunConfig) -> None:
    whole, parts = (start(config, tmp_path / name) for name in ("whole", "parts"))
    whole.run(limit(13))
    parts.run(limit(4))
    for rounds in (7, 13):  # both amid the two rounds of a line of metrics
        trainer, complaints = resume(tmp_path / "parts")
        assert complaints == []
        assert trainer.run(limit(rounds)) == "frames"
    assert_same_run(parts.folder, whole.folder)


def test_a_damaged_checkpoint_is_passed_over_and_the_run_is_the_same(tmp_path: Path, uninterrupted: RunFolder) -> None:
    folder = start(CONFIG, tmp_path / "run").folder
    resume(folder.path)[0].run(limit(12), checkpoint_minutes=EVERY_ROUND)
    newest, second, _ = numbered(folder.checkpoints)
    for damaged in (newest, second):
        tensors = damaged / "state.safetensors"
        tensors.write_bytes(tensors.read_bytes()[:-100])
    trainer, complaints = resume(folder.path)
    assert [str(path) in line for path, line in zip((newest, second), complaints, strict=True)] == [
        True,
        True,
    ]
    assert trainer.rounds == 11  # the run's end was saved twice: after its last round, and as its end
    trainer.run(limit(ROUNDS))
    assert_same_run(folder, uninterrupted)


def at_round(number: int, action: Callable[[], None]) -> Callable[[dict[str, Any]], None]:
    """A report that acts once, at the end of a round."""

    def report(row: dict[str, Any]) -> None:
        if row["round"] == number:
            action()

    return report


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_interrupt_ends_the_round_and_saves(
    tmp_path: Path, uninterrupted: RunFolder, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    trainer = start(CONFIG, tmp_path / "run")
    assert trainer.run(limit(ROUNDS), at_round(7, lambda: signal.raise_signal(number))) == "interrupted"
    assert signal.getsignal(number) is before
    assert trainer.folder.read_status() | {"state": "stopped", "reason": "interrupted"} == trainer.folder.read_status()
    again, _ = resume(tmp_path / "run")
    assert again.rounds == 7
    again.run(limit(ROUNDS))
    assert_same_run(again.folder, uninterrupted)


def test_two_interrupts_stop_at_once(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)

    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    trainer = start(CONFIG, tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        trainer.run(limit(ROUNDS), at_round(3, twice), EVERY_ROUND)
    assert signal.getsignal(signal.SIGINT) is before
    assert resume(tmp_path / "run")[0].rounds == 2  # round 3 was not saved any more


def test_numbers_that_are_not_finite_fail_the_run_and_leave_the_last_good_checkpoint(tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run")
    act = trainer.actor.unroll

    def spoil() -> None:
        def unroll() -> Any:
            good = act()
            return replace(good, reward=good.reward + torch.nan)

        trainer.actor.unroll = unroll

    with pytest.raises(NotFiniteError, match="nan after"):
        trainer.run(limit(ROUNDS), at_round(4, spoil), EVERY_ROUND)
    assert trainer.folder.read_status()["state"] == "failed"
    checkpoint, complaints = newest_checkpoint(trainer.folder.checkpoints)
    assert (checkpoint.counters["rounds"], complaints) == (4, [])
    assert all(tensor.isfinite().all() for tensor in unnest("agent", checkpoint.tensors).values())


def test_two_processes_cannot_write_to_one_run(tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(Limits(frames=FRAMES_PER_ROUND))
    with trainer.folder.locked(), pytest.raises(ValueError, match="is being trained by another process"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run")[0].frames == trainer.frames


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "JSON object"),
        ("{", "config.json: "),
        ('{"format": 6, "laerning": {}}', "RunConfig has no setting laerning"),
        ('{"format": 6, "learning": {"lanes": "many"}}', "lanes is 'many'; it must be a whole number"),
        ('{"format": 6, "learning": {"lane": 3}}', "has no setting lane"),
    ],
)
def test_a_damaged_config_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        resume(tmp_path)
    assert "config.json" in str(error.value)


def test_a_checkpoint_of_another_version_is_named(tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(limit(1))
    checkpoint, _ = newest_checkpoint(trainer.folder.checkpoints)
    tensors = {name: tensor for name, tensor in checkpoint.tensors.items() if name != "learner.updates"}
    write_checkpoint(trainer.folder.checkpoints, replace(checkpoint, number=9, tensors=tensors))
    with pytest.raises(ValueError, match="lacks 'updates'; go on with the version of gnomon that wrote it"):
        resume(tmp_path / "run")


def test_moments_of_other_parameters_are_refused(tmp_path: Path) -> None:
    """An earlier version numbered the optimiser's parameters in another order."""
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(limit(2))
    checkpoint, _ = newest_checkpoint(trainer.folder.checkpoints)
    numbers = sorted({int(name.split(".")[2]) for name in checkpoint.tensors if name.startswith("learner.optimiser.")})
    first, last = (f"learner.optimiser.{number}.exp_avg" for number in (numbers[0], numbers[-1]))
    tensors = checkpoint.tensors | {first: checkpoint.tensors[last], last: checkpoint.tensors[first]}
    write_checkpoint(trainer.folder.checkpoints, replace(checkpoint, number=checkpoint.number + 1, tensors=tensors))
    with pytest.raises(
        ValueError, match=r"exp_avg of parameter \d+ is .*; go on with the version of gnomon that wrote"
    ):
        resume(tmp_path / "run")
