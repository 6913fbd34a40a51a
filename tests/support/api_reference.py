"""Writes docs/api.md from the sources' own docstrings: `python tests/support/api_reference.py`."""

import ast
import copy
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "api.md"
# What is meant to be called from outside; commands, pages and the report's wording are not.
PARTS = (
    "lab",
    "lab/tasks",
    "gym",
    "agent",
    "subjects",
    "learn",
    "saving",
    "records",
    "analysis",
    "report/figures",
)
NEEDS_AN_EXTRA = "sb3"
SINGLE = ("config.py", "presets.py", "published/agents.py")

INTRODUCTION = """\
# API reference

Every public function and class of the laboratory, the agents, learning, records, analyses and figures, in the words of
its own docstring. T frames, B lanes, N distinct observations, F features, D drive, U units, A actions, I sample
intervals; shapes are in brackets, times in frames (60 a second). What is registered by name: `gnomon.lab.tasks.TASKS`,
`gnomon.subjects.scripted.SUBJECTS`, `gnomon.agent.controllers.CONTROLLERS`, `gnomon.presets.PRESETS`.

This page is made by `python tests/support/api_reference.py`; a test says when it is stale. Guides: [tasks](tasks.md),
[agents](agents.md), [training](training.md), [records](records.md), [analyses](analyses.md),
[adding a task](adding-a-task.md), [adding a controller](adding-a-controller.md),
[using another library](using-another-library.md).
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Named = Function | ast.ClassDef


def sources() -> list[Path]:
    """The files of the modules in the reference."""
    package = ROOT / "src" / "gnomon"
    found = [
        path
        for part in PARTS
        for path in sorted((package / part).glob("*.py"))
        if path.stem[0] != "_" and path.stem != NEEDS_AN_EXTRA
    ]
    return found + [package / name for name in SINGLE]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


def write() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *map(module_section, sources())])


def module_section(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [f"## {module_name(path)}", "", first_paragraph(tree), ""]
    for node in public(tree.body):
        lines += class_lines(node) if isinstance(node, ast.ClassDef) else [entry(node, f"`{signature(node)}`")]
    return "\n".join(lines).rstrip() + "\n"


def class_lines(node: ast.ClassDef) -> list[str]:
    """A class, its fields, and below it its methods; those that only fill in a base class's are left to that class."""
    constructor = next((f for f in node.body if isinstance(f, Function) and f.name == "__init__"), None)
    arguments = "" if constructor is None else arguments_of(constructor)
    bases = [f"`{ast.unparse(base)}`" for base in node.bases if ast.unparse(base) != "ABC"]
    own = [
        part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
    fields = [name for name in own if not name.startswith("_")]
    line = entry(node, f"`{node.name}({arguments})`" if constructor else f"`{node.name}`")
    line += f" Based on {', '.join(bases)}." if bases else ""
    lines = [line + (f" Fields: {', '.join(f'`{name}`' for name in fields)}." if fields else "")]
    for method in public(node.body):
        if isinstance(method, Function) and (ast.get_docstring(method) or not node.bases):
            decorators = {ast.unparse(each) for each in method.decorator_list}
            shown = method.name if decorators & {"property", "cached_property"} else signature(method)
            lines.append("  " + entry(method, f"`.{shown}`"))
    return lines


def public(body: list[ast.stmt]) -> list[Named]:
    """What has a name without an underscore; of overloads, the one that does the work."""
    named = [node for node in body if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")]
    return [node for node in named if "overload" not in map(ast.unparse, node.decorator_list)]


def entry(node: Named, shown: str) -> str:
    words = first_paragraph(node)
    return f"- {shown}: {words}" if words else f"- {shown}"


def first_paragraph(node: ast.Module | Named) -> str:
    return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())


def signature(function: Function) -> str:
    result = "" if function.returns is None else f" -> {ast.unparse(function.returns)}".replace("'", "")
    return f"{function.name}({arguments_of(function)}){result}"


def arguments_of(function: Function) -> str:
    """Names and defaults; the types are in the source."""
    every = copy.deepcopy(function.args)
    for argument in ast.walk(every):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    shown = ast.unparse(every)
    return re.sub(r"^(self|cls)(, )?", "", shown)


if __name__ == "__main__":
    REFERENCE.write_text(write(), encoding="utf-8")
