"""One short file per paradigm. Importing this package registers them all."""

from gnomon.lab.tasks import bisection, cued_production, discrimination, ready_set_go
from gnomon.lab.tasks.base import TASKS, Gaze, Outcome, Task, register
from gnomon.lab.tasks.bisection import Bisection
from gnomon.lab.tasks.cued_production import CuedProduction
from gnomon.lab.tasks.discrimination import Discrimination
from gnomon.lab.tasks.ready_set_go import PAPER, PSYCHLAB, ReadySetGo

__all__ = [
    "PAPER", "PSYCHLAB", "TASKS", "Bisection", "CuedProduction", "Discrimination", "Gaze", "Outcome",
    "ReadySetGo", "Task", "bisection", "cued_production", "discrimination", "ready_set_go", "register",
]  # fmt: skip
