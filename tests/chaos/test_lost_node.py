"""Machines of a real Ray are lost while a run goes on, as `kill -9` and power cuts lose them: the run is saved.

Only `make chaos` does it, once: Ray takes most of a minute, and on a busy machine loses nodes by itself.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from chaos_cases import CHAOS
from commands_typed import Captured
from small_experiment import write_experiment
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.cli import main
from gnomon.cluster import pools
from gnomon.commands.sweep import Lines
from gnomon.commands.training_view import LinePrinter
from gnomon.learn.loop import start
from gnomon.records.runs import RunFolder
from gnomon.sweep.sweeper import Job

SECONDS = 240.0  # for trainings to notice that nobody wants them any more, and to save themselves
STORE = 100 * 2**20  # bytes; Ray's least is 75 MB
ATTEMPTS = 4  # to start a node: Ray gives it 30 s, which may be too few on a busy machine


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """One machine of two that are none: it has the head and the learner, and no room for pools."""
    if not CHAOS.minutes or CHAOS.turn:
        pytest.skip("a matter for make chaos, and its first turn")
    pytest.importorskip("ray", reason='Ray is not installed: pip install "gnomon[cluster]"')
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    kind = import_module("ray.cluster_utils").Cluster
    head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    try:
        machines = started(lambda: kind(initialize_head=True, head_node_args=head))
    except Exception as error:
        pytest.skip(f"Ray does not start here: {error}")
    try:
        yield machines
    finally:
        machines.shutdown()


def started(start: Callable[[], Any]) -> Any:
    """What `start` gives, if need be after several attempts."""
    for _ in range(ATTEMPTS - 1):
        with suppress(Exception):
            return start()
    return start()


def add_machine(cluster: Any) -> Any:
    """A node for two pools or trainings."""
    return started(lambda: cluster.add_node(num_cpus=2, object_store_memory=STORE))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_run_survives_the_loss_of_its_machines(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    run = RunFolder(tmp_path / "run")
    start(CONFIG, run.path)
    lose: list[Any] = []

    def lose_it(printer: LinePrinter, row: dict[str, Any]) -> None:
        if lose:
            lose.pop()()

    monkeypatch.setattr(LinePrinter, "__call__", lose_it)

    def typed(*words: str) -> tuple[int, str, int]:
        code = main(("train", "--resume", str(run.path), "--threads", "1", *words))
        return code, capsys.readouterr().err, run.read_status()["frames"]

    # The machine of the pools, while there is no other to replace them.
    second = add_machine(cluster)

    def lose_second() -> None:
        cluster.remove_node(second, allow_graceful=False)
        monkeypatch.setattr(pools, "PATIENCE", 3.0)  # seconds

    lose.append(lose_second)
    code, said, first_frames = typed("--cluster", cluster.address, "--pools", "2")
    assert (code, run.read_status()["state"]) == (2, "stopped")
    assert f"saved at {first_frames:,} frames. Go on here with: gnomon train --resume {run.path}, or on a cl" in said

    # The learner's own part of Ray: Ray ends the process that uses it.
    monkeypatch.setattr(pools, "PATIENCE", 120.0)
    add_machine(cluster)
    lose.append(cluster.head_node.kill_raylet)
    code, said, frames = typed("--cluster", cluster.address, "--pools", "2")
    assert (code, run.read_status()["state"]) == (2, "stopped")
    assert "the cluster is lost: Ray has ended on this machine" in said
    assert (
        f"saved at {frames:,} frames. Go on here with: gnomon train --resume {run.path}, or on a cluster with" in said
    )
    assert frames > first_frames > 0
    CHAOS.counts["lost nodes of Ray"] += 2

    code, said, done = typed("--frames", f"{frames + 2 * FRAMES_PER_ROUND}")
    assert (code, said, done) == (0, "", frames + 2 * FRAMES_PER_ROUND)
    assert main(("check", str(run.path))) == 0


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_sweep_survives_the_loss_of_its_own_machine(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    add_machine(cluster)
    experiment = write_experiment(tmp_path / "try.toml", 1_000_000, {"name": "x", "seeds": [0, 1]})
    lost: list[bool] = []

    def lose_it(lines: Lines, jobs: list[Job]) -> None:
        if not lost and all(job.progress().get("frames") for job in jobs):
            lost.append(True)
            cluster.head_node.kill_raylet()

    monkeypatch.setattr(Lines, "__call__", lose_it)
    runs = tmp_path / "runs"
    assert main(("sweep", str(experiment), "--runs", str(runs), "--cluster", cluster.address)) == 2
    said = capsys.readouterr().err
    assert said.startswith("gnomon: the cluster is lost: Ray has ended on this machine")
    assert said.endswith("Go on with the same command, here without --cluster\n")

    for run in (RunFolder(runs / f"x-{seed}") for seed in (0, 1)):
        deadline = time.monotonic() + SECONDS
        while run.read_status()["state"] == "running" and time.monotonic() < deadline:
            time.sleep(1.0)
        status = run.read_status()
        assert status["state"] == "stopped"
        more = f"{status['frames'] + 2 * FRAMES_PER_ROUND}"
        assert status["frames"] > 0
        assert main(("train", "--resume", str(run.path), "--threads", "1", "--frames", more)) == 0
        assert main(("check", str(run.path))) == 0
    CHAOS.counts["lost nodes of Ray"] += 1
