"""The far end of a cluster run: a pool of lanes with its own copy of the agent, and what travels to and from it.

Weights travel in two parcels, vision and the rest, each with a version; a pool is sent what it does not have. What
comes back is a few KB a lane: observation ids, never pixels. Nothing here needs Ray.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.config import RunConfig
from gnomon.learn.build import build_actor
from gnomon.learn.malloc import keep_freed_memory
from gnomon.learn.unroll import Unroll

Arrays = dict[str, np.ndarray]
"""Tensors by name, in the form in which Ray shares them between processes without a copy."""


@dataclass(frozen=True, order=True)
class Ticket:
    """The number of an unroll: asked for once, and to be used once."""

    pool: int
    incarnation: int
    """How often the pool has been replaced before."""
    number: int
    """Within the incarnation, from 0."""


@dataclass(frozen=True)
class Order:
    """What the learner asks of a pool."""

    ticket: Ticket
    version: int
    """Of the weights, in updates of the learner."""


@dataclass(frozen=True)
class Delivery:
    """An unroll and the trials that ended in it."""

    order: Order
    unroll: Arrays
    trials: tuple[np.ndarray, np.ndarray]
    """As `Trials.take_rows` has them: int [columns, n], float64 [2, n]."""
    seconds: float
    """That the pool took to act, and to take in the weights before it."""

    @property
    def bytes(self) -> int:
        """Size on the wire, but for the envelope."""
        return sum(array.nbytes for array in (*self.unroll.values(), *self.trials))


class Pool:
    """Lanes and an agent: acts for one unroll whenever it is asked to."""

    def __init__(self, config: RunConfig, number: int, incarnation: int, threads: int) -> None:
        torch.set_num_threads(threads)
        keep_freed_memory()
        here = replace(config, learning=replace(config.learning, device="cpu"))
        self.actor = build_actor(here, stream_name(number, incarnation))
        self.next = Ticket(number, incarnation, 0)

    def unroll(self, order: Order, rest: Arrays | None, vision: Arrays | None) -> Delivery:
        """Act with these weights; None: with those that the pool has."""
        if order.ticket != self.next:
            raise RuntimeError(f"{order.ticket} was asked for, but {self.next} is next")
        self.next = replace(self.next, number=self.next.number + 1)
        start, trials = perf_counter(), self.actor.laboratory.trials
        for weights in (rest, vision):
            if weights is not None:
                load(self.actor.agent, weights)
        packed = pack(self.actor.unroll())
        whole, real = trials.take_rows()
        return Delivery(order, packed, (whole.numpy(), real.numpy()), perf_counter() - start)


def stream_name(pool: int, incarnation: int) -> str:
    """What sets a pool's random numbers apart. The first pool, while it lives, has those of a run without pools."""
    return "" if (pool, incarnation) == (0, 0) else f" of pool {pool}, incarnation {incarnation}"


# Weights.


def parcels(agent: Agent) -> tuple[Arrays, Arrays]:
    """Copies of the agent's weights: all but vision's, and vision's."""
    arrays = {name: tensor.detach().cpu().numpy().copy() for name, tensor in agent.state_dict().items()}
    vision = {name: array for name, array in arrays.items() if name.startswith("vision.")}
    return {name: array for name, array in arrays.items() if name not in vision}, vision


@torch.no_grad()
def load(agent: Agent, weights: Arrays) -> None:
    """Put weights, perhaps not all, into an agent."""
    own = agent.state_dict()
    for name, array in weights.items():
        own[name].copy_(torch.tensor(array))  # the arrays belong to Ray and may not be written to, so not from_numpy


# Unrolls.


def pack(unroll: Unroll) -> Arrays:
    """An unroll as arrays; actions are few, so a byte will do for each."""
    return {name: tensor.numpy() for name, tensor in (unroll.tensors() | {"action": unroll.action.byte()}).items()}


def unpack(arrays: Arrays) -> Unroll:
    tensors: dict[str, Tensor] = {name: torch.tensor(array) for name, array in arrays.items()}
    return Unroll.from_tensors(tensors | {"action": tensors["action"].long()})
