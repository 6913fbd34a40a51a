"""Several cores for one run: a team of workers that shares lanes and batches.

Each worker is a process with lanes of its own and a copy of agent and learner. All act at once. Each computes the
gradient of its share of every batch, the gradients are added up, and every worker takes the same step. So all have the
same weights at all times, and acting and learning are both shared without any lag. Everything random in a worker comes
from the run's seed and the worker's number: a run with a team is as reproducible as one without, and resumes exactly.
"""

import atexit
import multiprocessing
import signal
from contextlib import suppress
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from gnomon.config import RunConfig
from gnomon.learn.actor import Actor
from gnomon.learn.build import build_actor, stream
from gnomon.learn.learner import Learner
from gnomon.learn.malloc import keep_freed_memory
from gnomon.learn.unroll import Unroll
from gnomon.records.trials import take_trials, trial_table
from gnomon.saving.checkpoint import nest, unnest

WORTHWHILE = 10_000  # frames of a worker's unroll below which a team is not worth its while

Arrays = dict[str, np.ndarray]
"""Tensors by name, as they travel between processes."""


def settled(config: RunConfig, threads: int) -> RunConfig:
    """The same config, with 0 workers replaced by what it means on this machine, so that a resumed run does the same.

    As many workers as threads allow, if lanes and batches can be divided among them and each has enough to do.
    """
    learning = config.learning
    if learning.workers:
        return config

    def pays(workers: int) -> bool:
        divides = not (learning.lanes % workers or learning.batch % workers)
        return divides and learning.lanes * learning.unroll >= workers * WORTHWHILE and learning.device == "cpu"

    workers = max((number for number in range(2, threads + 1) if pays(number)), default=1)
    return replace(config, learning=replace(learning, workers=workers))


def share_of(config: RunConfig) -> RunConfig:
    """What each worker does of a run: its share of the lanes and of every batch."""
    learning = config.learning
    for name in ("lanes", "batch"):
        if getattr(learning, name) % learning.workers:
            raise ValueError(f"{name} is {getattr(learning, name)}; {learning.workers} workers cannot share that")
    lanes, batch = learning.lanes // learning.workers, learning.batch // learning.workers
    return replace(config, learning=replace(learning, lanes=lanes, batch=batch))


class Worker:
    """One of the team beside the first: lanes, agent and learner, which do what the first one's do."""

    def __init__(self, config: RunConfig, number: int, first: Connection) -> None:
        """number: from 1; first: the way to the first worker."""
        own = share_of(config)
        self.first = first
        self.actor = build_actor(own, f" {number}")
        shuffling = torch.Generator().manual_seed(stream(config.seed, f"batches {number}"))
        self.learner = Learner(self.actor.agent, self.actor.cache, own.learning, shuffling, self.add_up)
        self.frames = 0  # of the run

    def turn(self) -> None:
        """Act an unroll and learn from it."""
        unroll = self.actor.unroll()
        self.learner.learn(unroll, self.frames)
        self.frames += unroll.frames * self.learner.config.workers

    def add_up(self, tensors: list[Tensor]) -> None:
        """Hand in what this worker has, and take back the sum."""
        self.first.send(flat(tensors))
        spread_out(self.first.recv(), tensors)

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The trials that have ended, as `Trials.take_rows` has them."""
        whole, real = self.actor.laboratory.trials.take_rows()
        return whole.numpy(), real.numpy()

    def state(self) -> Arrays:
        """All that its coming turns depend on, but the weights, which are those of the first."""
        state = nest("actor", self.actor.state_dict()) | nest("learner", self.learner.state_dict())
        return arrays_of(state | {"frames": torch.tensor(self.frames)})

    def follow(self, weights: Arrays) -> None:
        """Have the first worker's weights."""
        self.actor.agent.load_state_dict(tensors_of(weights))

    def load(self, state: Arrays) -> None:
        saved = tensors_of(state)
        self.actor.load_state_dict(unnest("actor", saved))
        self.learner.load_state_dict(unnest("learner", saved))
        self.frames = int(saved["frames"])


class Far:
    """A worker in a process of its own, seen from the first."""

    def __init__(self, config: RunConfig, number: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, far = context.Pipe()
        arguments, name = (far, config, number), f"gnomon worker {number}"
        # Who asks the run to stop asks the first. A process begins with those signals blocked that its parent blocks.
        resource_tracker.ensure_running()  # where it must be started, multiprocessing changes the mask
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            context.Process(target=serve, args=arguments, daemon=True, name=name).start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        far.close()
        atexit.register(self._connection.close)  # upon which it ends; it cannot be terminated

    def send(self, message: Any) -> None:
        """A call of a method, (name, arguments), or the sum that it waits for."""
        try:
            self._connection.send(message)
        except OSError:
            raise gone() from None

    def receive(self) -> Any:
        """What a call returns, or what is to be added up."""
        try:
            message = self._connection.recv()
        except (EOFError, OSError):
            raise gone() from None
        if isinstance(message, Exception):
            raise message
        return message


def gone() -> ValueError:
    return ValueError("a worker of this run has ended, perhaps for want of memory; --resume goes on from the last save")


def serve(connection: Connection, config: RunConfig, number: int) -> None:
    """In a worker's process: do what the first asks, until it is gone."""
    torch.set_num_threads(1)
    keep_freed_memory()
    worker = Worker(config, number, connection)
    with suppress(EOFError, OSError):
        while True:
            method, arguments = connection.recv()
            try:
                answer = getattr(worker, method)(*arguments)
            except Exception as error:
                connection.send(error)
                return
            if answer is not None:
                connection.send(answer)


class Team:
    """The team, seen from its first worker, whose lanes are in this process: a `Source`.

    The others start when they are first needed.
    """

    def __init__(self, config: RunConfig, actor: Actor) -> None:
        """actor: of this process, with its share of the lanes."""
        learning = config.learning
        if learning.device != "cpu":
            raise ValueError(f"workers is {learning.workers}, but device is {learning.device!r}; workers are for cpu")
        self.config, self.actor = config, actor
        self._others: list[Far] = []
        self._saved: list[Arrays] = []  # what the others go on from
        torch.set_num_threads(1)

    def others(self) -> list[Far]:
        """The other workers, in the order of their numbers; they wait for a call."""
        if not self._others:
            self._others = [Far(self.config, number) for number in range(1, self.config.learning.workers)]
            for other in self._others:
                other.send(("follow", (arrays_of(self.actor.agent.state_dict()),)))
            for other, state in zip(self._others, self._saved, strict=False):  # a new run has none
                other.send(("load", (state,)))
        return self._others

    def add_up(self, tensors: list[Tensor]) -> None:
        """Replace the first worker's tensors by the sums over all workers; each of the others does the same."""
        total = flat(tensors)
        for other in self._others:
            total = total + other.receive()
        for other in self._others:
            other.send(total)
        spread_out(total, tensors)

    # A source of unrolls.

    def unroll(self) -> Unroll:
        """Let the others begin their turn, and act."""
        for other in self.others():
            other.send(("turn", ()))
        return self.actor.unroll()

    def take_trials(self) -> pl.DataFrame:
        trials = self.actor.laboratory.trials
        tables = [take_trials(trials)]
        for number, other in enumerate(self._others, start=1):
            other.send(("rows", ()))
            whole, real = map(torch.from_numpy, other.receive())
            table = trial_table(trials.task, whole, real, trials.row_columns())
            tables.append(table.with_columns(pl.col("lane") + number * self.actor.laboratory.lanes))
        return pl.concat(tables)

    def metrics(self) -> dict[str, float]:
        return {}

    def counters(self) -> dict[str, int]:
        return {}

    def state_dict(self) -> dict[str, Tensor]:
        state = self.actor.state_dict()
        for number, other in enumerate(self.others(), start=1):
            other.send(("state", ()))
            state |= nest(f"worker{number}", tensors_of(other.receive()))
        return state

    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        others = [unnest(f"worker{number}", saved) for number in range(1, self.config.learning.workers)]
        if not all(others):
            raise ValueError(f"it is not one of {self.config.learning.workers} workers")
        self.actor.load_state_dict(saved)
        self._saved = [arrays_of(state) for state in others]


def flat(tensors: list[Tensor]) -> np.ndarray:
    """All numbers of some tensors, one after the other: float32 [n]."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).numpy()


def spread_out(numbers: np.ndarray, tensors: list[Tensor]) -> None:
    """Write numbers, in the order of `flat`, into tensors."""
    parts = torch.from_numpy(numbers).split([tensor.numel() for tensor in tensors])
    with torch.no_grad():
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))


def arrays_of(tensors: dict[str, Tensor]) -> Arrays:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def tensors_of(arrays: Arrays) -> dict[str, Tensor]:
    """Copies of their own: torch aligns its memory, on which the last bits of a sum may depend."""
    return {name: torch.from_numpy(array).clone() for name, array in arrays.items()}
