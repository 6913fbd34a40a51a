"""Two cores for one run: while the learner learns from an unroll, a second process already acts the next one.

The lanes always act with the weights from before the learner began: one unroll of lag, whichever process is faster. So
a run with a pipeline is as reproducible as one without, and resumes exactly. V-trace corrects the lag. This is IMPALA's
architecture on one machine.
"""

import multiprocessing
import signal
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from gnomon.agent.feature_cache import changes
from gnomon.config import RunConfig
from gnomon.learn.actor import Actor
from gnomon.learn.build import build_actor
from gnomon.learn.learner import Learner
from gnomon.learn.malloc import keep_freed_memory
from gnomon.learn.unroll import Unroll
from gnomon.records.trials import take_trials, trial_table
from gnomon.saving.checkpoint import nest, unnest

Arrays = dict[str, np.ndarray]
"""Tensors by name, as they travel between the two processes."""

WORTHWHILE = 10_000  # frames of an unroll of all lanes below which a second process is not worth its while
LEARNER_CACHE, READY = "learner_cache", "ready"  # parts of the saved state


def settled(config: RunConfig, threads: int) -> RunConfig:
    """The same config, with "auto" replaced by what it means on this machine, so that a resumed run does the same."""
    learning = config.learning
    if learning.pipeline != "auto":
        return config
    pays = threads > 1 and learning.device == "cpu" and learning.lanes * learning.unroll >= WORTHWHILE
    return replace(config, learning=replace(learning, pipeline="on" if pays else "off"))


class Pipeline:
    """Where a pipelined run's unrolls come from: a `Source`. The second process starts when it is first needed."""

    def __init__(self, config: RunConfig, actor: Actor, learner: Learner) -> None:
        """actor: of this process, whose lanes stay idle and whose cache the learner uses."""
        if config.learning.device != "cpu":
            raise ValueError(f"pipeline is on, but device is {config.learning.device!r}; a pipeline is for cpu")
        self.config, self.actor, self.learner = config, actor, learner
        self.lag = 0  # updates between the weights that acted and those that learn
        self._lanes: Far | None = None
        self._saved: dict[str, Tensor] = {}  # what the lanes go on from
        self._under_way = False  # the lanes act
        self._ready: tuple[Unroll, Tensor, Tensor] | None = None  # acted, but not yet learned from; and its trials
        self._asked_at = 0  # updates of the learner when the unroll under way, or ready, was asked for
        self._trials: list[pl.DataFrame] = []  # of the unrolls handed out
        self._restart = False
        self._sent = -1, 0  # version of vision's weights that the lanes have, and updates of vision until then

    # Unrolls.

    def unroll(self) -> Unroll:
        """The unroll that is under way; the lanes go on with the next one, with the weights of now."""
        if not self._under_way and self._ready is None:  # the run's first
            self._ask()
        self._receive()
        assert self._ready is not None
        unroll, whole, real = self._ready
        self._ready, self.lag = None, self.learner.updates - self._asked_at
        trials = self.actor.laboratory.trials
        self._trials.append(trial_table(trials.task, whole, real, trials.row_columns()))
        self._ask()
        return unroll

    def restart(self) -> None:
        """Put every lane into the initial state, before the unroll that is asked for next."""
        self._restart = True

    def _ask(self) -> None:
        """Let the lanes act the next unroll with the weights of now."""
        self._synchronise().tell("act")
        self._under_way, self._asked_at = True, self.learner.updates

    def _receive(self) -> None:
        """Wait until nothing is under way."""
        if self._under_way:
            assert self._lanes is not None
            arrays, whole, real = self._lanes.answer()
            unroll = Unroll.from_tensors(tensors_of(arrays))
            self._ready, self._under_way = (unroll, torch.from_numpy(whole), torch.from_numpy(real)), False

    def _synchronise(self) -> "Far":
        """Give the lanes, which wait, the weights of now. The first call starts them."""
        agent, begins = self.learner.agent, self._lanes is None
        lanes = self._lanes = self._lanes or Far(self.config)
        version, updates = changes(agent.vision.parameters()), self.learner.vision_updates
        weights = {name: tensor.detach().numpy() for name, tensor in agent.state_dict().items()}
        if version == self._sent[0]:
            weights = {name: array for name, array in weights.items() if not name.startswith("vision.")}
        steps = 0 if begins or self._restart else updates - self._sent[1]
        lanes.tell("follow", weights, steps, self._restart)
        self._sent, self._restart = (version, updates), False
        if begins and self._saved:
            lanes.tell("load", arrays_of(self._saved))
            self._saved = {}
        return lanes

    # What is logged and saved.

    def take_trials(self) -> pl.DataFrame:
        trials, self._trials = self._trials, []
        return pl.concat([take_trials(self.actor.laboratory.trials), *trials])  # the first is empty: idle lanes

    def metrics(self) -> dict[str, float]:
        return {"lag": self.lag}

    def counters(self) -> dict[str, int]:
        return {}

    def state_dict(self) -> dict[str, Tensor]:
        """The lanes after the unroll under way, that unroll, and the learner's table of features."""
        self._receive()
        lanes = self._synchronise()
        lanes.tell("state")
        saved = tensors_of(lanes.answer())
        saved |= nest(LEARNER_CACHE, self.actor.cache.state_dict())
        if self._ready is not None:
            unroll, whole, real = self._ready
            ready = {"trials": whole, "rewards": real, "asked_at": torch.tensor(self._asked_at)}
            saved |= nest(READY, ready | nest("unroll", unroll.tensors()))
        return saved

    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        if "generator" not in saved:  # a cluster's checkpoints have no lanes: ours begin anew
            return
        self._saved = {n: t for n, t in saved.items() if not n.startswith((LEARNER_CACHE, READY))}
        self.actor.load_state_dict(self._saved)  # which checks that they fit; the lanes stay idle
        self.actor.laboratory.trials.take_rows()
        if own := unnest(LEARNER_CACHE, saved):
            self.actor.cache.load_state_dict(own)
        if ready := unnest(READY, saved):
            self._ready = Unroll.from_tensors(unnest("unroll", ready)), ready["trials"], ready["rewards"]
            self._asked_at = int(ready["asked_at"])


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


# In the second process.


class Lanes:
    """Lanes and an agent of their own."""

    def __init__(self, config: RunConfig, threads: int) -> None:
        torch.set_num_threads(threads)
        keep_freed_memory()
        self.actor, self.sample = build_actor(config), config.learning.optimiser.vision_sample

    @torch.no_grad()
    def follow(self, weights: Arrays, steps: int, restart: bool) -> None:
        """Take in weights; vision's, if they are among them, are so many small steps on (0: somewhere else)."""
        own = self.actor.agent.state_dict()
        for name, array in weights.items():
            own[name].copy_(torch.from_numpy(array))
        if steps and self.sample:
            self.actor.cache.refresh(None, steps * self.sample)
        if restart:
            self.actor.restart()

    def act(self) -> tuple[Arrays, np.ndarray, np.ndarray]:
        """An unroll, and the trials that ended in it as `Trials.take_rows` has them."""
        unroll = self.actor.unroll()
        whole, real = self.actor.laboratory.trials.take_rows()
        return arrays_of(unroll.tensors()), whole.numpy(), real.numpy()

    def state(self) -> Arrays:
        return arrays_of(self.actor.state_dict())

    def load(self, saved: Arrays) -> None:
        self.actor.load_state_dict(tensors_of(saved))


def serve(connection: Connection, config: RunConfig, threads: int) -> None:
    """Do what the first process asks, until it is gone."""
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
