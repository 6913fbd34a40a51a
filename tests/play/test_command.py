"""`gnomon play`: writes one page, and answers what is wrong in one line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from node import NODE, WEB, run_node

from gnomon.cli import main
from gnomon.play import export as export_module
from gnomon.play import page as page_module
from gnomon.play.page import MODULES, page, script


def test_without_the_fast_instructions_the_answers_are_the_same(untrained: dict[str, Any]):
    question = {"spec": untrained, "lanes": [[[1, 1, 0], [0, 3, 5], [0, 7, 40], [1, 2, 3]]]}
    fast, slow = (run_node("agent.js", {**question, "slow": slow}) for slow in (False, True))
    assert (fast["fast"], slow["fast"]) == (True, False)
    for one, other in zip(fast["answers"][0], slow["answers"][0], strict=True):
        assert sum(one[0]) == pytest.approx(1)
        assert one[0] == pytest.approx(other[0], abs=1e-5)
        assert one[1:] == pytest.approx(other[1:], abs=1e-4)


def test_the_command_writes_a_page_that_needs_nothing_else(
    untrained: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    asked = []
    monkeypatch.setattr(export_module, "export_agent", lambda path, report: asked.append(path) or untrained)
    out = tmp_path / "new" / "play.html"
    assert main(["play", "published/small", "--out", str(out), "--no-open"]) == 0
    assert asked == [Path("published/small")]
    text = out.read_text()
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text), "the page must load nothing"
    assert not re.findall(r"/\*(?:STYLE|DATA|SCRIPT)\*/", text)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["agents"][0]["name"] == "small"
    assert "gnomon report people.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["published/nobody"], "unknown published agent 'nobody'"),
        (["published/lstm-0", "published/lstm-0"], "published/lstm-0 is named twice"),
        (["--out", "page.txt"], "name a file that ends in .html"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]):
    assert main(["play", *words, "--no-open"]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_a_page_that_would_be_too_large_is_refused(untrained: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_module, "LARGEST_PAGE", 50_000)
    with pytest.raises(ValueError, match=r"a page with small would have .* name fewer agents"):
        page([untrained])


def test_every_module_is_in_the_program_after_those_it_needs():
    assert {path.stem for path in WEB.glob("*.js")} == set(MODULES)
    for place, name in enumerate(MODULES):
        code = (WEB / f"{name}.js").read_text()
        needed = re.findall(r'^import .* from "\./(\w+)\.js";$', code, re.MULTILINE)
        assert set(needed) <= set(MODULES[:place]), name
        assert len(re.findall(r"^import ", code, re.MULTILINE)) == len(needed), f"{name}: write imports on one line"
        assert len(code.splitlines()) <= 300, name
    assert "import {" not in script()
    assert NODE.exists()
