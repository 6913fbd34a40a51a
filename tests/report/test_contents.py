"""The page of a tiny study: its numbers are the results', nothing comes from outside, nothing is drawn twice."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tiny_study import light, tiny_runs, tiny_study

from gnomon.report.contents import SECTIONS, contents, write_report
from gnomon.report.gallery import Gallery
from gnomon.report.page import render
from gnomon.report.statements.all import STATEMENTS, UNTESTED
from gnomon.study.files import Study, read_study
from gnomon.study.stages import Stages


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    with light():
        yield


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, str]:
    """A study and its page, written from the folder alone."""
    runs = tiny_runs(tmp_path_factory.mktemp("runs"))
    folder = tiny_study(runs, tmp_path_factory.mktemp("out"))[1].folder
    html = write_report(folder, commands=["gnomon report ..."]).read_text()
    return read_study(folder), html


def test_numbers_on_the_page_are_the_results(page: tuple[Study, str]) -> None:
    study, html = page
    for name in ("lstm-0", "lstm-1", "feedforward-0"):
        result = study.findings[name]
        assert result.production is not None
        assert result.observer is not None
        assert result.population is not None
        rows = "".join(re.findall(rf'<th scope="row">{name}</th>.*', html))
        low, high = result.production.line.slope_interval
        assert f"<td>{result.production.line.slope:.2f} ({low:.2f} to {high:.2f})</td>" in rows.replace("-0.00", "0.00")
        assert f"<td>{result.observer.w_m:.3f}" in rows
        decoder = result.population.decoder("set")
        assert f"<td>{decoder.r2:.2f}, {decoder.absolute_error:.1f}</td>" in rows
    shares = [100 * study.findings[name].share_within for name in ("lstm-0", "lstm-1")]
    assert f"{np.mean(shares):.0f} ± {np.std(shares, ddof=1):.0f}\N{NO-BREAK SPACE}%" in html


def test_the_page_is_whole_and_self_contained(page: tuple[Study, str]) -> None:
    study, html = page
    sources = re.findall(r'<img src="([^"]{30})', html)
    assert len(sources) == len(list((study.folder / "figures").glob("*.png"))) > 20
    assert all(source.startswith("data:image/") for source in sources)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', html)
    assert len(html) < 6e6


def test_the_laboratory_in_the_browser_is_linked_if_it_is_there(page: tuple[Study, str]) -> None:
    study, html = page
    assert "play.html" not in "".join(re.findall(r'href="[^"]*"', html))
    (study.folder / "play.html").touch()
    again = write_report(study.folder, commands=[]).read_text()
    (study.folder / "play.html").unlink()
    assert '<a href="play.html">' in again


def test_sections_are_numbered_in_their_order(page: tuple[Study, str]) -> None:
    titles = re.findall(r"<h2>(\d+)\. ([^<]*)</h2>", page[1])
    assert [int(number) for number, _ in titles] == list(range(1, len(SECTIONS) + 2))
    assert titles[0][1] == "The paper&#39;s statements"
    assert [name for _, name in titles] == re.findall(r'<li><a href="#[^"]*">\d+\. ([^<]*)</a></li>', page[1])


def test_every_statement_is_on_the_page_with_its_verdict(page: tuple[Study, str]) -> None:
    study, html = page
    shown = html.replace("&#34;", '"').replace("&#39;", "'")
    for statement in STATEMENTS:
        assert statement.says in shown
        assert statement.rule in shown
        assert statement.judge(study).verdict in ("reproduced", "contradicted", "not decided")
    for each in UNTESTED:
        assert each.says in shown


def test_one_seed_decides_nothing(page: tuple[Study, str]) -> None:
    study = page[0]
    for statement in STATEMENTS:
        if statement.id.startswith(("gru", "feedforward")):
            assert statement.judge(study).verdict == "not decided", statement.id


def test_nothing_is_drawn_twice_and_what_is_lost_is_drawn_again(page: tuple[Study, str]) -> None:
    study, html = page

    def again() -> tuple[list[str], str]:
        stages = Stages(study.folder)
        return stages.made, render(contents(study, Gallery(stages), ["gnomon report ..."]))

    assert again() == ([], html)
    (study.folder / "figures" / "gaze-lstm-1.png").unlink()
    assert again() == (["figure gaze-lstm-1"], html)


def test_the_report_runs_nobody() -> None:
    """Reading a study needs neither laboratory nor agents nor learning."""
    report = Path(__file__).parents[2] / "src" / "gnomon" / "report"
    watched = ("film.py", "animation.py")  # these show a subject at work
    for path in report.rglob("*.py"):
        if path.name not in watched:
            imported = re.findall(r"^\s*(?:from|import) gnomon\.([\w.]+)", path.read_text(), flags=re.MULTILINE)
            packages = {name.partition(".")[0] for name in imported if name != "lab.screen"}  # colours and sizes
            assert packages <= {"analysis", "records", "report", "study"}, path
