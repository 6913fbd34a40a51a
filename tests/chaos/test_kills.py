"""Kill -9 at any moment, with every controller: the run goes on and is the same run, bit for bit."""

import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import small_run
import torch
from chaos_cases import COUNTS, MORE, typed
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.agent.controllers import CONTROLLERS
from gnomon.learn.loop import Limits, start
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint

ROUNDS = 12
CHOSEN = sorted(CONTROLLERS) if MORE > 1 else ["gru"]  # a process takes seconds to start; tests/learn kills an LSTM


@pytest.mark.parametrize("controller", CHOSEN)
def test_a_killed_run_is_the_same_run(tmp_path: Path, controller: str) -> None:
    config = replace(CONFIG, agent=replace(CONFIG.agent, controller=controller, units=32))
    whole, killed = (start(config, tmp_path / name) for name in ("whole", "killed"))
    whole.run(Limits(frames=ROUNDS * FRAMES_PER_ROUND))
    chance = random.Random(controller)
    command = [sys.executable, small_run.__file__, str(killed.folder.path), str(ROUNDS)]
    for _ in range(min(MORE, 10)):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("at ")
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.stdout.close()
        COUNTS["kills"] += process.wait() == -signal.SIGKILL
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert_same(killed.folder, whole.folder)
    code, out, _ = typed("check", str(killed.folder.path))
    assert code == 0, out


def assert_same(run: RunFolder, expected: RunFolder) -> None:
    mine, theirs = (newest_checkpoint(folder.checkpoints)[0] for folder in (run, expected))
    assert mine.tensors.keys() == theirs.tensors.keys()
    assert all(torch.equal(mine.tensors[name], tensor) for name, tensor in theirs.tensors.items())
    assert {**mine.counters, "minutes": 0} == {**theirs.counters, "minutes": 0}
    assert run.read_trials().equals(expected.read_trials())
    assert run.read_metrics().drop("minutes").equals(expected.read_metrics().drop("minutes"))
