"""The shape of the house: files are short, and imports point one way.

A layer knows itself and the layers below it, and no modules import each other in a circle.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
SOURCE = PROJECT / "src"
MOST_LINES = 300  # of a Python file

# What each layer may import besides itself. Top modules belong to a layer: `gnomon.config` to learn, `gnomon.cli` to
# commands; the gym environment, to one of its own.
LEARNING = ("declared", "lab", "agent", "records", "subjects", "learn")
ALL = (*LEARNING, "published", "sweep", "cluster", "analysis", "gym")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "declared": (),
    "lab": ("declared",),
    "agent": ("lab", "declared"),
    "records": ("lab", "agent", "declared"),
    "subjects": ("lab", "agent", "records"),
    "gym": ("lab", "records"),
    "learn": LEARNING,
    "published": LEARNING,
    "sweep": (*LEARNING, "published"),
    "cluster": (*LEARNING, "published", "sweep"),
    "analysis": ("lab", "records", "declared"),
    "study": ALL,
    "report": ("lab", "records", "published", "sweep", "analysis", "study"),
    "play": (*ALL, "study", "report"),
    "commands": (*ALL, "study", "report", "play"),
}
TOP = dict.fromkeys(("config", "presets", "saving"), "learn") | {
    "cli": "commands",
    "__main__": "commands",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def layer(module: str) -> str:
    """gnomon.lab.tasks.base -> lab."""
    part = module.split(".")[1]
    return "gym" if module == "gnomon.lab.gym" else TOP.get(part, part)


def imports(tree: ast.AST, package: str) -> Iterator[tuple[str, bool]]:
    """Modules of gnomon that the code names in an import, and whether it does so when it is imported itself.

    Those for type checkers only do not count.
    """

    def visit(node: ast.AST, at_once: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_once) for alias in node.names if alias.name.split(".")[0] == "gnomon")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            if base.split(".")[0] == "gnomon":
                whole = [f"{base}.{alias.name}" for alias in node.names]
                found = {each if each in MODULES else base for each in whole}
                yield from ((each, at_once) for each in sorted(found))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                yield from visit(child, at_once)
        else:
            inner = at_once and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, inner)

    yield from visit(tree, True)


def imports_of(module: str) -> list[tuple[str, bool]]:
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return list(imports(ast.parse(path.read_text(encoding="utf-8")), package))


def test_no_file_is_too_long_to_tell_one_story() -> None:
    paths = [path for folder in ("src", "tests", "benchmarks", "examples") for path in (PROJECT / folder).rglob("*.py")]
    assert len(paths) > len(MODULES)
    lengths = {str(path.relative_to(PROJECT)): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_every_module_belongs_to_a_layer() -> None:
    assert {layer(module) for module in MODULES if module != "gnomon"} <= set(MAY_IMPORT)
    assert imports_of("gnomon") == []


def test_the_order_has_no_circle() -> None:
    """`learn` names `subjects`, never the other way: so for each pair of layers one may import the other at most."""
    order = TopologicalSorter({name: set(below) - {name} for name, below in MAY_IMPORT.items()}).static_order()
    assert set(order) == set(MAY_IMPORT)  # a circle is an error, a layer that is only imported is not listed


def test_a_layer_imports_itself_and_those_below() -> None:
    against = [
        (module, other)
        for module in MODULES
        if module != "gnomon"
        for other, _ in imports_of(module)
        if other != "gnomon" and layer(other) not in (layer(module), *MAY_IMPORT[layer(module)])
    ]
    assert against == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Neither when they are imported nor later, within a function."""
    graph = {module: {other for other, _ in imports_of(module) if other != module} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_imports_of_a_module_are_all_found() -> None:
    code = """
import gnomon.lab.view
from gnomon.agent import agent, weights as w
from . import screen
from .tasks.base import Task
if TYPE_CHECKING:
    import gnomon.cli
else:
    import gnomon.config
def later():
    from gnomon.records.runs import RunFolder
    import numpy
"""
    assert list(imports(ast.parse(code), "gnomon.lab")) == [
        ("gnomon.lab.view", True),
        ("gnomon.agent.agent", True),
        ("gnomon.agent.weights", True),
        ("gnomon.lab.screen", True),
        ("gnomon.lab.tasks.base", True),
        ("gnomon.config", True),
        ("gnomon.records.runs", False),
    ]


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("gnomon.published.agents", "tensorboard"),
        ("gnomon.analysis.results", "torch"),
        ("gnomon.cli", "torch"),
    ],
)
def test_what_a_module_has_no_use_for_is_not_imported(module: str, without: str) -> None:
    code = f"import sys, {module}; print([name for name in sys.modules if {without!r} in name.split('.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
