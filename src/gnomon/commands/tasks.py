"""`gnomon tasks`: the timing tasks and their settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

if TYPE_CHECKING:
    from gnomon.lab.tasks import Task


@dataclass(frozen=True)
class Tasks:
    """List the tasks, or every setting of one of them."""

    task: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")] = None
    """The task whose settings to list; all tasks if left out."""


def tasks(options: Tasks) -> None:
    from rich.console import Console

    console = Console()
    if options.task is not None:
        console.print(details(options.task))
        return
    console.print(overview())
    console.print("durations in frames (60 a second), positions and sizes in monitor units (0 to 1)")
    console.print("next: gnomon tasks ready_set_go, gnomon show ready_set_go")


def named_settings() -> dict[str, dict[str, Task]]:
    """The settings that ship by name, of each task; the first are the task's defaults."""
    from gnomon.lab.tasks import TASKS

    return {name: task.named_settings() for name, task in TASKS.items()}


def build_task(name: str, setting: str | None) -> Task:
    """The task of this name with the settings of this name, or with its defaults."""
    known = named_settings()
    settings = known[choose("task", name, known)]
    if setting is None:
        return next(iter(settings.values()))
    return settings[choose(f"setting of {name}", setting, settings)]


def choose(kind: str, name: str, known: Iterable[str]) -> str:
    """The name, if it is a known one; otherwise a ValueError that names the known ones."""
    from difflib import get_close_matches

    if name not in known:
        near = get_close_matches(name, known, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"unknown {kind} {name!r}; {guess}choose {', '.join(known)}")
    return name


def overview() -> Any:
    """A table of all tasks."""
    from rich.table import Table

    from gnomon.lab.tasks import Task

    table = Table("task", "what it asks", "its own settings", "named", show_lines=True)
    shared = attribute_docs(Task)
    for name, settings in named_settings().items():
        task = next(iter(settings.values()))
        own = [f"{key} = {value}" for key, value in vars(task).items() if key not in shared]
        table.add_row(f"[bold]{name}[/]", sentence(task), "\n".join(own), "\n".join(settings))
    return table


def details(name: str) -> Any:
    """A table of one task's settings: their values in each of its named settings, and what they mean."""
    from rich.table import Table

    build_task(name, None)
    settings = named_settings()[name]
    first = next(iter(settings.values()))
    table = Table("setting", *settings, "meaning", title=f"{name}: {sentence(first)}", title_justify="left")
    for key, meaning in attribute_docs(type(first)).items():
        values = [getattr(task, key) for task in settings.values()]
        changed = [str(value) if value != values[0] else "" for value in values[1:]]
        table.add_row(f"[bold]{key}[/]", str(values[0]), *changed, meaning)
    return table


def sentence(task: Task) -> str:
    """The first line of a task's docstring."""
    return (type(task).__doc__ or "").strip().splitlines()[0]


def attribute_docs(settings: type) -> dict[str, str]:
    """The docstring under each field of a dataclass: its own fields first, then the inherited ones."""
    import ast
    import inspect
    from dataclasses import fields, is_dataclass
    from itertools import pairwise

    docs: dict[str, str] = {}
    for owner in (owner for owner in settings.__mro__ if is_dataclass(owner)):
        body = ast.parse(inspect.getsource(owner)).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, doc in pairwise(body.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = ast.literal_eval(doc.value) if isinstance(doc, ast.Expr) else ""
                docs.setdefault(field.target.id, text)
    known = {field.name for field in fields(settings)}
    return {name: text for name, text in docs.items() if name in known}
