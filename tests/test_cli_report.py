"""Reports as a user types them: the page's place at the end, one clear line and no page when it goes wrong."""

import json
import shutil
from pathlib import Path

import pytest
from small_run import CONFIG

from gnomon.cli import main
from gnomon.commands import reproduce as reproduce_module
from gnomon.commands import sweep as sweep_module
from gnomon.learn.loop import start
from gnomon.published import agents
from gnomon.records.runs import RunFolder
from gnomon.report import gallery
from gnomon.study import findings, participants

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    trainer = start(CONFIG, tmp_path_factory.mktemp("runs") / "small")
    trainer.save()
    return trainer.folder.path


def complaint(capsys: Captured, *arguments: str) -> str:
    """The one line of a command that goes wrong, and no page."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert not list(Path().rglob("index.html*"))
    return printed.err


def test_a_report_says_what_it_does_and_where_the_page_is(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    # Drawing and fitting are tested elsewhere.
    monkeypatch.setattr(findings, "compare", no_fit)
    monkeypatch.setattr(gallery, "save", lambda figure, path: write_pictures(path))
    assert main(["report", "perfect", "--trials", "100", "--out", "mine"]) == 0
    printed = capsys.readouterr().out
    assert "s  trials of perfect\n" in printed
    assert "s  figure production-perfect\n" in printed
    assert printed.splitlines()[-1].startswith("the page      mine/index.html (")
    html = Path("mine/index.html").read_text()
    assert "gnomon report perfect --out mine --trials 100 --seed 1" in html
    assert "Perfect: 100\N{NO-BREAK SPACE}% of trials are right" in html
    assert "Not done for perfect: left out, for once." in html
    assert main(["report", "perfect", "--trials", "100", "--out", "mine"]) == 0
    assert [line.split("s  ")[1] for line in capsys.readouterr().out.splitlines()[:-1]] == ["page"]


def no_fit(*_: object, **__: object) -> None:
    raise ValueError("left out, for once")


def write_pictures(path: Path) -> None:
    path.parent.mkdir(parents=True)
    for suffix in (".png", ".svg"):
        path.with_name(path.name + suffix).write_bytes(b"a picture")


def test_bad_reports(here: Path, small: Path, capsys: Captured) -> None:
    assert "no run is named; give at least one, such as runs/NAME" in complaint(capsys, "report")
    assert "there is no run nobody" in complaint(capsys, "report", "nobody")
    assert "trials is 7; a report needs at least 100" in complaint(capsys, "report", "noisy", "--trials", "7")
    assert "seed is -1; it must be a whole number" in complaint(capsys, "report", "noisy", "--seed", "-1")
    assert "unknown published agent 'nobody'" in complaint(capsys, "report", "published/nobody")
    RunFolder(here / "empty").create(CONFIG.to_json())
    assert "there is no checkpoint in empty/checkpoints" in complaint(capsys, "report", "empty")
    assert "there is no checkpoint in empty/checkpoints" in complaint(capsys, "report", str(small), "--live", "empty")
    assert sorted(path.name for path in here.iterdir()) == ["empty"]


def test_reports_are_about_one_task(here: Path, small: Path, capsys: Captured) -> None:
    shutil.copytree(small, here / "other")
    config = json.loads((here / "other" / "config.json").read_text())
    (here / "other" / "config.json").write_text(json.dumps(config | {"task": {"name": "bisection"}}))
    assert "the runs are of several tasks (" in complaint(capsys, "report", str(small), "other")
    assert "a report is about ready_set_go; the task here is bisection" in complaint(capsys, "report", "other")


def test_damaged_weights_are_named(here: Path, small: Path, capsys: Captured) -> None:
    shutil.copytree(small, here / "mine")
    for weights in (here / "mine" / "checkpoints").glob("*/state.safetensors"):
        weights.write_bytes(weights.read_bytes()[:-1])
    assert "no whole checkpoint in mine/checkpoints" in complaint(capsys, "report", "mine")


def test_reproduce_without_agents_says_what_to_do(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(participants, "SHIPPED", here / "none")
    expected = (
        "no agents are published with this version; train them with --train, or name your own: gnomon report RUN..."
    )
    assert expected in complaint(capsys, "reproduce")


def test_reproduce_takes_the_shipped_agents_in_the_order_of_the_paper(
    here: Path, small: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, agent in {
        "a-0": {"controller": "feedforward", "units": 128},
        "b-0": {"controller": "lstm", "units": 128},
        "c-0": {"controller": "lstm", "units": 32},
        "d-0": {"controller": "rnn", "units": 128},
    }.items():
        agents.publish_agent(small, here / "shipped" / name)
        path = here / "shipped" / name / "config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps(config | {"agent": config["agent"] | agent}))
    monkeypatch.setattr(participants, "SHIPPED", here / "shipped")
    asked: list[tuple] = []
    monkeypatch.setattr(reproduce_module, "write", lambda *arguments, clock: asked.append(arguments))
    assert main(["reproduce", "--out", "mine", "--trials", "300"]) == 0
    runs, out, trials, seed, live, commands = asked[0]
    assert runs == ("published/b-0", "published/a-0", "published/d-0", "published/c-0")
    assert (out, trials, seed, live) == (Path("mine"), 300, 1, None)
    assert commands == ["gnomon reproduce --out mine --trials 300 --seed 1"]


def test_reproduce_can_begin_with_the_training(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "two.toml").write_text('[[run]]\nname = "lstm"\nseeds = [0, 1]\n')
    swept, asked = [], []
    monkeypatch.setattr(sweep_module, "sweep", swept.append)
    monkeypatch.setattr(reproduce_module, "write", lambda *arguments, clock: asked.append(arguments))
    assert main(["reproduce", "--train", "--experiment", "two.toml", "--out", "mine"]) == 0
    assert swept == [sweep_module.Sweep(Path("two.toml"), Path("mine/runs"))]
    assert asked[0][0] == ("mine/runs/lstm-0", "mine/runs/lstm-1")
    assert "--train --experiment two.toml" in asked[0][-1][0]


def test_reproduce_stops_if_the_training_did(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "one.toml").write_text('[[run]]\nname = "lstm"\n')

    def stopped(options: object) -> None:
        raise SystemExit(130)

    monkeypatch.setattr(sweep_module, "sweep", stopped)
    monkeypatch.setattr(
        reproduce_module, "write", lambda *arguments, clock: pytest.fail("a page of half-trained agents")
    )
    assert main(["reproduce", "--train", "--experiment", "one.toml"]) == 130
