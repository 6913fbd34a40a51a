"""Kill -9 at any moment, with every controller: the run goes on and is the same run, bit for bit."""

import multiprocessing
import random
import signal
from dataclasses import replace
from pathlib import Path

import small_run
import torch
from chaos_cases import CHAOS, typed
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.agent.controllers import CONTROLLERS
from gnomon.learn.loop import Limits, start
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint

ROUNDS = 12
KILLS = 6
LONGEST_LIFE = 2.0  # seconds; enough for some rounds
SLOW_TO_IMPORT = ["gnomon.learn.loop", "torch._dynamo", "torch.utils.tensorboard"]


def test_a_killed_run_is_the_same_run(tmp_path: Path) -> None:
    """Another controller each turn, first a GRU: the tests of the loop kill an LSTM."""
    controller = sorted(CONTROLLERS)[(CHAOS.turn + 2) % len(CONTROLLERS)]
    config = replace(CONFIG, agent=replace(CONFIG.agent, controller=controller, units=32))
    whole, killed = (start(config, tmp_path / name) for name in ("whole", "killed"))
    whole.run(Limits(frames=ROUNDS * FRAMES_PER_ROUND))
    chance = random.Random(CHAOS.turn)
    for _ in range(KILLS):
        assert live(killed.folder.path, chance.uniform(0, LONGEST_LIFE)) in (0, -signal.SIGKILL)
    assert live(killed.folder.path, None) == 0
    assert_same(killed.folder, whole.folder)
    code, out, _ = typed("check", str(killed.folder.path))
    assert code == 0, out


def live(run: Path, seconds: float | None) -> int | None:
    """Train in a process of its own and kill it after a while, unless it has finished; returns its exit code."""
    processes = multiprocessing.get_context("forkserver")  # a new Python would take seconds to start
    processes.set_forkserver_preload(SLOW_TO_IMPORT)
    process = processes.Process(target=small_run.main, args=(run, ROUNDS))
    process.start()
    process.join(seconds)
    process.kill()
    process.join()
    code = process.exitcode
    process.close()
    CHAOS.counts["kill -9"] += code == -signal.SIGKILL
    return code


def assert_same(run: RunFolder, expected: RunFolder) -> None:
    mine, theirs = (newest_checkpoint(folder.checkpoints)[0] for folder in (run, expected))
    assert mine.tensors.keys() == theirs.tensors.keys()
    assert all(torch.equal(mine.tensors[name], tensor) for name, tensor in theirs.tensors.items())
    assert {**mine.counters, "minutes": 0} == {**theirs.counters, "minutes": 0}
    assert run.read_trials().equals(expected.read_trials())
    assert run.read_metrics().drop("minutes").equals(expected.read_metrics().drop("minutes"))
