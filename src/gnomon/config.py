"""One config for a run: task, optics, agent, learning, seed. Frozen, checked when built, saved as JSON.

Every default of learning is the paper's, or named as ours where the paper is silent (docs/fidelity.md).
"""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnomon.agent.agent import AgentConfig
from gnomon.declared import build, parse_json
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import TASKS, ReadySetGo, Task

WHOLE = 2**63 - 1  # the largest whole number that files and tensors hold
MANY = 2**20  # lanes, frames of a trajectory, trajectories of a batch: more would not fit into any memory
FORMAT = 6  # of config.json
PRECISIONS = ("single", "bfloat16")


@dataclass(frozen=True)
class Optimiser:
    """Adam, one for the controller and the heads and one for vision. Losses are sums over a batch."""

    learning_rate: float = 1e-5
    """Of the controller and the heads (the policy and value networks), at the start."""
    vision_learning_rate: float = 1e-5
    """Of vision, at the start."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Adam's decay of the gradient and of its square, per update."""
    epsilon: float = 1e-4
    """Adam's epsilon, for gradients of summed losses."""
    clip_norm: float = 40.0
    """Largest norm of a gradient, of the controller and heads and of vision apart."""
    vision_every: int = 1
    """Updates of the controller and the heads between two of vision, which learns from their summed gradients."""
    vision_sample: int = 0
    """Observations that an update of vision learns from, drawn at random, and that are seen anew after it; 0: all."""

    def __post_init__(self) -> None:
        require(self, "learning_rate", "vision_learning_rate", "epsilon", "clip_norm", above=0)
        require(self, "vision_every", at_least=1)
        require(self, "vision_sample", at_least=0)
        if any(not 0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas is {self.betas}; both must be at least 0 and below 1")


@dataclass(frozen=True)
class Loss:
    """The IMPALA loss, summed over time and batch."""

    discount: float = 0.99
    """Discount per frame."""
    value_cost: float = 0.5
    """Weight of the value loss (the paper's baseline cost)."""
    entropy_cost: float = 0.01
    """Weight of the policy's entropy (nats) at the start."""
    horizon: int = 0
    """Steps that V-trace and the losses see at a time ("10-step RL": 10); 0 is the whole trajectory."""

    def __post_init__(self) -> None:
        require(self, "value_cost", "entropy_cost", "horizon", at_least=0)
        if not 0 <= self.discount <= 1:
            raise ValueError(f"discount is {self.discount}; it must lie between 0 and 1")


@dataclass(frozen=True)
class Schedule:
    """How long a run is, and how learning rates and the entropy cost fall in its course."""

    frames: int = 3_200_000_000
    """Length of the run unless it is limited otherwise."""
    final_learning_rate: float = 1.0
    """Share of the learning rates that is left at the end; they fall in a straight line."""
    final_entropy: float = 1.0
    """Share of the entropy cost that is left at the end; it falls in equal ratios."""

    def __post_init__(self) -> None:
        require(self, "frames", at_least=1)
        if not 0 <= self.final_learning_rate <= 1:
            raise ValueError(f"final_learning_rate is {self.final_learning_rate}; it is a share, from 0 to 1")
        require(self, "final_entropy", above=0)

    def rate_left(self, frames: int) -> float:
        """Share of the learning rates that is left after these frames."""
        return 1 - (1 - self.final_learning_rate) * self._done(frames)

    def entropy_left(self, frames: int) -> float:
        """Share of the entropy cost that is left after these frames."""
        return self.final_entropy ** self._done(frames)

    def _done(self, frames: int) -> float:
        return min(1.0, frames / self.frames)


@dataclass(frozen=True)
class LearningConfig:
    """How the agent learns: IMPALA."""

    lanes: int = 200
    """Subjects that act at once (the paper's actors)."""
    unroll: int = 100
    """Frames of a trajectory."""
    batch: int = 32
    """Trajectories of an update."""
    optimiser: Optimiser = field(default_factory=Optimiser)
    loss: Loss = field(default_factory=Loss)
    schedule: Schedule = field(default_factory=Schedule)
    workers: int = 1
    """Processes that share lanes and batches, one core each; 0: one for every thread, where it pays."""
    device: str = "cpu"
    """Where to compute: cpu, cuda, cuda:1, ..."""
    precision: str = "single"
    """Of the matrix products of vision and of a recurrent memory: single, or bfloat16, where the processor has it."""

    def __post_init__(self) -> None:
        require(self, "lanes", "unroll", "batch", at_least=1, at_most=MANY)
        require(self, "workers", at_least=0, at_most=MANY)
        if self.precision not in PRECISIONS:
            raise ValueError(f"unknown precision {self.precision!r}; choose {', '.join(PRECISIONS)}")


def require(
    config: Any, *names: str, at_least: float | None = None, above: float | None = None, at_most: float = WHOLE
) -> None:
    """Raise unless these settings are finite numbers of at least, or above, a bound, and within a limit."""
    for name in names:
        value = getattr(config, name)
        bound = at_least if at_least is not None else above
        assert bound is not None
        if not (value < math.inf and (value >= bound if above is None else value > bound)):
            raise ValueError(f"{name} is {value}; it must be {'at least' if above is None else 'above'} {bound:g}")
        if value > at_most:
            raise ValueError(f"{name} is {value}; it must be at most {at_most:,}")


@dataclass(frozen=True)
class RunConfig:
    """Everything that a run's outcome depends on, but the machine and the versions."""

    task: Task = field(default_factory=ReadySetGo)
    optics: OpticsConfig = field(default_factory=OpticsConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    seed: int = 0
    """Of everything random in the run."""

    def __post_init__(self) -> None:
        require(self, "seed", at_least=0)

    def to_json(self) -> str:
        config = dataclasses.asdict(self)
        config["task"] = {"name": self.task.name, **config["task"]}
        return json.dumps({"format": FORMAT, **config}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "RunConfig":
        """Read a saved config; settings it does not name keep their defaults. ValueError if it is not one."""
        config = parse_json(text)
        if not isinstance(config, dict):
            raise ValueError("a config is a JSON object")
        number = config.pop("format", None)
        if number != FORMAT:
            raise ValueError(f"format is {number!r}; this version of gnomon reads {FORMAT}")
        task = config.get("task", {})
        if not isinstance(task, dict):
            raise ValueError(f"task is {task!r}; it must be an object with a name")
        name = task.get("name", ReadySetGo.name)
        if not isinstance(name, str) or name not in TASKS:
            raise ValueError(f"unknown task {name!r}; choose {', '.join(TASKS)}")
        own = {key: value for key, value in task.items() if key != "name"}
        parts = {key: value for key, value in config.items() if key != "task"}
        return dataclasses.replace(build(cls, parts), task=build(TASKS[name], own))


PARTS = ("task", "optics", "learning")  # tables of settings; the agent's stand alone, as on the command line


def settings_of(config: RunConfig) -> dict[str, Any]:
    """Every setting of a config by its flat name, as on the command line: "learning.optimiser.epsilon"."""
    settings = dataclasses.asdict(config)
    return {"task_name": config.task.name, **settings.pop("agent"), **flat(settings)}


def flat(table: dict[str, Any], parts: tuple[str, ...] = PARTS) -> dict[str, Any]:
    """Tables with dotted names: {"learning": {"loss": {"horizon": 5}}} -> {"learning.loss.horizon": 5}."""
    settings: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and (not parts or name in parts):
            settings |= {f"{name}.{key}": item for key, item in flat(value, ()).items()}
        else:
            settings[name] = value
    return settings


def differing(before: RunConfig, now: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Every setting in which two configs differ, by its flat name, with both values."""
    one, other = settings_of(before), settings_of(now)
    return {name: (one.get(name), other.get(name)) for name in one | other if one.get(name) != other.get(name)}


def read_config(path: Path) -> RunConfig:
    """The config in this file; an error names the file."""
    try:
        return RunConfig.from_json(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
