"""The training loop: act, learn, log, checkpoint, until a limit is reached. One process, deterministic, resumable."""

import hashlib
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter

from gnomon.agent.agent import Agent
from gnomon.agent.eye import Eye
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.actor import Actor
from gnomon.learn.backtracking import Backtracking
from gnomon.learn.checkpoint import Checkpoint, nest, newest_checkpoint, unnest, write_checkpoint
from gnomon.learn.config import RunConfig, read_config
from gnomon.learn.learner import Learner, NotFiniteError, means
from gnomon.learn.schedule import Standing, rates
from gnomon.learn.source import OwnLanes, Source
from gnomon.records.runs import RunFolder

LOG_ROUNDS = 10  # rounds between two lines of metrics
CHECKPOINT_MINUTES = 2.0
SUCCESS_MEMORY = 0.8  # of the running share of rewarded trials, per round
RECENT_TRIALS = 5_000  # over which scores are computed
TOLERANCE = 8  # frames: the criterion counts productions that miss by less


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


class Trainer:
    """Laboratory, actor and learner of one run, and its folder."""

    def __init__(
        self, config: RunConfig, folder: RunFolder, acting: "Callable[[Trainer], Source] | None" = None
    ) -> None:
        """acting: who acts; by default this process's own lanes."""
        self.config, self.folder = config, folder
        self.actor = build_actor(config)
        self.laboratory, self.agent = self.actor.laboratory, self.actor.agent
        shuffling = torch.Generator().manual_seed(stream(config.seed, "batches"))
        moments = self.laboratory.trials.since().shape[1]
        self.learner = Learner(self.agent, self.actor.eye, config.learning, shuffling, moments)
        self.rounds, self.frames, self.number = 0, 0, 0
        self.minutes, self.frames_before = 0.0, 0  # of training before this process
        self.success, self.best = 0.0, 0.0  # running share of rewarded trials, and the largest so far
        self.mastered: int | None = None  # frame at which it reached `mastery`
        lost = config.learning.lost
        self.backtracking = Backtracking(self.learner, lost) if lost is not None else None
        self._started = time.monotonic()
        self._trials: list[pl.DataFrame] = []  # since the last checkpoint
        self._metrics: list[dict[str, Any]] = []  # lines since the last checkpoint
        self._gathered: list[dict[str, Any]] = []  # rounds since the last line
        self._recent = Recent()
        self.source: Source = OwnLanes(self.actor) if acting is None else acting(self)

    # One round.

    def round(self) -> dict[str, Any]:
        """Act and learn in turns until vision has learned, too; returns the metrics, averaged over updates."""
        turns: list[dict[str, float]] = []
        frames, updates = self.frames, self.learner.updates
        now = rates(self.config.learning, self.standing)
        # An unroll may do no more than wait for a batch; only after vision has learned is the eye's table fresh.
        while self.learner.updates == updates or not self.learner.at_rest:
            unroll = self.source.unroll(now.grading)
            self.frames += unroll.frames
            turns.append(self.learner.learn(unroll, now) | self.source.metrics())
        self.rounds += 1
        trials = self.source.take_trials()
        self._trials.append(trials)
        self._recent.add(trials)
        if len(trials):
            self.success += (1 - SUCCESS_MEMORY) * (rewarded_share(trials) - self.success)
            self.best = max(self.best, self.success)
        if self.mastered is None and self.best >= self.config.learning.mastery:
            self.mastered = self.frames
        reward_rate = 1000 * float(trials["reward"].sum()) / (self.frames - frames)  # the task's own, graded or not
        metrics = means(turns) | {"reward_rate": reward_rate, "graded": now.graded}
        if self.backtracking is not None:
            if self.backtracking.after_round(self.rounds, self.success, self.best):
                self.success = self.best
                self.source.forget()  # what lanes remember is of the weights that were lost
            metrics["backtracked"] = self.backtracking.times
        return metrics

    @property
    def standing(self) -> Standing:
        return Standing(self.frames, self.best, self.mastered)

    @property
    def minutes_trained(self) -> float:
        return self.minutes + (time.monotonic() - self._started) / 60

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
        self._started = time.monotonic()
        if (reason := self._done(limits, [])) is not None:
            return reason
        with self.folder.locked():
            return self._run(limits, report, checkpoint_minutes)

    def _run(self, limits: Limits, report: Callable[[dict[str, Any]], None], checkpoint_minutes: float) -> str:
        last_checkpoint = time.monotonic()
        curves = SummaryWriter(str(self.folder.tensorboard), purge_step=self.frames)
        self._status("running")
        try:
            with patient_interrupts() as interrupted:
                while (reason := self._done(limits, interrupted)) is None:
                    self._gathered.append(self.round())
                    report(self._row(self._gathered[-1:]))
                    if self.rounds % LOG_ROUNDS == 0:
                        self._log(self._row(self._gathered), curves)
                        self._gathered.clear()
                    if time.monotonic() - last_checkpoint > 60 * checkpoint_minutes:
                        self.save()
                        last_checkpoint = time.monotonic()
        except NotFiniteError:
            self.folder.append_metrics(self._metrics)  # they may explain it; a resumed run cuts them off again
            self._status("failed")
            raise
        finally:
            curves.close()
        self.save()
        self._status("stopped" if reason == "interrupted" else "finished", reason=reason)
        return reason

    def _done(self, limits: Limits, interrupted: list[bool]) -> str | None:
        if interrupted:
            return "interrupted"
        if self.frames >= (self.config.learning.frames if limits.frames is None else limits.frames):
            return "frames"
        if limits.minutes is not None and self.minutes_trained >= limits.minutes:
            return "minutes"
        if limits.criterion is not None and self._recent.full and self._recent.criterion() >= limits.criterion:
            return "criterion"
        return None

    def _row(self, gathered: list[dict[str, Any]]) -> dict[str, Any]:
        """Metrics of these rounds, averaged, with counters and scores."""
        counters = {"round": self.rounds, "frames": self.frames, "updates": self.learner.updates}
        counters["minutes"] = self.minutes_trained
        counters |= self.source.counters()
        return counters | means(gathered) | self._recent.scores()

    def _log(self, row: dict[str, Any], curves: SummaryWriter) -> None:
        self._metrics.append(row)
        for name, value in row.items():
            if isinstance(value, int | float):
                curves.add_scalar(name, value, self.frames)

    def _status(self, state: str, **facts: Any) -> None:
        scores = {"frames": self.frames, "minutes": self.minutes_trained, **self._recent.scores()}
        self.folder.write_status(state, controller=self.config.agent.controller, **scores, **facts)

    # Saving and resuming.

    def save(self) -> None:
        """Write trials, metrics and a checkpoint."""
        self.number += 1
        trials, self._trials = pl.concat([*self._trials, self.source.take_trials()]), []
        self.folder.write_trials(self.number, trials)
        self.folder.append_metrics(self._metrics)
        self._metrics = []
        learner, counters = self.learner.state_dict()
        tensors = (
            nest("agent", self.agent.state_dict()) | nest("actor", self.source.state_dict()) | nest("learner", learner)
        )
        tensors |= nest("recent", self._recent.state_dict())
        if self.backtracking is not None:
            tensors |= nest("backtracking", self.backtracking.state_dict())
        progress = {"rounds": self.rounds, "frames": self.frames, "minutes": self.minutes_trained}
        progress |= {"success": self.success, "best": self.best, "mastered": self.mastered}
        progress |= {"gathered": self._gathered, "learner": counters}
        progress |= {"backtracked": self.backtracking.times if self.backtracking else 0}
        write_checkpoint(self.folder.checkpoints, Checkpoint(self.number, tensors, progress))
        self._status("running")

    def load(self) -> list[str]:
        """Continue from the newest whole checkpoint; returns a line about each damaged one that was passed over.

        A run that ended before its first checkpoint begins again, which gives the same run.
        """
        try:
            checkpoint, complaints = newest_checkpoint(self.folder.checkpoints)
        except FileNotFoundError:
            self.folder.cut_back(0, 0)
            return []
        tensors, counters = checkpoint.tensors, checkpoint.counters
        try:
            self.agent.load_state_dict(unnest("agent", tensors))
            self.source.load_state_dict(unnest("actor", tensors))
            self.learner.load_state_dict(unnest("learner", tensors), counters["learner"])
            self._recent.load_state_dict(unnest("recent", tensors))
            self.number, self.rounds, self.frames = checkpoint.number, counters["rounds"], counters["frames"]
            self.minutes, self.frames_before = counters["minutes"], self.frames
            self.success, self._gathered = counters["success"], counters["gathered"]
            self.best, self.mastered = counters["best"], counters["mastered"]
            if self.backtracking is not None:
                self.backtracking.load_state_dict(unnest("backtracking", tensors))
                self.backtracking.times = counters["backtracked"]
        except KeyError as error:
            raise ValueError(
                f"{self.folder.path}: the checkpoint lacks {error}; go on with the version of gnomon that wrote it"
            ) from None
        self.folder.cut_back(self.number, self.rounds)
        return complaints


class Recent:
    """The last trials, for scores: whether each was within tolerance, rewarded, and its sample interval."""

    def __init__(self) -> None:
        self._trials: deque[tuple[int, bool, bool]] = deque(maxlen=RECENT_TRIALS)

    def add(self, trials: pl.DataFrame) -> None:
        done = trials.filter(~pl.col("outcome").is_in(["cut_off", "aborted"]))
        error = (pl.col("production_interval") - pl.col("sample_interval")).abs()
        within = (error < TOLERANCE).fill_null(False) if done["production_interval"].count() else pl.col("reward") > 0
        rows = done.select("sample_interval", within.alias("within"), (pl.col("reward") > 0).alias("rewarded"))
        self._trials.extend(rows.iter_rows())

    @property
    def full(self) -> bool:
        return len(self._trials) == RECENT_TRIALS

    def criterion(self) -> float:
        """Share of trials within 8 frames of the sample interval (in choice tasks: rewarded)."""
        return sum(within for _, within, _ in self._trials) / max(1, len(self._trials))

    def scores(self) -> dict[str, Any]:
        """Shares correct: of all trials, and by sample interval."""
        by_interval: dict[int, list[bool]] = {}
        for interval, within, _ in self._trials:
            by_interval.setdefault(interval, []).append(within)
        shares = {f"criterion_{t}": sum(hits) / len(hits) for t, hits in sorted(by_interval.items())}
        rewarded = sum(rewarded for _, _, rewarded in self._trials) / max(1, len(self._trials))
        return {"criterion": self.criterion(), "rewarded": rewarded, **shares}

    def state_dict(self) -> dict[str, Tensor]:
        return {"trials": torch.tensor([list(map(int, row)) for row in self._trials], dtype=torch.int32).view(-1, 3)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._trials.clear()
        self._trials.extend(
            (interval, bool(within), bool(rewarded)) for interval, within, rewarded in state["trials"].tolist()
        )


def rewarded_share(trials: pl.DataFrame) -> float:
    """Share of trials that earned something."""
    return trials.select((pl.col("reward") > 0).mean()).item()


def stream(seed: int, purpose: str) -> int:
    """A seed of its own for each purpose, so that one draw more here moves nothing there."""
    return int.from_bytes(hashlib.sha256(f"{seed} {purpose}".encode()).digest()[:7], "big")


def usable_device(name: str) -> torch.device:
    """The device of this name, if this machine has it."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        raise ValueError(f"device is {name!r}; this machine has {', '.join(there)}") from None
    return device


def build_actor(config: RunConfig, name: str = "") -> Actor:
    """Lanes, an agent with the run's first weights, its eye, and the actor that has them all.

    The name gives an actor beside the run's first one random numbers of its own.
    """
    learning, device = config.learning, usable_device(config.learning.device)
    laboratory = Laboratory(
        config.task,
        config.optics,
        lanes=learning.lanes,
        seed=stream(config.seed, f"laboratory{name}"),
        stagger=learning.stagger,
        device=device,
    )
    agent = build_agent(config, laboratory).to(device)
    drawing = torch.Generator(device).manual_seed(stream(config.seed, f"actions{name}"))
    drawings = laboratory.observations // laboratory.lattice.count
    eye = Eye(agent, laboratory.render, laboratory.observations, learning.dedup, drawings)
    return Actor(laboratory, agent, eye, drawing, length=learning.unroll)


def build_agent(config: RunConfig, laboratory: Laboratory) -> Agent:
    """The run's agent, with its first weights."""
    generator = torch.Generator().manual_seed(stream(config.seed, "weights"))
    return Agent(config.agent, config.optics.retina, len(laboratory.actions), generator)


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
    trainer = Trainer(config, folder, acting)
    folder.create(config.to_json())
    return trainer


def resume(path: Path, acting: Callable[[Trainer], Source] | None = None) -> tuple[Trainer, list[str]]:
    """The run in this folder where its newest whole checkpoint left it."""
    folder = RunFolder(path)
    folder.require()
    with folder.locked():  # loading cuts the folder back to the checkpoint
        trainer = Trainer(read_config(folder.config), folder, acting)
        return trainer, trainer.load()
