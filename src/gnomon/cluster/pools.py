"""A run on a cluster: remote pools of lanes feed the one learner, each unroll when it is ready (IMPALA), by Ray.

The learner asks a pool for its next unroll, and sends along the weights that the pool does not have yet. It then learns
from whichever unroll is ready first. A pool has at most `ahead` unrolls under way or waiting, so a slow learner makes
pools wait and memory stays as it is; a slow pool holds up nobody. A pool that dies is replaced.
"""

import json
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from gnomon.cluster.ledger import Ledger, Member, Weights
from gnomon.cluster.pool import Delivery, Order, Pool, Ticket, pack, parcels, unpack
from gnomon.cluster.start import Plan, Resources, check_store, import_ray
from gnomon.learn.loop import Trainer
from gnomon.learn.source import SourceLost
from gnomon.learn.unroll import Unroll
from gnomon.records.runs import write_text
from gnomon.records.trials import trial_table

PATIENCE = 600.0  # seconds without a single unroll after which something must be wrong
DEATHS = 3  # of a pool in a row, without an unroll between them, after which replacing it makes no sense
COUNTS = ("used_unrolls", "lost_unrolls", "refused_unrolls", "replaced_pools")


class ClusterError(SourceLost):
    """The cluster cannot do what the run needs."""


class Pools:
    """The pools of a run: the `Source` of its trainer's unrolls. They start when the first is asked for."""

    def __init__(self, trainer: Trainer, plan: Plan, resources: Resources, ray: Any = None) -> None:
        """ValueError if the cluster could not hold what the plan and the run's config ask for.

        ray: what speaks to Ray, if not this process (`gnomon.cluster.apart`).
        """
        self.trainer, self.plan = trainer, plan
        self.members = [Member(number) for number in range(plan.pools)]
        self.ledger, self.replaced = Ledger(), 0
        self.delivery: Delivery | None = None  # the last one
        self.lag = 0  # of its weights behind the learner's, in updates
        self.waited = 0.0  # seconds that the learner waited for it
        self.bytes_sent = sum(array.nbytes for parcel in parcels(trainer.agent) for array in parcel.values())
        check_store(resources, plan, unroll_bytes(trainer), self.bytes_sent)
        self._ray = ray or import_ray()
        self._pool = self._ray.remote(Pool)
        self._weights = Weights(self._ray)
        self._in_flight: dict[Any, Order] = {}  # by Ray's reference to the coming unroll, oldest first
        self._rows: list[tuple[np.ndarray, np.ndarray]] = []  # trials not yet taken

    # Unrolls.

    def unroll(self) -> Unroll:
        """The oldest unroll that is ready; meanwhile pools go on with the next ones.

        ClusterError if the cluster is lost: then the run can be saved, and go on elsewhere.
        """
        try:
            return self._unroll()
        except self._ray.exceptions.RayTaskError:  # a mistake in the program, not of the cluster
            raise
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise ClusterError(f"the cluster is lost: {last_line(error)}") from error

    def _unroll(self) -> Unroll:
        self._weights.publish(self.trainer.agent, self.trainer.learner.updates)
        self._ask(max(1, self.plan.ahead))
        start = time.perf_counter()
        self.delivery = self._next_delivery()
        self.waited = time.perf_counter() - start
        self.lag = self.trainer.learner.updates - self.delivery.order.version
        self._ask(self.plan.ahead)
        self._keep_trials(self.delivery)
        return unpack(self.delivery.unroll).to(self.trainer.laboratory.device)

    def _ask(self, ahead: int) -> None:
        """See to it that every pool has this many unrolls to do, or waiting."""
        for member in self.members:
            handle = member.handle if member.handle is not None else self._start(member)
            for _ in range(ahead - sum(order.ticket.pool == member.number for order in self._in_flight.values())):
                ticket = Ticket(member.number, member.incarnation, member.asked)
                order = Order(ticket, self._weights.version)
                rest = self._weights.rest if member.rest != self._weights.version else None
                vision = self._weights.vision if member.vision != self._weights.vision_version else None
                self._in_flight[handle.unroll.remote(order, rest, vision)] = order
                member.rest, member.vision = self._weights.version, self._weights.vision_version
                member.asked += 1
                self.ledger.ask(ticket)

    def _next_delivery(self) -> Delivery:
        asked = time.monotonic()
        while True:
            ready, _ = self._ray.wait(list(self._in_flight), num_returns=1, timeout=1.0)
            if not ready:
                if time.monotonic() - asked > PATIENCE:
                    raise ClusterError(
                        f"no unroll has come for {PATIENCE:.0f} s from {self.plan.pools} pools; see ray status"
                    )
                continue
            order = self._in_flight.pop(ready[0])
            member = self.members[order.ticket.pool]
            try:
                delivery: Delivery = self._ray.get(ready[0])
            except self._ray.exceptions.RayTaskError:  # a mistake in the program, not of the cluster
                raise
            except self._ray.exceptions.RayError as error:
                self._replace(member, error)
                self._ask(max(1, self.plan.ahead))
                continue
            member.deaths = 0
            if self.ledger.use(delivery.order.ticket):
                return delivery

    # Pools.

    def _start(self, member: Member) -> Any:
        options = {
            "num_cpus": self.plan.cpus,
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
        }
        member.handle = self._pool.options(**options).remote(
            self.trainer.config, member.number, member.incarnation, self.plan.cpus
        )
        member.asked, member.rest, member.vision = 0, -1, -1
        member.first_episode = member.next_episode
        noted = asdict(self.plan) | {"ray": self._ray.__version__}
        write_text(self.trainer.folder.path / "cluster.json", json.dumps(noted, indent=2))
        return member.handle

    def _replace(self, member: Member, error: Exception) -> None:
        """Begin the pool's next incarnation; what was asked of this one is lost."""
        member.deaths += 1
        if member.deaths == DEATHS:
            raise ClusterError(
                f"pool {member.number} died {DEATHS} times before its first unroll, the last time of: "
                f"{last_line(error)}; see Ray's logs on its machine"
            ) from error
        self._kill(member)
        self.ledger.lose([ticket for ticket in self.ledger.waiting if ticket.pool == member.number])
        self._in_flight = {ref: order for ref, order in self._in_flight.items() if order.ticket.pool != member.number}
        self.replaced += 1
        member.incarnation += 1

    def _kill(self, member: Member) -> None:
        """Let a pool go, on a cluster that may be gone itself."""
        with suppress(self._ray.exceptions.RayError, ConnectionError):
            self._ray.kill(member.handle)
        member.handle = None

    def close(self) -> None:
        """Let the pools go. What they were at is neither used nor counted as lost."""
        for member in self.members:
            if member.handle is not None:
                self._kill(member)
        self._in_flight.clear()
        self.ledger.waiting.clear()

    # Trials.

    def _keep_trials(self, delivery: Delivery) -> None:
        """Number lanes through over all pools, and episodes over all incarnations of a pool."""
        whole, real = (array.copy() for array in delivery.trials)
        member = self.members[delivery.order.ticket.pool]
        lane, episode = (self._columns.index(name) for name in ("lane", "episode"))
        whole[lane] += member.number * self.trainer.laboratory.lanes
        whole[episode] += member.first_episode
        if whole.shape[1]:
            member.next_episode = max(member.next_episode, int(whole[episode].max()) + 1)
        self._rows.append((whole, real))

    def take_trials(self) -> pl.DataFrame:
        empty = np.zeros((len(self._columns), 0), np.int32), np.zeros((2, 0))
        parts, self._rows = [empty, *self._rows], []
        whole, real = (torch.from_numpy(np.concatenate(part, axis=1)) for part in zip(*parts, strict=True))
        return trial_table(self.trainer.config.task, whole, real, self._columns)

    @property
    def _columns(self) -> list[str]:
        return self.trainer.laboratory.trials.row_columns()

    # What is logged and saved.

    def metrics(self) -> dict[str, float]:
        """Of the last unroll: lag (updates), seconds waited for it, seconds it took to act, size on the wire."""
        assert self.delivery is not None
        return {
            "lag": self.lag,
            "waited": self.waited,
            "acting": self.delivery.seconds,
            "unroll_kilobytes": self.delivery.bytes / 1000,
        }

    def counters(self) -> dict[str, int]:
        counts = (self.ledger.used, self.ledger.lost, self.ledger.refused, self.replaced)
        return dict(zip(COUNTS, counts, strict=True))

    def state_dict(self) -> dict[str, Tensor]:
        """Counters only: the lanes of a resumed run begin anew, in new incarnations."""
        return {
            "pools.incarnation": torch.tensor([member.incarnation for member in self.members]),
            "pools.next_episode": torch.tensor([member.next_episode for member in self.members]),
            "pools.counts": torch.tensor(list(self.counters().values())),
        }

    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        """Go on from a cluster's checkpoint, or from that of a run on one machine."""
        if "pools.counts" in saved:
            self.ledger.used, self.ledger.lost, self.ledger.refused, self.replaced = saved["pools.counts"].tolist()
            before = zip(saved["pools.incarnation"].tolist(), saved["pools.next_episode"].tolist(), strict=True)
        else:
            before = [(0, int(saved["lab.trials.episode"].max()) + 1)]
        for member, (incarnation, episode) in zip(self.members, before, strict=False):
            member.incarnation, member.next_episode = incarnation + 1, episode


def last_line(error: Exception) -> str:
    """The last line of what Ray says; it has the reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def unroll_bytes(trainer: Trainer) -> int:
    """Size of a pool's unroll on the wire, but for its trials."""
    length, lanes = trainer.config.learning.unroll, trainer.config.learning.lanes
    times = torch.zeros(length, 1)
    one = Unroll(
        ids=torch.zeros(length + 1, 1, dtype=torch.int32),
        first=torch.zeros(length + 1, 1, dtype=torch.bool),
        action=torch.zeros(length, 1, dtype=torch.int64),
        log_prob=times,
        reward=times,
        state={name: tensor.cpu() for name, tensor in trainer.agent.initial_state(1).items()},
    )
    return lanes * sum(array.nbytes for array in pack(one).values())
