"""One config for a run: task, optics, agent, learning, seed. Frozen, checked when built, saved as JSON."""

import dataclasses
import json
import math
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnomon.agent.agent import AgentConfig
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import TASKS, ReadySetGo, Task


@dataclass(frozen=True)
class LearningConfig:
    """How the agent learns. Losses are sums over a batch; `gnomon.learn.schedule` says what changes when."""

    lanes: int = 512
    """Subjects that act at once."""
    unroll: int = 100
    """Frames of a trajectory."""
    batch: int = 128
    """Trajectories of an update."""
    rewards_per_batch: float = 0.0
    """While rewards are rare, batches grow until they hold about this many; 0 keeps them at `batch`."""
    vision_every: int = 1
    """Updates of the controller and the heads between two of vision, which learns from their summed gradients."""
    discount: float = 0.99
    """Discount per frame."""
    entropy_cost: float = 0.003
    """Weight of the policy's entropy (nats, summed over frames) at the start."""
    final_entropy_cost: float | None = 0.0002
    """Weight of the entropy when the mastered task has been polished; none keeps it."""
    value_cost: float = 0.5
    """Weight of the value loss."""
    critic_memory: float | None = 0.95
    """Memory, per update, of the values that are solved for V-trace (`gnomon.learn.critic`); none: it uses the value
    head's, which learns by gradients."""
    critic_told: bool = False
    """Whether solved values are told the time: how long ago the trial and its parts began, or when they will. The agent
    is not. A critic that sees no more than an agent without memory mistakes late moments for early ones."""
    value_until: float | None = 0.75
    """Best share of rewarded trials from which on the value loss teaches the value head only, if values are solved;
    the controller learns from it less and less from two thirds of that on. None: it learns from it all along."""
    horizon: int | None = None
    """Steps that V-trace and the losses see at a time ("10-step RL": 10); none for the whole trajectory."""
    learning_rate: float = 1e-3
    """Adam's step for the controller and the policy, at the start."""
    vision_learning_rate: float = 1e-4
    """Adam's step for vision, at the start."""
    vision_frames: int = 2_000_000
    """Frames during which vision learns; then it stays as it is, and the rest learns on firm ground, and faster."""
    final_learning_rate: float = 0.0005
    """Share of both learning rates that is left for the last 6 % of the run; they fall to it from half-way on."""
    careful_learning_rate: float = 0.1
    """Share of both learning rates that is left once 90 % of trials were rewarded; they fall from 50 % on."""
    mastery: float = 0.85
    """Share of rewarded trials at which the task counts as mastered; above 1 for never. Polishing begins."""
    polish_frames: int = 8_000_000
    """Frames of polishing over which the entropy's weight falls and the graded reward narrows."""
    grading: float | None = 20.0
    """Frames of error at which the graded reward has fallen to 1/e; it is gone for the last 3 % of the run. None: the
    task's own reward all along."""
    final_grading: float | None = 8.0
    """The same when the mastered task has been polished; none keeps it."""
    repay_discount: bool = False
    """Whether the graded reward pays back what discounting takes from Ready to the response."""
    trust: float | None = 3e-3
    """Divergence (nats per frame) of the policy that learns from the one that acted, mean of a round, above which the
    steps of the coming rounds shrink; below it they grow again, to what is set above. None: no limit."""
    lost: float | None = 0.5
    """Share of the best success below which the task counts as lost: the weights of a better time are put back, and
    steps are smaller by 30 % at first. None: never."""
    whiten: bool = False
    """Whether the controller's input weights begin and learn in whitened coordinates (`gnomon.learn.whitening`)."""
    adam_betas: tuple[float, float] = (0.9, 0.95)
    """Adam's memory of the gradient and of its square, per update."""
    adam_epsilon: float = 1e-4
    """Adam's epsilon, for gradients of summed losses."""
    clip_norm: float = 1000.0
    """Largest norm of a gradient, of the controller and heads and of vision apart."""
    frames: int = 60_000_000
    """Length of the run unless it is limited otherwise."""
    settling: float | None = 0.1
    """Share of the way by which the state that episodes begin with moves, after each round, to the mean state of lanes
    between two trials: so an episode's first trial is like the others. None: episodes begin with empty memories."""
    stagger: bool = True
    """Whether lanes start at different points of their first episode."""
    dedup: bool = True
    """Never look twice: run vision on distinct observations only."""
    device: str = "cpu"
    """Where to compute: cpu, cuda, cuda:1, ..."""

    def __post_init__(self) -> None:
        for name in ("lanes", "unroll", "batch", "vision_every", "vision_frames", "polish_frames", "frames"):
            positive(self, name, at_least=1)
        for name in ("learning_rate", "vision_learning_rate", "adam_epsilon", "clip_norm"):
            positive(self, name)
        for name in ("mastery", "rewards_per_batch", "entropy_cost", "final_entropy_cost", "value_cost"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"{name} is {value}; it must be a number of at least 0")
        for name in ("grading", "final_grading", "trust", "value_until"):
            if getattr(self, name) is not None:
                positive(self, name)
        if self.repay_discount and not (self.grading and self.discount):
            raise ValueError(
                "repay_discount needs a grading and a discount above 0: it is the graded reward that repays"
            )
        if self.critic_memory is not None and not 0 <= self.critic_memory < 1:
            raise ValueError(f"critic_memory is {self.critic_memory}; it must be at least 0 and below 1, or none")
        if self.critic_told and self.critic_memory is None:
            raise ValueError("critic_told is on, but critic_memory is none: only values that are solved can be told")
        if not 0 <= self.discount <= 1:
            raise ValueError(f"discount is {self.discount}; it must lie between 0 and 1")
        for name in ("final_learning_rate", "careful_learning_rate", "lost", "settling"):
            if getattr(self, name) is not None and not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it is a share, from 0 to 1")
        if self.horizon is not None and self.horizon < 1:
            raise ValueError(f"horizon is {self.horizon}; it must be at least 1 step, or none")
        if any(not 0 <= beta < 1 for beta in self.adam_betas):
            raise ValueError(f"adam_betas is {self.adam_betas}; both must be at least 0 and below 1")


def positive(config: Any, name: str, at_least: float | None = None) -> None:
    value = getattr(config, name)
    if not (0 < value < math.inf if at_least is None else at_least <= value < math.inf):
        raise ValueError(f"{name} is {value}; it must be " + (f"at least {at_least}" if at_least else "above 0"))


@dataclass(frozen=True)
class RunConfig:
    """Everything that a run's outcome depends on, but the machine and the versions."""

    task: Task = field(default_factory=ReadySetGo)
    optics: OpticsConfig = field(default_factory=OpticsConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    seed: int = 0
    """Of everything random in the run."""

    def to_json(self) -> str:
        config = dataclasses.asdict(self)
        config["task"] = {"name": self.task.name, **config["task"]}
        return json.dumps(config, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "RunConfig":
        """Read a saved config; settings it does not name keep their defaults. ValueError if it is not one."""
        config = json.loads(text)
        if not isinstance(config, dict):
            raise ValueError("a config is a JSON object")
        unknown = sorted(set(config) - {f.name for f in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(f"a config has no part {', '.join(unknown)}")
        task = dict(config.get("task", {}))
        name = task.pop("name", ReadySetGo.name)
        if name not in TASKS:
            raise ValueError(f"unknown task {name!r}; choose {', '.join(TASKS)}")
        parts = {"task": build(TASKS[name], task), "seed": config.get("seed", 0)}
        for part, kind in (("optics", OpticsConfig), ("agent", AgentConfig), ("learning", LearningConfig)):
            parts[part] = build(kind, config.get(part, {}))
        return cls(**parts)


def read_config(path: Path) -> RunConfig:
    """The config in this file; an error names the file."""
    try:
        return RunConfig.from_json(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def build(kind: type, settings: dict[str, Any]) -> Any:
    """A config dataclass from plain JSON values; lists become the tuples that its fields declare."""
    hints = typing.get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise ValueError(f"{kind.__name__} has no setting {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    try:
        return kind(**{name: as_declared(hints[name], value) for name, value in settings.items()})
    except TypeError as error:  # such as text where a number belongs
        raise ValueError(f"{kind.__name__}: {error}") from None


def as_declared(hint: Any, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(as_declared(None, item) for item in value)
    if value is not None and isinstance(hint, types.UnionType):
        hint = next(kind for kind in typing.get_args(hint) if kind is not types.NoneType)
    return float(value) if hint is float and isinstance(value, int) else value
