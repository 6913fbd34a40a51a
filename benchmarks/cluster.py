"""What does a cluster add? Frames per second with remote pools beside the single process, and a model of more of them.

Run `python benchmarks/cluster.py` (about two minutes on two idle cores; needs gnomon[cluster]). Ray runs on this
machine, so pools and learner share its cores, and at most two of them run at full speed. The model of larger clusters
is fitted to CPU seconds of a pool and of the learner, which depend less on what else is running: see docs/cluster.md.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from gnomon.cluster.pool import Order, Pool, Ticket, parcels, unpack
from gnomon.cluster.pools import Pools
from gnomon.cluster.start import Plan, Resources, joined
from gnomon.config import RunConfig
from gnomon.learn.loop import Trainer
from gnomon.learn.malloc import keep_freed_memory
from gnomon.learn.unroll import Unroll
from gnomon.presets import preset
from gnomon.records.runs import RunFolder

LANES = (32, 128, 512)  # of a pool, for the fit
NETWORK = 1.25e8  # bytes/s: the 1 Gbit/s Ethernet that the extrapolation assumes
POOLS = (1, 2, 4, 8, 16, 64, 200, 500)
CASES = (
    (512, 1),
    (512, 10),
    (512, 100),
    (32, 100),
)  # lanes of a pool, and how much faster than one core the learner is
TRAJECTORIES = 1024  # of each measurement for the fit, after one unroll to warm up: vision learns twice from them


@dataclass(frozen=True)
class Options:
    """Measure training with remote pools."""

    seconds: float = 8.0
    """Shortest time of one measurement; a round is always finished."""
    threads: int = 1
    """Threads of the learner; each pool has one."""


@dataclass(frozen=True)
class Speed:
    """What one measurement found. Seconds and bytes are of one unroll."""

    pools: int
    """0: a single process."""
    lanes: int
    frames: float
    """Per second."""
    acting: float
    learning: float
    waited: float
    """Seconds that the learner waited for it."""
    lag: float
    """Updates."""
    bytes: float
    weights: float
    """Bytes of all weights."""


def measure(config: RunConfig, pools: int, seconds: float, resources: Resources) -> Speed:
    """Train for some seconds, after a warm-up of one round."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(max(1, pools))
        trainer = Trainer(config, RunFolder(Path(folder)), (lambda t: Pools(t, plan, resources)) if pools else None)
        trainer.laboratory.render(torch.arange(trainer.laboratory.lattice.count))  # every gaze is traced once in a run
        trainer.round()
        learn = Timed(trainer.learner.learn)
        trainer.learner.learn = learn
        frames, rows = trainer.frames, []
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            rows.append(trainer.round())
        total = time.perf_counter() - start
        frames = trainer.frames - frames
        unrolls = frames / config.learning.lanes / config.learning.unroll
        learning = learn.seconds / unrolls
        found = {name: float(np.mean([row.get(name, 0.0) for row in rows])) for name in ("acting", "waited", "lag")}
        size, weights = 0.0, sum(p.numel() * p.element_size() for p in trainer.agent.state_dict().values())
        if isinstance(trainer.source, Pools):
            size = 1000 * float(np.mean([row["unroll_kilobytes"] for row in rows]))
            trainer.source.close()
        else:
            found["acting"] = total / unrolls - learning
        return Speed(
            pools, config.learning.lanes, frames / total, **found, learning=learning, bytes=size, weights=weights
        )


class Timed:
    """A learner's `learn` that counts its seconds."""

    def __init__(self, learn: Callable[[Unroll, int], dict[str, float]]) -> None:
        self.learn, self.seconds = learn, 0.0

    def __call__(self, unroll: Unroll, frames: int) -> dict[str, float]:
        start = time.perf_counter()
        metrics = self.learn(unroll, frames)
        self.seconds += time.perf_counter() - start
        return metrics


# The model.


@dataclass(frozen=True)
class Costs:
    """CPU seconds and bytes of one unroll."""

    lanes: int
    acting: float
    learning: float
    bytes: float


def costs(config: RunConfig) -> Costs:
    """A pool and a learner in this process, in turn, each with one thread.

    The pool gets new weights every time, vision's too, as it does where many pools feed the learner.
    """
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, RunFolder(Path(folder)))
    pool = Pool(config, 0, 0, 1)
    for each in (trainer.laboratory, pool.actor.laboratory):
        each.render(torch.arange(each.lattice.count))
    acting, learning, size = [], [], []
    for number in range(1 + TRAJECTORIES // config.learning.lanes):
        rest, vision = parcels(trainer.agent)
        before = time.process_time()
        delivery = pool.unroll(Order(Ticket(0, 0, number), trainer.learner.updates), rest, vision)
        between = time.process_time()
        trainer.learner.learn(unpack(delivery.unroll), trainer.frames)
        acting.append(between - before)
        learning.append(time.process_time() - between)
        size.append(delivery.bytes)
    return Costs(config.learning.lanes, *(float(np.mean(found[1:])) for found in (acting, learning, size)))


@dataclass(frozen=True)
class Capacity:
    """Seconds that an unroll takes, as a line over lanes: a + b lanes, of a pool and of the learner."""

    acting: tuple[float, float]
    learning: tuple[float, float]
    length: int
    """Frames of an unroll."""
    lane_bytes: float
    """Of an unroll, for each lane."""
    weights: float
    """Bytes."""

    def frames_per_second(self, pools: int, lanes: int, faster: float, network: float = NETWORK) -> tuple[float, str]:
        """Of the whole cluster, and what limits it. faster: the learner's speed, in cores like this one."""
        acting, learning = (fixed + each * lanes for fixed, each in (self.acting, self.learning))
        unroll = lanes * self.lane_bytes
        # A pool fetches weights, acts and sends its unroll. For each unroll that comes in on the learner's wire, a
        # version of the weights goes out, to the pool that is then asked for the next.
        cycle = acting + (self.weights + unroll) / network
        limits = {
            "pools": pools / cycle,
            "learner": faster / learning,
            "network": network / max(unroll, self.weights),
        }
        limit = min(limits, key=lambda name: limits[name])
        return limits[limit] * lanes * self.length, limit


def fit(found: list[Costs], length: int, weights: float) -> Capacity:
    """Straight lines through the seconds for several numbers of lanes."""
    lanes = np.array([cost.lanes for cost in found], float)
    lines = []
    for name in ("acting", "learning"):
        each, fixed = np.polyfit(lanes, np.array([getattr(cost, name) for cost in found]), 1)
        lines.append((float(fixed), float(each)))
    return Capacity(lines[0], lines[1], length, float(np.mean([cost.bytes / cost.lanes for cost in found])), weights)


def main(options: Options) -> None:
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    console = Console(width=110)
    config = preset("laptop")

    with joined(None, 2) as resources:
        speeds = []
        for pools in (0, 1, 2):
            console.print(f"measuring {pools or 'no'} remote pools ...", style="dim")
            speeds.append(measure(config, pools, options.seconds, resources))
        console.print(speed_table(speeds))
        one = speeds[1]
        console.print(
            f"an unroll of {one.lanes} lanes is {one.bytes / 1000:,.0f} KB, {one.bytes / one.lanes / 1000:.2f} KB "
            f"a trajectory; the weights are {one.weights / 1e6:.2f} MB"
        )
    found = []
    for number in LANES:
        console.print(f"measuring {number} lanes ...", style="dim")
        found.append(costs(replace(config, learning=replace(config.learning, lanes=number))))
        console.print(f"{number} lanes: {found[-1].acting:.3f} CPU s to act, {found[-1].learning:.3f} to learn")
    capacity = fit(found, config.learning.unroll, one.weights)
    for name, speed in (("a pool", "acting"), ("the learner", "learning")):
        fixed, each = getattr(capacity, speed)
        console.print(f"{name}: {1000 * fixed:.0f} ms + {1000 * each:.3f} ms a lane for an unroll")
    console.print(capacity_table(capacity))


def speed_table(speeds: list[Speed]) -> Table:
    table = Table(title="Training, from the first frame on; all on this machine", title_justify="left")
    for column in ("pools", "frames/s", "x single", "acting s", "learning s", "waited s", "lag (updates)"):
        table.add_column(column, justify="right")
    for speed in speeds:
        table.add_row(
            str(speed.pools or "single"), f"{speed.frames:,.0f}", f"{speed.frames / speeds[0].frames:.2f}",
            *(f"{seconds:.2f}" for seconds in (speed.acting, speed.learning, speed.waited)), f"{speed.lag:.1f}",
        )  # fmt: skip
    return table


def capacity_table(capacity: Capacity) -> Table:
    title = f"Reckoned frames per second and their limit, a core for each pool, {NETWORK * 8 / 1e9:g} Gbit/s"
    table = Table(title=title, title_justify="left")
    table.add_column("pools", justify="right")
    for lanes, faster in CASES:
        table.add_column(f"{lanes} lanes, learner x {faster}", justify="right")
    for pools in POOLS:
        cells = (capacity.frames_per_second(pools, *case) for case in CASES)
        table.add_row(str(pools), *(f"{frames:,.0f} ({limit})" for frames, limit in cells))
    return table


if __name__ == "__main__":
    main(tyro.cli(Options))
