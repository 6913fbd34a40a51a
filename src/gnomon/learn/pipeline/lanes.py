"""The second process of a pipelined run: lanes that act with the weights they are sent."""

import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnomon.agent.feature_cache import changes
from gnomon.config import RunConfig
from gnomon.learn.build import build_actor
from gnomon.learn.malloc import keep_freed_memory

Arrays = dict[str, np.ndarray]
"""Tensors by name, as they travel between the two processes."""


class Lanes:
    """Lanes and an agent of their own."""

    def __init__(self, config: RunConfig, threads: int) -> None:
        torch.set_num_threads(threads)
        keep_freed_memory()
        self.actor, self.sample = build_actor(config), config.learning.optimiser.vision_sample

    @torch.no_grad()
    def follow(self, weights: Arrays, steps: int) -> None:
        """Take in weights. If vision's have changed, it was in this many small steps."""
        own, seeing = self.actor.agent.state_dict(), changes(self.actor.agent.vision.parameters())
        for name, tensor in tensors_of(weights).items():
            if not torch.equal(own[name], tensor):  # what is the same need not be seen anew
                own[name].copy_(tensor)
        if self.sample and changes(self.actor.agent.vision.parameters()) != seeing:
            self.actor.cache.refresh(None, steps * self.sample)

    def act(self) -> tuple[Arrays, np.ndarray, np.ndarray]:
        """An unroll, and the trials that ended in it as `Trials.take_rows` has them."""
        unroll = self.actor.unroll()
        whole, real = self.actor.laboratory.trials.take_rows()
        return arrays_of(unroll.tensors()), whole.numpy(), real.numpy()

    def state(self) -> Arrays:
        return arrays_of(self.actor.state_dict())

    def load(self, saved: Arrays) -> None:
        self.actor.load_state_dict(tensors_of(saved))


class Far:
    """The second process, seen from the first: it does what it is told, in turn, and answers some of it."""

    def __init__(self, config: RunConfig) -> None:
        """Threads are shared: half of them act, the others learn."""
        threads = torch.get_num_threads()
        acting = max(1, threads // 2)
        torch.set_num_threads(max(1, threads - acting))
        context = multiprocessing.get_context("spawn")
        self._connection, far = context.Pipe()
        process = context.Process(target=serve, args=(far, config, acting), daemon=True, name="gnomon lanes")
        process.start()
        far.close()

    def tell(self, method: str, *arguments: Any) -> None:
        """Call a method of the `Lanes` there, without waiting for it."""
        try:
            self._connection.send((method, arguments))
        except OSError:
            raise gone() from None

    def answer(self) -> Any:
        """Wait for what the oldest unanswered `act` or `state` returns."""
        try:
            answer = self._connection.recv()
        except (EOFError, OSError):
            raise gone() from None
        if isinstance(answer, Exception):
            raise answer
        return answer


def gone() -> ValueError:
    return ValueError(
        "the process that acts has ended, perhaps for want of memory; --resume goes on from the last save"
    )


def serve(connection: Connection, config: RunConfig, threads: int) -> None:
    """In the second process: do what the first asks, until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first
    lanes = Lanes(config, threads)
    with suppress(EOFError, OSError):
        while True:
            method, arguments = connection.recv()
            try:
                answer = getattr(lanes, method)(*arguments)
            except Exception as error:
                connection.send(error)
                return
            if answer is not None:
                connection.send(answer)


def arrays_of(tensors: dict[str, Tensor]) -> Arrays:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def tensors_of(arrays: Arrays) -> dict[str, Tensor]:
    """Copies of their own: torch aligns its memory, on which the last bits of a sum may depend."""
    return {name: torch.from_numpy(array).clone() for name, array in arrays.items()}
