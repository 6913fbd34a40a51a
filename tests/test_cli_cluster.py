"""`gnomon train --cluster` and `gnomon sweep --cluster` as a user types them."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from commands_typed import FRAMES, SMALL, Captured, complaint
from small_experiment import write_experiment
from small_run import FRAMES_PER_ROUND

from gnomon.cluster import start
from gnomon.cluster.start import HOW_TO_INSTALL
from gnomon.records.runs import RunFolder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return tmp_path


@pytest.mark.parametrize("command", [("train", "--cluster"), ("sweep", "try.toml", "--cluster")])
def test_without_ray_it_is_said_how_to_get_it(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    write_experiment(here / "try.toml", 2, {"name": "x"})
    assert complaint(capsys, *command) == f"gnomon: {HOW_TO_INSTALL}\n"
    assert 'pip install "gnomon[cluster]"' in HOW_TO_INSTALL
    assert not (here / "runs").exists()


def test_nothing_imports_ray_unless_a_cluster_is_asked_for() -> None:
    code = """
import importlib, pkgutil, sys
import gnomon
for module in pkgutil.walk_packages(gnomon.__path__, "gnomon."):
    if not module.name.endswith(("__main__", "gym.sb3")):  # the latter needs an extra of its own
        importlib.import_module(module.name)
from gnomon.cli import main
main(["--help"])
assert "gnomon.cluster.pools" in sys.modules
print([name for name in sys.modules if name.split(".")[0] == "ray"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_mistakes_are_said_before_ray_is_started(capsys: Captured, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise AssertionError

    monkeypatch.setattr(start, "import_ray", never)
    for option in ("--pools", "--pool-cpus", "--ahead"):
        assert f"{option} is for runs on a cluster; give --cluster, too" in complaint(capsys, "train", option, "3")
    assert "--cluster takes one address, got a b" in complaint(capsys, "train", "--cluster", "a", "b")
    write_experiment(here / "try.toml", 2, {"name": "x"})
    assert "--cluster takes one address" in complaint(capsys, "sweep", "try.toml", "--cluster", "a", "b")


def test_an_address_where_nobody_is_is_said_at_once(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "import_ray", lambda: None)  # it would wait for minutes
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{free.getsockname()[1]}"
        said = complaint(capsys, "train", "--cluster", address)
        assert said.startswith(f"gnomon: no Ray cluster can be joined at {address} (")
        assert said.endswith("start one with: ray start --head\n")
        monkeypatch.setenv("RAY_ADDRESS", address)
        assert complaint(capsys, "train", "--cluster") == said
    assert "no Ray cluster can be joined at here:now" in complaint(capsys, "train", "--cluster", "here:now")


def test_a_run_and_a_sweep_on_a_real_ray(capsys: Captured, here: Path) -> None:
    """In processes of their own, as a user's are: Ray is started and stopped with each."""
    pytest.importorskip("ray", reason='Ray is not installed: pip install "gnomon[cluster]"')

    def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "gnomon", *arguments], capture_output=True, text=True)

    done = typed("train", "--name", "mine", "--cluster", "--pools", "1", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "1 pools of 1 CPU, 1 unrolls ahead" in done.stdout
    assert "2 used unrolls, 0 lost unrolls, 0 refused unrolls, 0 replaced pools" in done.stdout
    run = RunFolder(here / "runs" / "mine")
    assert (run.read_status()["state"], run.read_status()["frames"]) == ("finished", FRAMES)
    assert json.loads((run.path / "cluster.json").read_text())["pools"] == 1

    write_experiment(here / "try.toml", 2, {"name": "x", "seeds": [0, 1]})
    done = typed("sweep", "try.toml", "--cluster")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 finished" in done.stdout
    for seed in (0, 1):
        assert RunFolder(here / "runs" / "try" / f"x-{seed}").read_status()["frames"] == 2 * FRAMES_PER_ROUND
