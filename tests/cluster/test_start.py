"""Before a cluster run starts: what fits on the machines, and what does not is said."""

from dataclasses import replace
from pathlib import Path

import pytest
from fake_ray import PLENTY, FakeRay, on_pools
from small_run import CONFIG

from gnomon.cluster.start import Plan, Resources, check_store, make_plan
from gnomon.cluster.sweep import jobs_on
from gnomon.learn.loop import start

# The starting check.


def test_by_default_all_room_but_one_is_taken() -> None:
    assert make_plan(Resources((4.0, 4.0), 8.0, 1e9), None, 1, 1) == Plan(7, 1, 1)
    assert make_plan(Resources((4.0, 4.0), 8.0, 1e9), None, 3, 1) == Plan(1, 3, 1)  # one on each machine, less one
    assert make_plan(Resources((1.0,), 1.0, 1e9), None, 1, 0) == Plan(1, 1, 0)


@pytest.mark.parametrize(
    ("resources", "pools", "cpus", "said"),
    [
        (Resources((4.0, 4.0), 5.0, 1e9), 6, 1, "6 pools of 1 CPU .*5 of 8 CPUs free on 2 machines: give --pools 5,"),
        (Resources((4.0, 4.0), 8.0, 1e9), 3, 3, "3 pools of 3 CPUs.*give --pools 2,"),
        (Resources((4.0,), 4.0, 1e9), None, 8, "1 pools of 8 CPUs.*give fewer --pool-cpus"),
        (PLENTY, 0, 1, "--pools is 0; it must be at least 1"),
        (PLENTY, 1, 0, "--pool-cpus is 0; it must be at least 1"),
    ],
)  # fmt: skip
def test_more_than_there_is_is_said_before_anything_starts(
    resources: Resources, pools: int | None, cpus: int, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make_plan(resources, pools, cpus, 1)


def test_an_object_store_that_is_too_small_is_said(fake: FakeRay, tmp_path: Path) -> None:
    check_store(Resources((4.0,), 4.0, 1e6), Plan(2, 1, 2), unroll_bytes=100_000, weights_bytes=80_000)  # just 0.8 MB
    with pytest.raises(ValueError, match=r"4 unrolls of 0.1 MB .*0.1 MB\) may be about, 1 MB.*object-store-memory"):
        check_store(Resources((4.0,), 4.0, 1e6 - 10), Plan(2, 1, 2), unroll_bytes=100_000, weights_bytes=80_000)
    with pytest.raises(ValueError, match="object-store-memory"):
        start(CONFIG, tmp_path / "run", on_pools(2, 1, replace(PLENTY, store=1000.0)))
    assert not (tmp_path / "run").exists()


def test_trainings_of_a_sweep_that_fit() -> None:
    resources = Resources((4.0, 2.0), 6.0, 1e9)
    assert [jobs_on(resources, None, 2), jobs_on(resources, 2, 2)] == [3, 2]
    with pytest.raises(ValueError, match=r"4 trainings at a time with 2 CPUs each .*give --jobs 3"):
        jobs_on(resources, 4, 2)
    with pytest.raises(ValueError, match="threads per job is 0"):
        jobs_on(resources, None, 0)
