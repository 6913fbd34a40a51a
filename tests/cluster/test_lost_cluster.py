"""A cluster that is lost: the run is saved, says so, and goes on elsewhere."""

from pathlib import Path
from typing import Any

import pytest
from fake_ray import FakeRay, RayError, on_pools
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.cluster import pools
from gnomon.cluster.pools import ClusterError
from gnomon.learn.loop import Limits, resume, start


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
