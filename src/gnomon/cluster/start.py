"""Joining a Ray cluster, and checking what is asked of it before anything starts.

Ray is imported here and in no other place, and only when a cluster is asked for.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

LOCAL_STORE = 256 * 2**20  # bytes of shared memory for a Ray that is started on this machine alone
KNOCK_SECONDS = 5.0
STORE_SHARE = 0.8  # of the object store that a run may fill
HOW_TO_INSTALL = 'clusters need Ray, which is not installed here; install it with: pip install "gnomon[cluster]"'


@dataclass(frozen=True)
class Resources:
    """What a cluster has."""

    cpus: tuple[float, ...]
    """CPUs of each machine."""
    free: float
    """CPUs that nobody has reserved, of all machines together."""
    store: float
    """Bytes of the object store on this machine."""

    def room(self, cpus: int) -> int:
        """How many processes of that many CPUs each fit in now."""
        return int(min(sum(each // cpus for each in self.cpus), self.free // cpus))

    def __str__(self) -> str:
        machines = f"{len(self.cpus)} machine{'s' if len(self.cpus) != 1 else ''}"
        return f"{self.free:g} of {sum(self.cpus):g} CPUs free on {machines}"


@dataclass(frozen=True)
class Plan:
    """What a cluster run asks for. The config of the run says how many lanes a pool has."""

    pools: int
    cpus: int = 1
    """Of each pool; as many threads."""
    ahead: int = 1
    """Unrolls that a pool may be ahead of the learner: under way, or waiting for it. 0: it acts when asked."""

    def __post_init__(self) -> None:
        for name, least in (("pools", 1), ("cpus", 1), ("ahead", 0)):
            if getattr(self, name) < least:
                option = "pool-cpus" if name == "cpus" else name
                raise ValueError(f"--{option} is {getattr(self, name)}; it must be at least {least}")


def make_plan(resources: Resources, pools: int | None, cpus: int, ahead: int) -> Plan:
    """A plan that the cluster has room for; by default all of it, but for one place that is left to the learner."""
    plan = Plan(1 if pools is None else pools, cpus, ahead)
    room = resources.room(cpus)
    if pools is None and room:
        return Plan(max(1, room - 1), cpus, ahead)
    if plan.pools > room:
        fewer = f"give --pools {room}" if room else "give fewer --pool-cpus, wait for other jobs to end"
        raise ValueError(
            f"{plan.pools} pools of {cpus} CPU{'s' if cpus > 1 else ''} were asked for, but the cluster has "
            f"{resources}: {fewer}, or add machines (ray start --address=...)"
        )
    return plan


def check_store(resources: Resources, plan: Plan, unroll_bytes: int, weights_bytes: int) -> None:
    """ValueError unless the object store holds every unroll and every version of the weights that may be about."""
    about = plan.pools * max(1, plan.ahead)
    needed = about * unroll_bytes + (about + 1) * weights_bytes
    if needed > STORE_SHARE * resources.store:
        raise ValueError(
            f"up to {about} unrolls of {unroll_bytes / 1e6:.1f} MB and as many versions of the weights "
            f"({weights_bytes / 1e6:.1f} MB) may be about, {needed / 1e6:.0f} MB in all; Ray's object store here has "
            f"{resources.store / 1e6:.0f} MB: start Ray with a larger --object-store-memory, or give fewer --pools, "
            "--ahead or --learning.lanes"
        )


def import_ray() -> Any:
    """Ray; if it is missing, a ValueError that says how to get it."""
    try:
        return import_module("ray")
    except ModuleNotFoundError:
        raise ValueError(HOW_TO_INSTALL) from None


@contextmanager
def joined(address: str | None, cpus: int) -> Iterator[Resources]:
    """Be part of the cluster at this address (host:port, or auto for the one on this machine).

    None: the cluster that RAY_ADDRESS names, or else a Ray of our own on this machine with that many CPUs, which ends
    with us. All that was started on the cluster meanwhile ends, too.
    """
    address, ray = check_address(address), import_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"logging_level": "error", "log_to_driver": False}
    try:
        if address is None:
            ray.init("local", num_cpus=cpus, object_store_memory=LOCAL_STORE, include_dashboard=False, **quiet)
        else:
            ray.init(address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        raise cannot_join(address, error) from None
    try:
        yield find_resources(ray)
    finally:
        ray.shutdown()


def check_address(address: str | None) -> str | None:
    """The address, or that in RAY_ADDRESS. ValueError if Ray is not installed, or nobody listens there."""
    import_ray()
    address = address or os.environ.get("RAY_ADDRESS")
    if address is not None and ":" in address:
        try:
            knock(address)
        except (OSError, ValueError) as error:
            raise cannot_join(address, error) from None
    return address


def cannot_join(address: str | None, error: Exception) -> ValueError:
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ValueError(
        f"no Ray cluster can be joined at {address or 'this machine'} ({said}); start one with: ray start --head"
    )


def knock(address: str) -> None:
    """OSError if nobody listens at host:port. Ray by itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host.rpartition("/")[2], int(port)), KNOCK_SECONDS).close()


def find_resources(ray: Any) -> Resources:
    alive = [node for node in ray.nodes() if node["Alive"]]
    here = ray.get_runtime_context().get_node_id()
    store = next((node["Resources"].get("object_store_memory", 0.0) for node in alive if node["NodeID"] == here), 0.0)
    cpus = tuple(node["Resources"].get("CPU", 0.0) for node in alive)
    return Resources(cpus, ray.available_resources().get("CPU", 0.0), store)
