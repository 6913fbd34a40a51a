"""How does a learning agent keep time? An open laboratory for interval timing in deep reinforcement learning agents.

Importing this makes the tasks known to Gymnasium, and offers what a notebook needs most, loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from gnomon.analysis.performance import production
    from gnomon.gym import TimingEnv, TimingVectorEnv, register_task
    from gnomon.lab.laboratory import Laboratory
    from gnomon.lab.optics import OpticsConfig
    from gnomon.lab.tasks import TASKS, Bisection, CuedProduction, Discrimination, ReadySetGo
    from gnomon.published.agents import load_agent
    from gnomon.records.trials import read_trials
    from gnomon.subjects.evaluation import evaluate

__all__ = [
    "TASKS", "Bisection", "CuedProduction", "Discrimination", "Laboratory", "OpticsConfig", "ReadySetGo", "TimingEnv",
    "TimingVectorEnv", "evaluate", "load_agent", "production", "read_trials", "register_task",
]  # fmt: skip

WHERE = {
    "gnomon.analysis.performance": ("production",),
    "gnomon.gym": ("TimingEnv", "TimingVectorEnv", "register_task"),
    "gnomon.lab.laboratory": ("Laboratory",),
    "gnomon.lab.optics": ("OpticsConfig",),
    "gnomon.lab.tasks": ("TASKS", "Bisection", "CuedProduction", "Discrimination", "ReadySetGo"),
    "gnomon.published.agents": ("load_agent",),
    "gnomon.subjects.evaluation": ("evaluate",),
    "gnomon.records.trials": ("read_trials",),
}
"""The module of each name."""

ENVIRONMENTS = {
    "Bisection": "bisection",
    "CuedProduction": "cued_production",
    "Discrimination": "discrimination",
    "ReadySetGo": "ready_set_go",
    "ReadySetGoPsychlab": "ready_set_go_psychlab",
}
"""Task of each Gymnasium id, `gnomon/<key>-v0`. Written out, since looking them up would import PyTorch."""

for identity, task_name in ENVIRONMENTS.items():
    gymnasium.register(
        f"gnomon/{identity}-v0",
        entry_point="gnomon.gym:TimingEnv",
        vector_entry_point="gnomon.gym:TimingVectorEnv",
        kwargs={"task": task_name},
    )


def __getattr__(name: str) -> Any:
    for module, names in WHERE.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
