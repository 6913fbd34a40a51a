"""`gnomon train`: train an agent, or go on with a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

if TYPE_CHECKING:
    from rich.console import Console

    from gnomon.config import RunConfig
    from gnomon.learn.loop import Limits, Trainer
    from gnomon.learn.source import Source


@dataclass(frozen=True)
class Train:
    """Train an agent, or go on with a run (--resume).

    Without options: an LSTM learns Ready-Set-Go from pixels with the laptop preset. Ctrl-C once stops after the
    present round with a checkpoint, twice stops now.
    """

    preset: str = "laptop"
    """Where all other defaults come from: laptop (for one core) or paper (plain IMPALA as printed)."""
    task_name: str = "ready_set_go"
    """What to train on: ready_set_go, cued_production, bisection or discrimination."""
    setting: str | None = None
    """Settings of the task that ship by name: paper or psychlab for ready_set_go."""
    seed: int = 0
    """Seed of everything random in the run."""
    name: str | None = None
    """Name of the run; by default task, controller and seed."""
    runs: Path = Path("runs")
    """Folder in which runs are kept."""
    resume: Path | None = None
    """Go on with the run in this folder, with its own settings; only limits, threads and a cluster besides."""
    frames: int | None = None
    """Stop after this many frames in all; by default the length of the schedule (--learning.schedule.frames)."""
    minutes: float | None = None
    """Stop after this many minutes of training."""
    criterion: float | None = None
    """Stop when this share of the last 5,000 trials missed the interval by less than 8 frames."""
    threads: int | None = None
    """Threads to compute with; by default all cores, and for a resumed run as many as before.

    Another number may change the last bits of a sum, and so the course of a run."""
    cluster: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[ADDRESS]")] = None
    """Let pools of lanes on a Ray cluster act; needs gnomon[cluster]. ADDRESS is host:port, or auto for the cluster
    that this machine belongs to; without one it is RAY_ADDRESS, or else this machine alone."""
    pools: int | None = None
    """With --cluster: pools, each of --learning.lanes lanes; by default all there is room for, but one."""
    pool_cpus: int = 1
    """With --cluster: CPUs of each pool."""
    ahead: int = 1
    """With --cluster: unrolls that a pool may be ahead of the learner; 0: it acts only when asked."""


WITH_RESUME = ("resume", "frames", "minutes", "criterion", "threads", "cluster", "pools", "pool-cpus", "ahead", "help")
"""Options that a resumed run takes: it keeps its own settings."""


def options_for(arguments: Sequence[str]) -> type[Train]:
    """The options, with the settings of task, optics, agent and learning as the preset has them."""
    from gnomon.agent.agent import AgentConfig

    options = [word for word in words_of(arguments) if word.startswith("--")]
    others = [option for option in options if option.removeprefix("--") not in WITH_RESUME]
    if "--resume" in options and others:
        raise ValueError(
            f"{others[0]} does not go with --resume: a resumed run keeps its own settings; give only --frames, "
            "--minutes, --criterion, --threads, --cluster"
        )
    defaults = chosen_preset(arguments)
    parts = [
        ("agent", Annotated[AgentConfig, tyro.conf.arg(name="")], field(default=defaults.agent)),
        *((n, type(getattr(defaults, n)), field(default=getattr(defaults, n))) for n in ("task", "optics", "learning")),
    ]
    return make_dataclass("Train", parts, bases=(Train,), frozen=True, namespace={"__doc__": Train.__doc__})


def chosen_preset(arguments: Sequence[str]) -> RunConfig:
    """The preset for the task, its setting and the controller that are named among the arguments."""
    from gnomon.commands.tasks import build_task
    from gnomon.presets import preset

    words = words_of(arguments)

    def named(option: str, otherwise: str) -> str:
        places = [place for place, word in enumerate(words[:-1]) if word == option]
        return words[places[-1] + 1] if places else otherwise

    config = preset(named("--preset", "laptop"), named("--task-name", "ready_set_go"), named("--controller", "lstm"))
    setting = named("--setting", "")
    return replace(config, task=build_task(config.task.name, setting)) if setting else config


def words_of(arguments: Sequence[str]) -> list[str]:
    """What was typed, with options and their values apart."""
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    return [word.replace("_", "-") if word.startswith("--") else word for word in words]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_config(options: Any) -> RunConfig:
    """The config that the command line describes."""
    from gnomon.config import RunConfig

    if options.task.name != options.task_name:
        raise ValueError(f"--task-name is {options.task_name}, but the settings are those of {options.task.name}")
    return RunConfig(options.task, options.optics, options.agent, options.learning, options.seed)


def train(options: Any) -> None:
    """Run the command; the options are those of `options_for`."""
    import torch

    from gnomon.commands.printing import console as make_console
    from gnomon.learn.loop import Limits
    from gnomon.learn.malloc import keep_freed_memory
    from gnomon.records.runs import RunFolder

    console = make_console()
    before = RunFolder(options.resume).threads() if options.resume is not None else None
    threads = options.threads or before or cores()
    if threads < 1 or options.threads == 0:
        raise ValueError(f"threads is {options.threads}; it must be at least 1")
    if before not in (None, threads):
        console.print(
            f"the run had {before} threads, now {threads}: it will not be the same to the last bit", style="yellow"
        )
    torch.set_num_threads(threads)
    keep_freed_memory()
    config = run_config(options)
    limits = Limits(options.frames, options.minutes, options.criterion)
    with who_acts(options, console) as acting:
        train_run(options, config, limits, acting, console)


@contextmanager
def who_acts(options: Train, console: Console) -> Iterator[Callable[[Trainer], Source] | None]:
    """The pools of the cluster that is asked for, or none: then the lanes of this process act."""
    if options.cluster is None:
        for name in ("pools", "pool_cpus", "ahead"):
            if getattr(options, name) != getattr(Train, name):
                raise ValueError(f"--{name.replace('_', '-')} is for runs on a cluster; give --cluster, too")
        yield None
        return
    from gnomon.cluster.apart import joined_apart
    from gnomon.cluster.start import make_plan

    with joined_apart(cluster_address(options.cluster), cores()) as ray:
        resources = ray.resources
        plan = make_plan(resources, options.pools, options.pool_cpus, options.ahead)
        from gnomon.cluster.pools import Pools

        console.print(f"cluster with {resources}: {plan.pools} pools of {plan.cpus} CPU, {plan.ahead} unrolls ahead")
        yield lambda trainer: Pools(trainer, plan, resources, ray)


def cluster_address(typed: tuple[str, ...]) -> str | None:
    """The address after --cluster, if there is one."""
    if len(typed) > 1:
        raise ValueError(f"--cluster takes one address, got {' '.join(typed)}")
    return typed[0] if typed else None


def train_run(
    options: Any, config: RunConfig, limits: Limits, acting: Callable[[Trainer], Source] | None, console: Console
) -> None:
    """Begin the run, or go on with it, until a limit is reached."""
    from gnomon.commands.printing import command
    from gnomon.commands.training_view import run_with_progress
    from gnomon.learn.learner import NotFiniteError
    from gnomon.learn.loop import resume, start
    from gnomon.learn.source import SourceLost
    from gnomon.sweep.experiment import NAME, NAMES

    if options.resume is not None:
        trainer, complaints = resume(options.resume, acting)
        for complaint in complaints:
            console.print(f"damaged: {complaint}", style="yellow")
        console.print(f"resuming {trainer.folder.path} at {trainer.frames:,} frames")
    else:
        name = options.name
        if name is None:
            name = f"{config.task.name}-{config.agent.controller}-{config.seed}"
        elif not NAME.fullmatch(name):
            raise ValueError(f"--name is {name!r}; {NAMES}. --runs is the folder")
        limits.check(config.learning.schedule)
        trainer = start(config, options.runs / name, acting)
        console.print(f"training {name}: {config.agent.controller}, {config.agent.units} units, seed {config.seed}")
    rounds, trainer.say = trainer.rounds, lambda line: console.print(line, style="yellow")
    again = command("gnomon", "train", "--resume", trainer.folder.path)
    try:
        reason = run_with_progress(trainer, limits, console)
    except NotFiniteError as error:
        kept = f"the last good checkpoint is in {trainer.folder.checkpoints}" if trainer.number else "no checkpoint yet"
        raise ValueError(
            f"{error}; {kept}. Try a new run with a lower --learning.optimiser.learning-rate or "
            "--learning.optimiser.clip-norm"
        ) from None
    except SourceLost as error:
        raise ValueError(
            f"{error}; the run is saved at {trainer.frames:,} frames. Go on here with: {again}, or on a cluster with "
            "--cluster besides"
        ) from None
    except OSError as error:
        raise ValueError(
            f"{error}; what came after checkpoint {trainer.number} is lost. When there is room, go on with: {again}"
        ) from None
    if trainer.rounds == rounds:
        console.print(f"nothing to do: the run is at {trainer.frames:,} frames; {more_to_do(trainer)}")
        return
    say_what_is_next(trainer, reason, console)
    if counts := trainer.source.counters():
        console.print("cluster       " + ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items()))


def more_to_do(trainer: Trainer) -> str:
    """What would let a run go on that has reached its limits."""
    schedule = trainer.config.learning.schedule
    if trainer.frames >= schedule.frames and not schedule.final_learning_rate:
        return "its schedule is over, and learning rates are 0; begin a new run with more --learning.schedule.frames"
    return "give more --frames, --minutes"


def say_what_is_next(trainer: Trainer, reason: str, console: Console) -> None:
    from gnomon.commands.printing import command

    path = trainer.folder.path
    console.print(
        {
            "interrupted": "stopped, as asked",
            "frames": "done: all frames",
            "minutes": "done: time is up",
            "criterion": "done: the criterion is reached",
        }[reason]
        + f", after {trainer.frames:,} frames and {trainer.minutes_trained:.1f} minutes"
    )
    console.print(f"run folder    {path}")
    console.print("curves        " + command("tensorboard", "--logdir", trainer.folder.tensorboard))
    console.print("try next      " + command("gnomon", "evaluate", path))
    if reason != "criterion" and trainer.frames < trainer.config.learning.schedule.frames:
        console.print("or go on      " + command("gnomon", "train", "--resume", path))
