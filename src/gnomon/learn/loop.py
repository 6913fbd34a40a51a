"""The training loop: act, learn, log, checkpoint, until a limit is reached. Deterministic and resumable."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import polars as pl
import torch

from gnomon.config import RunConfig, Schedule, read_config
from gnomon.learn.build import build_actor, stream
from gnomon.learn.curves import Curves
from gnomon.learn.learner import Learner, NotFiniteError, means
from gnomon.learn.scores import Recent
from gnomon.learn.source import OwnLanes, Source, SourceLost
from gnomon.learn.team import Team, settled, share_of
from gnomon.records.contents import (
    METRICS,
    Known,
    PartFacts,
    cut_back,
    metrics_checksum,
    records_without_checkpoint,
)
from gnomon.records.metrics import read_lines
from gnomon.records.runs import RunFolder
from gnomon.records.writing import patiently, write_text
from gnomon.saving.checkpoint import Checkpoint, Notes, nest, newest_checkpoint, unnest, write_checkpoint
from gnomon.saving.restore import check_settings, load_weights

Written = TypeVar("Written")

LOG_ROUNDS = 2  # rounds between two lines of metrics
CHECKPOINT_MINUTES = 2.0


@dataclass(frozen=True)
class Limits:
    """When to stop; whichever comes first. None: no limit of that kind."""

    frames: int | None = None
    minutes: float | None = None
    criterion: float | None = None
    """Share of recent trials whose production misses the sample interval by less than 8 frames."""

    def __post_init__(self) -> None:
        for name in ("frames", "minutes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}; a limit must be above 0")
        if self.criterion is not None and not 0 <= self.criterion <= 1:
            raise ValueError(f"criterion is {self.criterion}; it is a share, from 0 to 1")

    def check(self, schedule: Schedule) -> None:
        """ValueError if there are frames in which nothing would be learned."""
        if self.frames is not None and self.frames > schedule.frames and not schedule.final_learning_rate:
            right = "begin a new run with more --learning.schedule.frames"
            raise ValueError(f"frames is {self.frames:,}, but learning rates fall to 0 at {schedule.frames:,}; {right}")


class Trainer:
    """Laboratory, actor and learner of one run, and its folder."""

    def __init__(
        self, config: RunConfig, folder: RunFolder, acting: "Callable[[Trainer], Source] | None" = None
    ) -> None:
        """acting: who acts; by default the lanes of this process, and of the other workers where there are several."""
        config = settled(config, threads=1)
        self.config, self.folder = config, folder
        own = share_of(config)
        self.actor = build_actor(own)
        self.laboratory, self.agent = self.actor.laboratory, self.actor.agent
        shuffling = torch.Generator().manual_seed(stream(config.seed, "batches"))
        team = Team(config, self.actor) if config.learning.workers > 1 else None
        if team is not None and acting is not None:
            had = config.learning.workers
            raise ValueError(f"workers is {had}; a cluster's learner works alone: begin with --learning.workers 1")
        add_up = team.add_up if team is not None else None
        self.learner = Learner(self.agent, self.actor.cache, own.learning, shuffling, add_up)
        self.frames, self.rounds, self.number = 0, 0, 0  # number: of the last checkpoint
        self.minutes, self.frames_before = 0.0, 0  # of training before this process, or this call of `run`
        self._started = time.monotonic()
        self._trials: list[pl.DataFrame] = []  # since the last checkpoint
        self._metrics: list[dict[str, Any]] = []  # lines since the last checkpoint
        self._gathered: list[dict[str, Any]] = []  # rounds since the last line
        self._recent = Recent()
        self._parts: dict[int, PartFacts] = {}  # of the trial table
        self._interrupted: list[bool] = []  # fills up while somebody asks the run to stop
        self.say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)
        self.source: Source = acting(self) if acting is not None else team or OwnLanes(self.actor)

    @property
    def minutes_trained(self) -> float:
        return self.minutes + (time.monotonic() - self._started) / 60

    # One round.

    def round(self) -> dict[str, Any]:
        """Act and learn in turns until vision has learned, too; returns the metrics, averaged over updates."""
        turns: list[dict[str, float]] = []
        frames, updates = self.frames, self.learner.updates
        # An unroll may do no more than wait for a batch; only after vision has learned may a run be saved.
        while self.learner.updates == updates or not self.learner.at_rest:
            unroll = self.source.unroll()
            turns.append(self.learner.learn(unroll, self.frames) | self.source.metrics())
            self.frames += unroll.frames * self.config.learning.workers
        self.rounds += 1
        trials = self.source.take_trials()
        self._trials.append(trials)
        self._recent.add(trials)
        return means(turns) | {"reward_rate": 1000 * float(trials["reward"].sum()) / (self.frames - frames)}

    # The whole run.

    def run(
        self,
        limits: Limits,
        report: Callable[[dict[str, Any]], None] = lambda row: None,
        checkpoint_minutes: float = CHECKPOINT_MINUTES,
    ) -> str:
        """Train until a limit is reached or somebody interrupts; returns why it stopped.

        If a limit has been reached already, nothing is done and nothing is written.
        """
        limits.check(self.config.learning.schedule)
        self._started = time.monotonic()
        if (reason := self._done(limits, [])) is not None:
            return reason
        try:
            with self.folder.locked(), patient_interrupts() as self._interrupted:
                self._status("running")
                return self._run(limits, report, checkpoint_minutes)
        finally:
            self.minutes, self.frames_before, self._started = self.minutes_trained, self.frames, time.monotonic()

    def _run(self, limits: Limits, report: Callable[[dict[str, Any]], None], checkpoint_minutes: float) -> str:
        last_checkpoint = time.monotonic()
        with Curves(self.folder.tensorboard, self.frames, self.say) as curves:
            try:
                while (reason := self._done(limits, self._interrupted)) is None:
                    self._gathered.append(self.round())
                    report(self._row(self._gathered[-1:]))
                    if self.rounds % LOG_ROUNDS == 0:
                        row = self._row(self._gathered)
                        self._metrics.append(row)
                        self._gathered.clear()
                        curves.add(row, self.frames)
                    if time.monotonic() - last_checkpoint > 60 * checkpoint_minutes:
                        self.save()
                        last_checkpoint = time.monotonic()
            except NotFiniteError:
                self.folder.append_metrics(self._metrics)  # they may explain it; a resumed run sets them aside
                self._status("failed")
                raise
            except SourceLost as lost:
                self.learner.come_to_rest()
                self.save()
                self._status("stopped", reason=str(lost))
                raise
            self.save()
            self._status("stopped" if reason == "interrupted" else "finished", reason=reason)
        return reason

    def _done(self, limits: Limits, interrupted: list[bool]) -> str | None:
        if interrupted:
            return "interrupted"
        if self.frames >= (self.config.learning.schedule.frames if limits.frames is None else limits.frames):
            return "frames"
        if limits.minutes is not None and self.minutes_trained >= limits.minutes:
            return "minutes"
        if limits.criterion is not None and self._recent.full and self._recent.criterion() >= limits.criterion:
            return "criterion"
        return None

    def _row(self, gathered: list[dict[str, Any]]) -> dict[str, Any]:
        """Metrics of these rounds, averaged, with counters and scores."""
        counters: dict[str, Any] = {"round": self.rounds, "frames": self.frames, "updates": self.learner.updates}
        counters["minutes"] = self.minutes_trained
        counters |= self.source.counters()
        return counters | means(gathered) | self._recent.scores()

    def _status(self, state: str, **facts: Any) -> None:
        scores = {"frames": self.frames, "minutes": self.minutes_trained, **self._recent.scores()}
        controller = self.config.agent.controller
        self._write(lambda: self.folder.write_status(state, controller=controller, **scores, **facts))

    # Saving and resuming.

    def save(self) -> None:
        """Write trials, metrics and a checkpoint. While the disk is full the run waits; see `_write`."""
        number = self.number + 1
        trials = pl.concat([*self._trials, self.source.take_trials()])
        self._trials = [trials]  # until they are written
        self._parts[number] = self._write(lambda: self.folder.write_trials(number, trials))
        self._write(lambda: self.folder.append_metrics(self._metrics))
        self._metrics = []
        tensors = nest("agent", self.agent.state_dict()) | nest("actor", self.source.state_dict())
        tensors |= nest("learner", self.learner.state_dict()) | nest("recent", self._recent.state_dict())
        counters = {"rounds": self.rounds, "frames": self.frames, "minutes": self.minutes_trained}
        checkpoint = Checkpoint(number, tensors, counters | {"gathered": self._gathered}, self._notes())
        self._write(lambda: write_checkpoint(self.folder.checkpoints, checkpoint))
        self.number, self._trials = number, []
        self._status("running")

    def _notes(self) -> Notes:
        lines = read_lines(self.folder.path / METRICS).up_to(self.rounds)
        parts = {str(number): facts for number, facts in self._parts.items()}
        return {"config": self.config.to_json(), "parts": parts, "metrics_sha256": metrics_checksum(lines)}

    def _write(self, write: Callable[[], Written]) -> Written:
        """Write to the run's folder; if the disk is full, wait for room until somebody interrupts the run."""
        asked = len(self._interrupted)
        return patiently(write, lambda: len(self._interrupted) > asked, self.say)

    def load(self) -> list[str]:
        """Continue from the newest whole checkpoint; returns a line about everything damaged in the run's folder.

        Damaged checkpoints are passed over; damaged records, and what is newer than the checkpoint, are set aside. A
        run that ended before its first checkpoint begins again, which gives the same run.
        """
        try:
            checkpoint, complaints = newest_checkpoint(self.folder.checkpoints)
        except FileNotFoundError:
            refuse_records(self.folder)
            return list(map(str, cut_back(self.folder.path, Known(0, 0, {}, metrics_checksum([])))))
        check_settings(self.config, checkpoint, self.folder.config)
        tensors, counters, known = checkpoint.tensors, checkpoint.counters, checkpoint.known()
        load_weights(self.agent, unnest("agent", tensors), self.folder.path)
        try:
            self.source.load_state_dict(unnest("actor", tensors))
            self.learner.load_state_dict(unnest("learner", tensors))
            self._recent.load_state_dict(unnest("recent", tensors))
            self._gathered = [{name: float(value) for name, value in row.items()} for row in counters["gathered"]]
            self.minutes, self.frames = float(counters["minutes"]), checkpoint.counter("frames")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
            wrong = f"lacks {error}" if isinstance(error, KeyError) else f"does not fit ({error})"
            raise ValueError(
                f"{self.folder.path}: the checkpoint {wrong}; go on with the version of gnomon that wrote it"
            ) from None
        self.number, self.rounds, self._parts = checkpoint.number, known.rounds, dict(known.parts)
        self.frames_before = self.frames
        return [*complaints, *map(str, cut_back(self.folder.path, known))]


def refuse_records(folder: RunFolder) -> None:
    """ValueError if a run without a checkpoint holds records: to begin again would mix two runs."""
    published = (folder.path / "published.json").exists() or (folder.path / "weights.safetensors").exists()
    records = records_without_checkpoint(folder.path, folder.read_status().get("frames"), published)
    if records:
        raise ValueError(
            f"{folder.path} has no checkpoint to go on from, but {records}; nothing was touched. Put checkpoints/ back "
            f"from a copy, or begin a new run: copy {quote(str(folder.config))} to a new folder and --resume that"
        )


@contextmanager
def patient_interrupts() -> Iterator[list[bool]]:
    """Ctrl-C (or SIGTERM) once asks the loop to end after the round, twice stops now. Yields a list that fills up."""
    asked: list[bool] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start(config: RunConfig, path: Path, acting: Callable[[Trainer], Source] | None = None) -> Trainer:
    """A new run in a new folder."""
    folder = RunFolder(path)
    config = settled(config, torch.get_num_threads() if acting is None else 1)
    trainer = Trainer(config, folder, acting)
    folder.create(config.to_json())
    return trainer


def resume(path: Path, acting: Callable[[Trainer], Source] | None = None) -> tuple[Trainer, list[str]]:
    """The run in this folder where its newest whole checkpoint left it."""
    folder = RunFolder(path)
    folder.require()
    with folder.locked():  # loading cuts the folder back to the checkpoint
        config = read_config(folder.config)
        trainer = Trainer(settled(config, torch.get_num_threads() if acting is None else 1), folder, acting)
        complaints = trainer.load()
        if trainer.config != config:
            write_text(folder.config, trainer.config.to_json())
        folder.note_versions()
        return trainer, complaints
