"""For cluster tests: a Ray without processes, whose every turn is ours to choose, and runs on it or on a real one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_run import CONFIG

from gnomon.cluster.pool import Order, Pool
from gnomon.cluster.pools import Pools
from gnomon.cluster.start import Plan, Resources
from gnomon.config import RunConfig
from gnomon.learn.loop import Trainer
from gnomon.records.runs import RunFolder

PLENTY = Resources(cpus=(64.0,), free=64.0, store=1e9)


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class FakePool:
    """An actor: it may be asleep, or dead."""

    def __init__(self, *arguments: Any) -> None:
        self.pool = Pool(*arguments)
        self.asleep, self.dead, self.fail = False, False, False
        self.orders: list[tuple[Order, bool, bool]] = []  # and whether weights came along: the rest, vision
        self.unroll = SimpleNamespace(remote=self._ask)

    def _ask(self, order: Order, rest: Any, vision: Any) -> "FakeCall":
        self.orders.append((order, rest is not None, vision is not None))
        return FakeCall(self, (order, rest, vision))


class FakeCall:
    def __init__(self, actor: FakePool, arguments: tuple[Any, ...]) -> None:
        self.actor, self.arguments = actor, arguments


class FakeRay:
    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
    __version__ = "none"

    def __init__(self) -> None:
        self.actors: list[FakePool] = []
        self.waits: list[int] = []  # how many calls were waited for
        self.stillborn = False  # whether new actors die at once

    def remote(self, kind: type) -> Any:
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self._start))

    def _start(self, *arguments: Any) -> FakePool:
        self.actors.append(FakePool(*arguments))
        self.actors[-1].dead = self.stillborn
        return self.actors[-1]

    def put(self, value: Any) -> Any:
        return value

    def wait(self, calls: list[FakeCall], num_returns: int, timeout: float) -> tuple[list[FakeCall], list[FakeCall]]:
        self.waits.append(len(calls))
        ready = [call for call in calls if not call.actor.asleep or call.actor.dead]
        return ready[:num_returns], []

    def get(self, call: FakeCall) -> Any:
        if call.actor.dead:
            raise RayError("the actor died unexpectedly\nout of memory")
        if call.actor.fail:
            raise RayTaskError("a mistake")
        return call.actor.pool.unroll(*call.arguments)

    def kill(self, actor: FakePool) -> None:
        actor.dead = True


def on_pools(pools: int, ahead: int, resources: Resources = PLENTY, ray: Any = None) -> Callable[[Trainer], Pools]:
    return lambda trainer: Pools(trainer, Plan(pools, 1, ahead), resources, ray)


def pooled(folder: Path, pools: int, ahead: int, config: RunConfig = CONFIG) -> tuple[Trainer, Pools]:
    trainer = Trainer(config, RunFolder(folder), on_pools(pools, ahead))
    assert isinstance(trainer.source, Pools)
    return trainer, trainer.source


def seldom_vision(every: int) -> RunConfig:
    """The small run with this many updates between two of vision."""
    optimiser = replace(CONFIG.learning.optimiser, vision_every=every)
    return replace(CONFIG, learning=replace(CONFIG.learning, optimiser=optimiser))


def assert_same_losses(mine: list[dict[str, Any]], theirs: list[dict[str, Any]], exactly: bool) -> None:
    for name in ("policy_loss", "value_loss", "entropy", "gradient_norm", "vision_gradient_norm"):
        expected = [row[name] for row in theirs]
        assert len(set(expected)) > 1
        relative, absolute = (0.0, 0.0) if exactly else (1e-3, 1e-4)
        assert [row[name] for row in mine] == pytest.approx(expected, rel=relative, abs=absolute), name
