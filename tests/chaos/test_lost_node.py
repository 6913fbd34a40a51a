"""Machines of a real Ray are lost while a run goes on, as `kill -9` and power cuts lose them: the run is saved.

Only `make chaos` does it, once: Ray takes most of a minute, and on a busy machine loses nodes by itself.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from chaos_cases import CHAOS
from commands_typed import Captured
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.cli import main
from gnomon.cluster import pools
from gnomon.commands.training_view import LinePrinter
from gnomon.learn.loop import start
from gnomon.records.runs import RunFolder

STORE = 100 * 2**20  # bytes; Ray's least is 75 MB


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """One machine of two that are none: it has the head and the learner, and no room for pools."""
    if not CHAOS.minutes or CHAOS.turn:
        pytest.skip("a matter for make chaos, and its first turn")
    pytest.importorskip("ray", reason='Ray is not installed: pip install "gnomon[cluster]"')
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    try:
        machines = import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args=head)
    except Exception as error:
        pytest.skip(f"Ray does not start here: {error}")
    try:
        yield machines
    finally:
        machines.shutdown()


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
    second = cluster.add_node(num_cpus=2, object_store_memory=STORE)

    def lose_second() -> None:
        cluster.remove_node(second, allow_graceful=False)
        monkeypatch.setattr(pools, "PATIENCE", 3.0)  # seconds

    lose.append(lose_second)
    code, said, first_frames = typed("--cluster", cluster.address, "--pools", "2")
    assert (code, run.read_status()["state"]) == (2, "stopped")
    assert f"saved at {first_frames:,} frames. Go on here with: gnomon train --resume {run.path}, or on a cl" in said

    # The learner's own part of Ray: Ray ends the process that uses it.
    monkeypatch.setattr(pools, "PATIENCE", 120.0)
    cluster.add_node(num_cpus=2, object_store_memory=STORE)
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
