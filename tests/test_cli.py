"""The command line as a user types it: what it prints, where it writes, one clear line when it goes wrong."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from gnomon.cli import COMMANDS, main, one_line
from gnomon.commands import demo as demo_module
from gnomon.commands.show import writable_folder
from gnomon.commands.tasks import attribute_docs, build_task, named_settings
from gnomon.lab.tasks import PAPER, PSYCHLAB, TASKS, CuedProduction
from gnomon.records.trials import read_trials

Captured = pytest.CaptureFixture[str]


def complaint(capsys: Captured, *arguments: str) -> str:
    """What a command that goes wrong says: one line, exit code 2."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("gnomon: ")
    return printed.err


def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gnomon", *arguments], capture_output=True, text=True, timeout=60)


def test_help_names_every_command():
    done = typed("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for command in COMMANDS:
        assert f"• {command}" in done.stdout


def test_version():
    done = typed("--version")
    assert (done.returncode, done.stdout) == (0, "gnomon 0.1.0\n")


def test_a_mistake_is_one_line_without_a_traceback():
    done = typed("shw", "ready_set_go")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("gnomon: unknown command 'shw'; did you mean show? choose tasks, show")
    assert done.stderr.count("\n") == 1


def test_nothing_typed_is_a_call_for_help(capsys: Captured):
    assert main([]) == 0
    assert "usage: gnomon" in capsys.readouterr().out


def test_help_of_a_command_has_defaults(capsys: Captured):
    assert main(["show", "--help"]) == 0
    printed = capsys.readouterr().out
    for piece in (
        "TASK",
        "published/NAME",
        "--subject",
        "perfect (if left out)",
        "--seed",
        "(default: 0)",
        "--out",
        "psychlab",
    ):
        assert piece in printed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "tasks redy_set_go",
            "unknown task 'redy_set_go'; did you mean ready_set_go? choose bisection, cued_",
        ),
        ("show nope", "unknown task 'nope'; choose bisection, cued_production, discrimination, ready_set_go"),
        (
            "show bisection --subject perfct",
            "unknown subject 'perfct'; did you mean perfect? choose perfect, ",
        ),
        ("show bisection --setting psychlab", "unknown setting of bisection 'psychlab'; choose default"),
        ("show published/nobody", "unknown published agent 'nobody'; choose "),
        ("show published/lstm-0 --subject noisy", "--subject goes with a task; published/lstm-0 is an agent"),
        ("show bisection --trial -1", "trial is -1; it must be at least 0"),
        ("evaluate published/lstm-0 --seed -1", "seed is -1; it must be a whole number of at least 0"),
        ("evaluate published/lstm-0 --probe-probability nan", "probe_probability is nan; a probability lies between"),
        ("show bisection --seed -1", "seed is -1; it must be a whole number of at least 0"),
        (
            "show bisection --seed one",
            "error parsing --seed: invalid literal for int() with base 10: 'one'; it is",
        ),
        ("show bisection --sed 1", "unrecognized options: --sed, 1; did you mean --seed?"),
        ("show bisection --sed=1", "unrecognized options: --sed, 1; did you mean --seed?"),
        (
            "show bisection --zzz",
            "unrecognized options: --zzz; gnomon show takes --setting, --subject, --trial, --seed, ",
        ),
        ("show", "missing from gnomon show: TASK"),
        ("demo --seed -1", "seed is -1; it must be a whole number of at least 0"),
        ("demo --seed", "missing value for argument '--seed'"),
        ("--verbose", "unknown command '--verbose'; choose tasks, show"),
    ],
)
def test_mistakes(capsys: Captured, arguments: str, expected: str):
    assert complaint(capsys, *arguments.split()).startswith(f"gnomon: {expected}")


def test_a_folder_that_cannot_be_written_to(capsys: Captured, tmp_path: Path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "deeper"):
        said = complaint(capsys, "show", "bisection", "--out", str(out))
        assert f"cannot write to {out}" in said
        assert "--out" in said
    assert writable_folder(tmp_path / "new" / "folder").is_dir()


def test_stopped_by_the_user(capsys: Captured, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gnomon.commands.show.write_films", interrupted)
    assert main(["show", "bisection"]) == 130
    assert capsys.readouterr().err == "gnomon: stopped\n"


def test_a_last_word_is_printed(capsys: Captured, monkeypatch: pytest.MonkeyPatch):
    def leave(*_: object) -> None:
        raise SystemExit("not finite")

    monkeypatch.setattr("gnomon.commands.show.write_films", leave)
    assert main(["show", "bisection"]) == 1
    assert capsys.readouterr().err == "gnomon: not finite\n"


def test_mistakes_in_the_code_are_not_hidden(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("gnomon.commands.show.write_films", broken)
    with pytest.raises(KeyError, match="a bug"):
        main(["show", "bisection"])


def test_tasks_lists_every_task_and_named_setting(capsys: Captured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["tasks"]) == 0
    printed = capsys.readouterr().out
    for name in TASKS:
        assert name in printed
    assert "paper" in printed
    assert "psychlab" in printed
    assert "Look at the cross; Go appears" in printed
    assert "durations = (100, 400)" in printed


def test_tasks_details_one(capsys: Captured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["tasks", "ready_set_go"]) == 0
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:-1]]
        for cells in (line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│"))
    }
    assert rows["intervals"][:2] == [str(PAPER.intervals), "(200, 300)"]
    assert rows["flash"] == ["10", "", "Frames for which Ready and Set are shown."]
    assert rows["pause"][0] == "60"
    assert set(rows) == set(vars(PAPER))


def test_every_setting_is_explained():
    for task in TASKS.values():
        docs = attribute_docs(task)
        assert set(docs) == set(vars(task()))
        assert all(text.strip() for text in docs.values())


def test_named_settings_build_tasks():
    assert build_task("ready_set_go", None) == build_task("ready_set_go", "paper") == PAPER
    assert build_task("ready_set_go", "psychlab") == PSYCHLAB
    assert build_task("cued_production", None) == CuedProduction()
    assert set(named_settings()) == set(TASKS)


def test_show_writes_a_film_strip_and_an_animation(capsys: Captured, tmp_path: Path):
    assert main(["show", "discrimination", "--subject", "noisy", "--seed", "4", "--out", str(tmp_path / "films")]) == 0
    printed = capsys.readouterr().out
    strip = tmp_path / "films" / "discrimination-noisy-seed4.png"
    moving = strip.with_suffix(".gif")
    assert f"film strip  {strip}\n" in printed
    assert f"animation   {moving}\n" in printed
    assert printed.startswith("Discrimination, noisy subject: t_s = ")
    assert "next: gnomon show discrimination" in printed
    with Image.open(strip) as image:
        assert image.size[0] > 1000
    with Image.open(moving) as image:
        assert getattr(image, "n_frames", 1) > 10


def test_demo(capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shown = []
    monkeypatch.setattr(demo_module, "write_films", lambda options: shown.append(options.what) or ["a film"])
    monkeypatch.setattr(demo_module, "LANES", 16)
    monkeypatch.setattr(demo_module, "FRAMES", 600)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    assert shown == list(TASKS)
    printed = capsys.readouterr().out
    assert "100%" in printed
    table = read_trials(tmp_path / "trials-perfect.parquet")
    assert (table["outcome"] == "correct").all()
    blind = read_trials(tmp_path / "trials-blind.parquet").filter(pl.col("production_interval").is_not_null())
    assert set(blind["production_interval"]) == {55}
    assert f"\nperfect subject: {table.height} trials\n" in printed


BOXES = {
    "boxes": "╭─ T ──╮\n│ Bad thing: 'x'. │\n│ more.  │\n│ ───── │\n│ Help: │\n│   --seed INT │\n╰──╯\n",
    "colours": "\033[1m╭\033[0m T╮\nBad thing: 'x'. \033[1mmore\033[0m. │\n\033[1m│\033[0m ─ │\n│ --seed INT",
    "neither": " T \n ---- \n  Bad thing: 'x'.  \n  more.  \n  -----\n  Help: \n    --seed INT  \n   \n",
}


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_boxes_become_one_line(box: str):
    assert one_line(box, "show", ["--seed"]) == "bad thing: 'x'. more; it is --seed INT"


def test_an_unknown_option_without_a_likeness_gets_the_list():
    box = "╭─ T ─╮\n│ Unrecognized options: --q │\n╰──╯"
    expected = "unrecognized options: --q; gnomon show takes --seed, --out"
    assert one_line(box, "show", ["--seed", "--out"]) == expected
