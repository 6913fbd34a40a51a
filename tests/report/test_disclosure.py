"""What was done that the paper did not do: nothing is left out, whatever settings are called."""

from pathlib import Path

import pytest

from gnomon.cli import main
from gnomon.report.disclosure import Agents, disclosure
from gnomon.report.page import markdown
from gnomon.study.files import Setting

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results.md"


def agents(*values: str, name: str = "learning.optimiser.scale") -> list[Agents]:
    """Agents that differ in one setting, the first half with a memory; the preset has 0."""
    names = ("lstm", "gru", "feedforward", "feedforward64")
    return [
        Agents(agent, place < 2, (Setting(name, value, "0"), Setting("learning.batch", "32", "32")))
        for place, (agent, value) in enumerate(zip(names, values, strict=True))
    ]


def cells(*values: str, name: str = "learning.optimiser.scale") -> tuple[str, ...]:
    (row,) = disclosure(agents(*values, name=name)).rows
    return row


def test_a_setting_like_the_papers_is_not_listed() -> None:
    assert disclosure(agents("0", "0", "0", "0")).rows == ()
    assert all("batch" not in cell for cell in cells("1", "0", "0", "0"))


def test_a_setting_goes_by_its_topic_or_by_its_name() -> None:
    assert cells("1", "1", "1", "1")[0].startswith("Other numbers of the optimiser")
    assert cells("1", "1", "1", "1", name="chrono_span")[0].startswith("Chrono")
    assert cells("1", "1", "1", "1", name="learning.brand_new")[0] == "Setting learning.brand_new."


def test_who_has_which_value_is_said_in_few_words() -> None:
    here = {
        ("1", "1", "1", "1"): "scale: 1",
        ("1", "1", "2", "2"): "scale: 1 (all with a memory), 2 (all without)",
        ("1", "2", "1", "1"): "scale: 1 (all but GRU), 2 (GRU)",
        ("0", "0", "0", "3"): "scale: 0 (all but feedforward 64), 3 (feedforward 64)",
    }
    for values, said in here.items():
        assert cells(*values)[2] == f"learning.optimiser.{said}"


def test_what_makes_a_variant_is_no_departure() -> None:
    for name in ("units", "agent.units", "learning.loss.horizon", "controller"):
        assert disclosure(agents("1", "2", "3", "4", name=name)).rows == ()


def test_printed_values_are_marked() -> None:
    assert cells("1", "1", "1", "1", name="learning.optimiser.learning_rate")[1].endswith("learning_rate: 0 (printed)")
    assert cells("1", "1", "1", "1", name="learning.optimiser.clip_norm")[1].endswith("clip_norm: 0")


def test_the_results_show_what_the_command_prints(capsys) -> None:
    assert main(["results", "--departures"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") > 10
    assert printed in RESULTS.read_text(encoding="utf-8"), "write it again: gnomon results --departures"


@pytest.mark.parametrize(
    ("document", "options"),
    [
        ("README.md", ["--summary"]),
        ("README.md", ["published/lstm-0", "published/feedforward-0", "--departures"]),
        ("docs/results.md", []),
    ],
)
def test_documents_show_what_commands_print(document: str, options: list[str], capsys) -> None:
    assert main(["results", *options]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") >= 4
    assert printed in (ROOT / document).read_text(encoding="utf-8"), f"write it again: gnomon results {options}"


def test_bars_do_not_break_the_table() -> None:
    row = markdown(disclosure(agents("a|b", "a|b", "a|b", "a|b"))).splitlines()[-1]
    assert "a\\|b" in row
