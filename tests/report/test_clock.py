"""The section on where the clock is: figures that show the numbers, tables and words made from them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_clock import design

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.clock import Curve, Pause, Swap, clock
from gnomon.analysis.clock_dynamics import Scaling
from gnomon.analysis.results import from_json, to_json
from gnomon.report.figures.clock import CURVES, draw_donor_shares, draw_looks
from gnomon.report.figures.style import panels, styled
from gnomon.report.gallery import Gallery
from gnomon.report.sections.clock import place_in_words, section, share_in_words, tables, write_figures
from gnomon.report.statements.all import STATEMENTS
from gnomon.study.clock import ClockFindings, clock_name, clock_path, read_clock
from gnomon.study.files import Facts, Family, Member, Study
from gnomon.study.stages import Stages


def swap(what: str, share: float) -> Swap:
    return Swap(
        what, 100, Estimate(1 - share, (0.0, 1.0)), Estimate(share, (0.0, 1.0)), Estimate(share, (share, share))
    )


def pause(what: str, delay: float) -> Pause:
    none = np.empty(0)
    return Pause(what, 60, Estimate(delay, (delay, delay)), Curve(none, none, none.reshape(0, 2), none.astype(int)))


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


def test_looks_are_drawn_beside_the_untouched_slope(found: list[ClockFindings]) -> None:
    found = [found[0], replace(found[1], clock=replace(found[1].clock, looks=()))]
    looks = found[0].clock.looks
    with styled():
        _, axes = panels()
        draw_looks(axes[0, 0], found)
    with_looks, without = (line for line in axes[0, 0].lines if line.get_marker() == "o")
    names = [label.get_text() for label in axes[0, 0].get_xticklabels()]
    assert names == ["untouched", *(look.arm.replace(" ", "\n") for look in looks)]
    assert list(with_looks.get_ydata()) == [found[0].clock.slope.value, *(look.slope.value[-1] for look in looks)]
    assert without.get_ydata()[0] == found[1].clock.slope.value
    assert np.isnan(without.get_ydata()[1:]).all()


def test_the_words_say_where_the_clock_is(found: list[ClockFindings]) -> None:
    assert [place_in_words(each) for each in found] == ["in the head", "on the screen"]
    assert share_in_words(found[0], "state") == "0.95 (0.95 to 0.95)"
    assert share_in_words(found[1], "state") == "no memory"
    swaps, pauses, doses, looks = tables(found)
    assert [row[0] for row in swaps.rows] == ["lstm-0", "feedforward-0"]
    assert swaps.rows[1][-1] == "on the screen"
    assert len(pauses.rows) == 2
    assert {row[0] for row in doses.rows} == {"lstm-0"}
    assert looks.rows[0][:2] == ("lstm-0", "Go hidden")
    assert looks.rows[0][3].startswith("0.5")


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


def study(
    folder: Path,
    found: list[ClockFindings],
    *,
    recurrent: tuple[float, float],
    feedforward: float,
    held: tuple[float, ...] | None = None,
) -> Study:
    """Three seeds of each agent, with these donor shares (gaze and memory; gaze), a little different in each.

    held: frames by which the recurrent agent's answer is later for a frame held; by default the same numbers.
    """
    families = []
    for each, shares in zip(found, (recurrent, (feedforward,)), strict=True):
        kinds = ("gaze", "state")[: len(shares)]
        members = tuple(Member(f"{each.controller}-{seed}", seed, 1, 1.0, "") for seed in range(3))
        for seed, member in enumerate(members):
            swaps = tuple(swap(what, share + 0.01 * seed) for what, share in zip(kinds, shares, strict=True))
            delays = shares if held is None or len(shares) == 1 else held
            pauses = tuple(pause(what, delay + 0.01 * seed) for what, delay in zip(kinds, delays, strict=True))
            speed = Scaling("cell", 9, np.array([40]), np.ones(1), np.ones((1, 2)), Estimate(shares[0], (0.0, 0.1)))
            one = replace(each, name=member.name, clock=replace(each.clock, swaps=swaps, pauses=pauses), scaling=speed)
            path = folder / clock_path(member.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(to_json(one))
        name = each.controller
        families.append(Family(name, name, True, each.memory, 128, None, True, members, (), None))
    facts = Facts("ready_set_go", (10, 100), 8.0, 200, 0, tuple(families), None, ())
    return Study(folder, facts, {}, {}, None)


CLAIMS = {
    each.id: each for each in STATEMENTS if each.id in ("recurrent-clock", "recurrent-one-speed", "feedforward-clock")
}


def test_the_claims_are_judged_by_the_swaps_and_pauses_of_every_seed(
    found: list[ClockFindings], tmp_path: Path
) -> None:
    assert len(CLAIMS) == 3
    like = study(tmp_path / "like", found, recurrent=(0.01, 0.97), feedforward=0.95)
    unlike = study(tmp_path / "unlike", found, recurrent=(0.9, 0.1), feedforward=0.2)
    empty = replace(like, folder=tmp_path / "nothing")
    for name, claim in CLAIMS.items():
        assert claim.judge(like).verdict == "reproduced", name
        assert claim.judge(unlike).verdict == "contradicted", name
        assert claim.judge(empty).verdict == "not decided", name


def test_what_carries_the_interval_need_not_be_what_runs_down(found: list[ClockFindings], tmp_path: Path) -> None:
    runs_down = study(tmp_path, found, recurrent=(0.01, 0.97), feedforward=0.95, held=(0.9, 0.97))
    assert CLAIMS["recurrent-clock"].judge(runs_down).verdict == "contradicted"
    assert CLAIMS["feedforward-clock"].judge(runs_down).verdict == "reproduced"


def test_the_section_shows_every_agent_or_says_that_nothing_was_done(
    found: list[ClockFindings], tmp_path: Path
) -> None:
    whole = study(tmp_path, found, recurrent=(0.01, 0.97), feedforward=0.95)
    made = section(whole, Gallery(Stages(tmp_path)))
    assert [len(figure.images) for figure in made.figures] == [1] * (1 + len(CURVES))
    assert len(made.tables[0].rows) == 6
    assert any("The sample interval is kept in the head." in text for text in made.text)
    assert any(
        "no memory that could be swapped. The sample interval is kept on the screen." in text for text in made.text
    )
    nothing = section(replace(whole, folder=tmp_path / "nothing"), Gallery(Stages(tmp_path)))
    assert not nothing.figures
    assert "was not run" in nothing.text[0]
