"""The section on where the clock is: figures that show the numbers, tables and words made from them."""

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_clock import design

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.clock import Swap, clock
from gnomon.analysis.results import from_json, to_json
from gnomon.report.figures.clock import CURVES, draw_donor_shares
from gnomon.report.figures.style import panels, styled
from gnomon.report.sections.clock import place_in_words, share_in_words, tables, write_figures
from gnomon.study.clock import ClockFindings, clock_name, clock_path, read_clock


def swap(what: str, share: float) -> Swap:
    return Swap(
        what, 100, Estimate(1 - share, (0.0, 1.0)), Estimate(share, (0.0, 1.0)), Estimate(share, (share, share))
    )


@pytest.fixture(scope="module")
def found() -> list[ClockFindings]:
    made_up = clock(design())
    recurrent = replace(made_up, swaps=(swap("gaze", 0.05), swap("state", 0.95)))
    feedforward = replace(made_up, swaps=(swap("gaze", 0.9),), lesions=(), reset=None)
    return [
        ClockFindings("lstm-0", "lstm", True, 6.3, 2000, 1, recurrent, None, None),
        ClockFindings("feedforward-0", "feedforward", False, 0.5, 2000, 1, feedforward, None, None),
    ]


def test_every_share_is_drawn_in_the_row_of_its_agent(found: list[ClockFindings]) -> None:
    with styled():
        _, axes = panels()
        draw_donor_shares(axes[0, 0], found)
    marks = {
        (float(line.get_xdata()[0]), round(float(line.get_ydata()[0])))
        for line in axes[0, 0].lines
        if line.get_marker() == "o"
    }
    assert marks == {(0.05, 0), (0.95, 0), (0.9, 1)}
    assert [text.get_text() for text in axes[0, 0].texts] == ["no memory to swap"]
    assert [text.get_text() for text in axes[0, 0].get_legend().get_texts()] == ["gaze swapped", "memory swapped"]


@pytest.mark.parametrize("draw", CURVES)
def test_every_curve_can_be_drawn_with_parts_missing(draw, found: list[ClockFindings]) -> None:
    with styled():
        _, axes = panels()
        draw(axes[0, 0], found)
    assert axes[0, 0].get_xlabel()
    assert axes[0, 0].get_ylabel()


def test_the_words_say_where_the_clock_is(found: list[ClockFindings]) -> None:
    assert [place_in_words(each) for each in found] == ["in the head", "on the screen"]
    assert share_in_words(found[0], "state") == "0.95 (0.95 to 0.95)"
    assert share_in_words(found[1], "state") == "no memory"
    swaps, pauses, doses = tables(found)
    assert [row[0] for row in swaps.rows] == ["lstm-0", "feedforward-0"]
    assert swaps.rows[1][-1] == "on the screen"
    assert len(pauses.rows) == 2
    assert {row[0] for row in doses.rows} == {"lstm-0"}


def test_figures_and_results_are_files(found: list[ClockFindings], tmp_path: Path) -> None:
    for path in write_figures(found, tmp_path):
        assert path.exists()
        assert path.with_suffix(".svg").exists()
    assert read_clock(tmp_path, "lstm-0") is None
    (tmp_path / "clock").mkdir()
    (tmp_path / clock_path("lstm-0")).write_text(to_json(found[0]))
    again = read_clock(tmp_path, "lstm-0")
    assert again is not None
    assert to_json(again) == to_json(from_json(ClockFindings, to_json(found[0])))


def test_an_agent_that_is_not_there_is_named_with_what_would_be_right() -> None:
    assert clock_name("mixture") == "mixture"
    assert clock_name("published/lstm-0") == "lstm-0"
    with pytest.raises(FileNotFoundError, match=r"no agent nowhere; .* a scripted clock \(counter, path, mixture\)"):
        clock_name("nowhere")
