"""What a command prints: paths as they are, commands that a shell takes, tables within 80 columns."""

import io
import json
import shlex
import shutil
from pathlib import Path

import pytest
import small_run
import torch
from chaos_cases import typed
from rich.console import Console
from small_run import FRAMES_PER_ROUND

from gnomon.commands.results import COLUMNS, terminal_table
from gnomon.commands.training_view import progress_table
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.loop import Limits, Trainer, start

ODD = "a[bold]b c"  # markup to rich, two words to a shell


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    trainer = start(small_run.CONFIG, tmp_path_factory.mktemp("odd") / ODD)
    trainer.run(Limits(frames=FRAMES_PER_ROUND))
    return trainer


def test_a_path_is_printed_as_it_is_and_quoted_in_commands(trainer: Trainer) -> None:
    run = trainer.folder.path
    code, out, _ = typed("train", "--resume", str(run), "--frames", f"{2 * FRAMES_PER_ROUND}", "--threads", "1")
    assert code == 0
    assert f"resuming {run} at" in out
    asked = [line[14:] for line in out.splitlines() if line.startswith(("try next", "or go on"))]
    assert len(asked) == 2
    assert all(str(run) in shlex.split(line) for line in asked)
    assert ODD in typed("check", str(run))[1]
    assert "[bold]" in typed("runs", "--folder", str(run.parent))[1].replace("\n", "")


def printed(renderable: object) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=80, markup=False).print(renderable)
    return text.getvalue().splitlines()


def test_the_live_view_shows_every_interval_in_80_columns(trainer: Trainer) -> None:
    row = {"round": 1, "frames": 10**9, "minutes": 1234.5, "reward_rate": 0.123, "rewarded": 0.5, "criterion": 0.25}
    row |= {"distinct": 12_345.0, "entropy": 1.2, "lag": 16.0} | {f"criterion_{t}": t / 100 for t in range(10, 101, 10)}
    lines = printed(progress_table(trainer, Limits(frames=10**10), row))
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert all(f"{t}: {t}%" in text for t in range(10, 101, 10))
    assert "16.0 updates" in text


def test_the_results_fit_into_80_columns() -> None:
    cells = ["feedforward_10step", "12", "3200.0 M", "1234", "0.979", "0.992 (0.989 to 0.995)", "+10.2", "-13.0"]
    lines = printed(terminal_table([[*cells, "11.4", "11.8", "12.4"]]))
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert len(COLUMNS) == 11
    assert all(cell in text for cell in (*cells[1:5], "0.992", "0.989-0.995", *cells[6:], "11.4", "11.8", "12.4"))
    assert "…" not in text


def test_one_damaged_run_does_not_hide_the_others(trainer: Trainer, tmp_path: Path) -> None:
    for name in ("good", "bad", "worse"):
        shutil.copytree(trainer.folder.path, tmp_path / name)
    (tmp_path / "bad" / "status.json").write_text(json.dumps({"state": [], "frames": "x"}))
    (tmp_path / "worse" / "status.json").write_bytes(b"\xff")
    code, out, _ = typed("runs", "--folder", str(tmp_path))
    assert (code, out.count("unknown"), out.count("finished")) == (0, 2, 1)
    agents = ["published/lstm-0", str(tmp_path / "good")]  # the second has not been evaluated
    for options in ([], ["--summary"]):
        code, out, err = typed("results", *agents, *options)
        assert (code, out.count("| lstm |")) == (1, 1)
        assert "1 left out: " in err
    code, out, err = typed("results", *agents, "--departures")  # which need no evaluation
    assert (code, err) == (0, "")
    assert "Chrono initialisation" in out


def test_an_action_that_is_none_is_refused() -> None:
    laboratory = Laboratory(small_run.TASK, small_run.OPTICS, lanes=1)
    with pytest.raises((ValueError, IndexError), match="action"):
        laboratory.step(torch.tensor([len(laboratory.actions)]))
