"""The learner's side of a pipelined run: asks the lanes for unrolls, sends them weights, and saves their state."""

from dataclasses import replace

import polars as pl
import torch
from torch import Tensor

from gnomon.config import RunConfig
from gnomon.learn.actor import Actor
from gnomon.learn.learner import Learner
from gnomon.learn.pipeline.lanes import Far, arrays_of, tensors_of
from gnomon.learn.source import OwnLanes, Source
from gnomon.learn.unroll import Unroll
from gnomon.records.trials import take_trials, trial_table
from gnomon.saving.checkpoint import nest, unnest

WORTHWHILE = 10_000  # frames of an unroll of all lanes below which a second process is not worth its while
LEARNER_CACHE, READY = "learner_cache", "ready"  # parts of the saved state


def settled(config: RunConfig, threads: int) -> RunConfig:
    """The same config, with "auto" replaced by what it means on this machine, so that a resumed run does the same."""
    learning = config.learning
    if learning.pipeline != "auto":
        return config
    pays = threads > 1 and learning.device == "cpu" and learning.lanes * learning.unroll >= WORTHWHILE
    return replace(config, learning=replace(learning, pipeline="on" if pays else "off"))


def lanes_here(config: RunConfig, actor: Actor, learner: Learner) -> Source:
    """The lanes of this machine: in turns with the learner, or in a process of their own."""
    return Pipeline(config, actor, learner) if config.learning.pipeline == "on" else OwnLanes(actor)


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

    def _synchronise(self) -> Far:
        """Give the lanes, which wait, the weights of now. The first call starts them."""
        lanes = self._lanes = self._lanes or Far(self.config)
        steps = max(1, (self.learner.updates - self._asked_at) // self.config.learning.optimiser.vision_every)
        lanes.tell("follow", arrays_of(self.learner.agent.state_dict()), steps)
        if self._saved:
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
