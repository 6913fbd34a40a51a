"""What the documents show is true: code runs, links lead somewhere, commands parse, the reference is complete."""

import ast
import importlib
import importlib.util
import inspect
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import api_reference
import pytest

from gnomon.agent.controllers import CONTROLLERS, build_controller
from gnomon.cli import COMMANDS, load, main, parse

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
CONTROLLER_GUIDE = ROOT / "docs" / "adding-a-controller.md"
LIBRARY_GUIDE = ROOT / "docs" / "using-another-library.md"

Captured = pytest.CaptureFixture[str]


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL)


# Links and files


def links(text: str) -> list[str]:
    """The targets of links and pictures, but for other sites."""
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(text: str) -> set[str]:
    """What a link may say after '#': the headings, as web pages of code name them."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in links(document.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        path = document.parent / name if name else document
        assert path.exists(), f"{document.name} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{document.name}: no such heading: {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_named_are_there(document: Path) -> None:
    named = re.findall(
        r"`((?:src|tests|docs|examples|experiments|benchmarks)/[\w./-]+)`", document.read_text(encoding="utf-8")
    )
    for name in named:
        if "NAME" not in name:
            assert (ROOT / name).exists(), f"{document.name} names {name}, which is not there"


def test_links_are_found() -> None:
    assert links("[a](b.md), ![c](d/e.png)\n[web](https://x.y/z) [f](g.md#h) [not] (this)") == [
        "b.md",
        "d/e.png",
        "g.md#h",
    ]
    assert anchors("# One: two\ntext\n## Self-contained, `code`") == {"one-two", "self-contained-code"}


# Commands


def commands(text: str) -> list[str]:
    """What stands after `gnomon` wherever it is quoted as code, without comments."""
    fenced = re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL)
    rest = re.sub(r"```\w*\n.*?```", "", text, flags=re.DOTALL)
    indented = re.findall(r"^ {4}.*$", rest, flags=re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", rest)
    found: list[str] = []
    for code in (*fenced, *indented, *spans):
        found += re.findall(r"(?:^|[\s/])gnomon ([a-z-]+(?:[ \t]+[^\n#`]*)?)", code)
    return [" ".join(words.split()).removesuffix("...").strip() for words in found]


QUOTED = [(document.name, words) for document in DOCUMENTS for words in commands(document.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("document", "words"), QUOTED, ids=lambda text: text.replace("/", "_"))
def test_commands_can_be_typed(document: str, words: str, guide_controller: None) -> None:
    command, *arguments = shlex.split(words)
    assert command in COMMANDS, f"{document} quotes gnomon {words}, and there is no such command"
    if arguments and "--help" not in arguments:  # alone it is only named
        parse(load(command, arguments)[0], command, arguments)


def test_commands_are_found() -> None:
    text = (
        "Say `gnomon runs`.\n\n    gnomon show X --seed 1   # a film\n\n```\n.venv/bin/gnomon train\n```\na gnomon is\n"
    )
    assert commands(text) == ["train", "show X --seed 1", "runs"]
    assert ("README.md", "train") in QUOTED


def test_an_option_that_is_gone_is_noticed(guide_controller: None) -> None:
    with pytest.raises(ValueError, match="unrecognized options: --gone"):
        test_commands_can_be_typed("x.md", "runs --gone 1", None)
    with pytest.raises(AssertionError, match=r"x\.md quotes gnomon vanish"):
        test_commands_can_be_typed("x.md", "vanish", None)


# docs/adding-a-controller.md


@pytest.fixture
def guide_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller of the guide, registered as it registers itself, until the end of the test."""
    monkeypatch.setitem(CONTROLLERS, "mgu", CONTROLLERS["rnn"])  # so that it goes again
    module = ModuleType("mgu")
    exec(python_blocks(CONTROLLER_GUIDE)[0], vars(module))
    monkeypatch.setitem(sys.modules, "mgu", module)


def contract() -> ModuleType:
    """The tests that every controller must pass."""
    path = ROOT / "tests" / "agent" / "test_controllers.py"
    spec = importlib.util.spec_from_file_location("controllers_contract", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guides_controller_keeps_the_contract(guide_controller: None) -> None:
    assert len(python_blocks(CONTROLLER_GUIDE)[0].splitlines()) < 60
    tests = contract()
    shared = [
        test
        for name, test in inspect.getmembers(tests, inspect.isfunction)
        if name.startswith("test_") and list(inspect.signature(test).parameters) == ["controller"]
    ]
    assert len(shared) >= 6
    for test in shared:
        test(tests.build("mgu"))


def test_the_guides_controller_is_the_one_it_says(guide_controller: None) -> None:
    """One lane and one unit at a time, in plain numbers."""
    import torch

    mgu = build_controller("mgu", 3, 2, torch.Generator().manual_seed(0)).double()
    drive, hidden = torch.tensor([[0.3, -0.2, 0.5, 0.1]]).double(), torch.tensor([[0.7, -0.4]]).double()
    weights = {name: parameter.detach() for name, parameter in mgu.named_parameters()}
    output, _ = mgu.step(drive, {"hidden": hidden})
    gates = [sum(hidden[0, i] * weights["gate_weight"][i, u] for i in range(2)) + drive[0, u] for u in range(2)]
    gates = [1 / (1 + torch.exp(-torch.as_tensor(gate))) for gate in gates]
    for u in range(2):
        new = sum(gates[i] * hidden[0, i] * weights["new_weight"][i, u] for i in range(2)) + drive[0, 2 + u]
        expected = (1 - gates[u]) * hidden[0, u] + gates[u] * torch.tanh(torch.as_tensor(new))
        torch.testing.assert_close(output[0, u], expected)


def test_the_guides_controller_trains(
    guide_controller: None, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    exec(python_blocks(CONTROLLER_GUIDE)[1], {})
    printed = capsys.readouterr().out
    assert printed.startswith("frames ")
    assert "MinimalGatedUnit" in printed
    assert (tmp_path / "mgu-0" / "config.json").exists()


def test_the_guides_controller_on_the_command_line(
    guide_controller: None, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["with_mgu.py", "train", "--controller", "mgu", "--help"])
    with pytest.raises(SystemExit) as left:
        exec(python_blocks(CONTROLLER_GUIDE)[2], {"__name__": "__main__"})
    assert left.value.code == 0
    assert "(default: mgu)" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["train", "--controller", "mgu"]) == 2  # the package itself does not know it


# docs/using-another-library.md


@pytest.mark.parametrize("place", range(3))
def test_the_library_guide_is_true(place: int, capsys: Captured) -> None:
    blocks = python_blocks(LIBRARY_GUIDE)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    exec(blocks[place], names)
    if place == 1:
        assert getattr(names["pixels"], "shape", None) == (64, 24, 24, 3)
    if place == 2:
        assert capsys.readouterr().out == "[20. 40.]\n"


# docs/api.md


def listed() -> dict[str, set[str]]:
    """The names in the reference, by module."""
    sections = re.split(r"^## (gnomon[\w.]*)$", api_reference.REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    pairs = zip(sections[1::2], sections[2::2], strict=True)
    return {module: set(re.findall(r"^- `(\w+)", text, flags=re.MULTILINE)) for module, text in pairs}


def test_every_name_of_the_reference_is_there() -> None:
    for module, names in listed().items():
        for name in names:
            assert hasattr(importlib.import_module(module), name), f"docs/api.md lists {module}.{name}; it is gone"


def test_every_public_name_is_in_the_reference() -> None:
    reference = listed()
    for path in api_reference.sources():
        module = importlib.import_module(api_reference.module_name(path))
        own = {
            name
            for name, thing in vars(module).items()
            if not name.startswith("_")
            and (inspect.isclass(thing) or inspect.isfunction(thing))
            and thing.__module__ == module.__name__
        }
        missing = own - reference.get(module.__name__, set())
        assert not missing, f"docs/api.md lacks {sorted(missing)} of {module.__name__}; {REMEDY}"


REMEDY = "write it again: python tests/support/api_reference.py"


def test_the_reference_is_not_stale() -> None:
    now, then = api_reference.write().splitlines(), api_reference.REFERENCE.read_text(encoding="utf-8").splitlines()
    changed = sorted(set(now) ^ set(then))
    assert now == then, f"docs/api.md is stale; {REMEDY}. Lines that differ: {changed[:4]}"


def test_the_reference_has_signatures_and_words() -> None:
    source = '''
class Thing(Base):
    """A thing."""

    size: int

    def __init__(self, size: int = 3, *, kind: str) -> None: ...

    def weigh(self, scale: float) -> float:
        """Its weight [kg],
        exactly.

        Not shown."""

    def inherited(self) -> None: ...

    def _hidden(self) -> None:
        """Not shown."""
'''
    (thing,) = api_reference.public(ast.parse(source).body)
    assert isinstance(thing, ast.ClassDef)
    assert api_reference.class_lines(thing) == [
        "- `Thing(size=3, *, kind)`: A thing. Based on `Base`. Fields: `size`.",
        "  - `.weigh(scale) -> float`: Its weight [kg], exactly.",
    ]
