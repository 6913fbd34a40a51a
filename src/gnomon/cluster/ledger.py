"""What the learner keeps of its pools: unrolls asked for, the pools themselves, and the newest weights."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.agent.agent import Agent
from gnomon.cluster.pool import Arrays, Ticket, parcels


class Ledger:
    """Every unroll that was asked for: it is waited for, then used once or lost."""

    def __init__(self) -> None:
        self.waiting: set[Ticket] = set()
        self.used, self.lost, self.refused = 0, 0, 0

    def ask(self, ticket: Ticket) -> None:
        self.waiting.add(ticket)

    def use(self, ticket: Ticket) -> bool:
        """Whether it may be used: it has been asked for, and has neither been used nor been given up."""
        wanted = ticket in self.waiting
        self.waiting.discard(ticket)
        self.used += wanted
        self.refused += not wanted
        return wanted

    def lose(self, tickets: Iterable[Ticket]) -> None:
        gone = self.waiting.intersection(tickets)
        self.waiting -= gone
        self.lost += len(gone)


@dataclass
class Member:
    """A pool as the learner knows it."""

    number: int
    incarnation: int = 0
    handle: Any = None
    asked: int = 0
    """Unrolls of this incarnation."""
    rest: int = -1
    """Version of the weights it was sent, but vision's."""
    vision: int = -1
    """Version of vision's weights."""
    deaths: int = 0
    """In a row, without an unroll."""
    first_episode: int = 0
    """Number of this incarnation's first episode: a replaced pool counts on where the last one was."""
    next_episode: int = 0


class Weights:
    """The newest weights in Ray's object store, where each machine fetches them once. Versions are updates."""

    def __init__(self, ray: Any) -> None:
        self._put = ray.put
        self.version, self.vision_version = -1, -1
        self.rest: Any = None
        self.vision: Any = None
        self._seen: Arrays = {}  # vision's weights, to tell whether they have changed

    def publish(self, agent: Agent, version: int) -> None:
        if version == self.version:
            return
        rest, vision = parcels(agent)
        self.version, self.rest = version, self._put(rest)
        if not self._seen or any(not np.array_equal(vision[name], self._seen[name]) for name in vision):
            self.vision_version, self.vision, self._seen = version, self._put(vision), vision
