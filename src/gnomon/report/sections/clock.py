"""Where is the clock? What interventions on gaze and memory do to the answer."""

from collections.abc import Sequence
from pathlib import Path

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.clock import NO, YES
from gnomon.report.captions import caption_of
from gnomon.report.figures.clock import CURVES, draw_donor_shares
from gnomon.report.figures.performance import words
from gnomon.report.figures.style import panels, save, styled
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section, Table
from gnomon.report.wording import NOTHING, listed, number, over_seeds, sentence, within
from gnomon.study.clock import ClockFindings, read_clock
from gnomon.study.files import Family, Study
from gnomon.study.stages import file_fingerprint

WIDTH, ROW, FRAME = 6.6, 0.36, 1.5  # inches: of the chart of donor shares, of one of its rows, of what is around them
TITLES = ("Pauses", "Displacement", "Noise", "Lesions", "Speed", "Looks")
PLACES = {"gaze": "on the screen", "state": "in the head", "not decided": "not decided"}


def section(study: Study, gallery: Gallery) -> Section:
    found = clocks(study)
    title = "Where is the clock?"
    if not found:
        text = "The battery of interventions was not run on these agents; `gnomon reproduce` runs it."
        return Section(title, (text,))
    prints = [file_fingerprint([study.folder / "clock" / f"{each.name}.json"]) for each in found]
    shares = gallery.panel(
        "clock-shares", prints, lambda axes: draw_donor_shares(axes, found),
        "Donor share after swaps at Set, each agent", size=(WIDTH, FRAME + ROW * len(found)),
    )  # fmt: skip
    figures = [Figure((shares,), "Whose interval is reproduced after a swap at Set", caption_of(draw_donor_shares))]
    for name, draw in zip(TITLES, CURVES, strict=True):
        image = gallery.panel(
            f"clock-{name.lower()}", prints, lambda axes, draw=draw: draw(axes, found), f"{name}, each agent"
        )
        figures.append(Figure((image,), name, caption_of(draw)))
    text = (
        "Activity and gaze may tell the time without being the clock. So gaze or memory are changed from outside, in "
        "the middle of a trial, and the answer shows whether they mattered. Scripted subjects with a known clock come "
        "out of the same battery as what they are.",
        *(family_words(study, family) for family in study.compared if of_family(study, family)),
    )
    return Section(title, text, tuple(figures), tables(found))


def clocks(study: Study) -> list[ClockFindings]:
    """Of every member that has been through the battery."""
    return [found for family in study.families for found in of_family(study, family)]


def of_family(study: Study, family: Family) -> list[ClockFindings]:
    each = (read_clock(study.folder, member.name) for member in family.members)
    return [found for found in each if found is not None]


def family_words(study: Study, family: Family) -> str:
    found = of_family(study, family)
    parts = []
    for what, name in (("gaze", "gaze"), ("state", "memory")):
        swaps = [swap for each in found if (swap := each.clock.swap(what)) is not None]
        pauses = [pause for each in found for pause in each.clock.pauses if pause.what == what]
        if swaps:
            parts.append(
                f"with another trial's {name} at Set the donor share is "
                f"{over_seeds([swap.share.value for swap in swaps])}, and every frame for which its {name} is held "
                f"delays the answer by {over_seeds([pause.per_frame.value for pause in pauses])} frames"
            )
    if not any(each.memory for each in found):
        parts.append("it has no memory that could be swapped")
    places = listed(sorted({place_in_words(each) for each in found}))
    return f"{sentence(words(family.name))}: {'; '.join(parts)}. The sample interval is kept {places}."


def place_in_words(found: ClockFindings) -> str:
    return PLACES[found.clock.place]


def share_in_words(found: ClockFindings, what: str) -> str:
    """A donor share with its interval."""
    swap = found.clock.swap(what)
    if swap is None:
        return "no memory" if what == "state" and not found.memory else NOTHING
    return with_interval(swap.share)


def with_interval(estimate: Estimate | None, digits: int = 2) -> str:
    if estimate is None:
        return NOTHING
    return f"{number(estimate.value, digits)} ({within(estimate.interval, digits)})"


def tables(found: Sequence[ClockFindings]) -> tuple[Table, ...]:
    """Donor shares; pauses, displacement and speed; noise and lesions; looks."""
    return swap_table(found), pause_table(found), dose_table(found), look_table(found)


def swap_table(found: Sequence[ClockFindings]) -> Table:
    rows = []
    for each in found:
        cells = []
        for what in ("gaze", "state"):
            swap = each.clock.swap(what)
            slopes = (NOTHING, NOTHING) if swap is None else (number(swap.own.value), number(swap.donor.value))
            cells += [*slopes, share_in_words(each, what)]
        rows.append((each.name, *cells, with_interval(each.clock.reset), place_in_words(each)))
    header = (
        "agent", "gaze swapped: own", "donor", "donor share (95 %)", "memory swapped: own", "donor",
        "donor share (95 %)", "memory reset: own (95 %)", "the interval is kept",
    )  # fmt: skip
    note = (
        "Own and donor: frames of production per frame of the trial's own and of the donor's interval. The sample "
        f"interval is kept where the donor share is at least {YES:g} with its whole interval, if the other share is at "
        f"most {NO:g}."
    )
    return Table("Swaps at Set", header, tuple(rows), note)


def pause_table(found: Sequence[ClockFindings]) -> Table:
    rows = []
    for each in found:
        pauses = {pause.what: pause.per_frame for pause in each.clock.pauses}
        moved, scaled, gaze = each.clock.displacement, each.scaling, each.gaze_scaling
        rows.append(
            (
                each.name, with_interval(pauses.get("gaze")), with_interval(pauses.get("state")), f"{each.step:.2f}°",
                with_interval(moved and moved.right), with_interval(moved and moved.up),
                with_interval(scaled and scaled.index), with_interval(gaze and gaze.index),
            )
        )  # fmt: skip
    header = (
        "agent", "gaze held (95 %)", "memory held (95 %)", "one step", "displaced right (95 %)", "displaced up (95 %)",
        "scaling index, units (95 %)", "scaling index, gaze (95 %)",
    )  # fmt: skip
    note = (
        "Held: frames by which the answer is later, per frame held; 1 means that the clock stands still. Displaced: "
        "frames later per step of the gaze at Set. Scaling index: 0 if activity runs at one speed after Set, 1 if its "
        "speed goes with 1 / t_s."
    )
    return Table("Pauses, displacement and speed", header, tuple(rows), note)


def dose_table(found: Sequence[ClockFindings]) -> Table:
    rows = []
    for each in found:
        for doses in (*each.clock.noise, *each.clock.lesions):
            slope, sd, answered = (
                ", ".join(number(value, digits) for value in curve.value)
                for curve, digits in ((doses.slope, 2), (doses.sd, 1), (doses.answered, 2))
            )
            levels = ", ".join(f"{level:g}" for level in doses.slope.dose)
            arm = doses.arm.replace("state", "memory")
            rows.append((each.name, arm, levels, slope, sd, answered, with_interval(doses.half)))
    header = (
        "agent", "intervention", "doses", "slope", "s.d., frames", "answered after Set", "slope halved at (95 %)"
    )  # fmt: skip
    note = (
        "Doses: probability of a random step on each frame (gaze), s.d. of each frame's noise relative to each "
        "unit's own (memory, or units where there is none), units held at their mean. A dash: never so far, or nothing "
        "answered."
    )
    return Table("Noise and lesions", header, tuple(rows), note)


def look_table(found: Sequence[ClockFindings]) -> Table:
    rows = []
    for each in found:
        for look in each.clock.looks:
            slope, sd, answered = (
                f"{number(curve.value[-1], digits)} ({within(curve.interval[-1], digits)})"
                for curve, digits in ((look.slope, 2), (look.sd, 1), (look.answered, 2))
            )
            rows.append((each.name, look.arm, with_interval(each.clock.slope), slope, sd, answered))
    header = (
        "agent", "from Set on", "slope, untouched (95 %)", "slope (95 %)", "s.d., frames (95 %)",
        "answered after Set (95 %)",
    )  # fmt: skip
    note = (
        "The agent sees the screen without Go, a blank screen, a wall of one colour, or a wall with left and right "
        "exchanged. The task goes on as it is. Slope: frames of production per frame of the sample interval."
    )
    return Table("Another look of the screen or the room", header, tuple(rows), note)


def write_figures(found: Sequence[ClockFindings], folder: Path) -> list[Path]:
    """FOLDER/figures/clock.png, donor shares, and clock-curves.png, everything else; also as SVG."""
    with styled():
        figure, axes = panels(1, 1, WIDTH, FRAME + ROW * len(found))
        draw_donor_shares(axes[0, 0], found)
        first, _ = save(figure, folder / "figures" / "clock")
        figure, axes = panels(2, 3)
        for each, name, draw in zip(axes.flat, TITLES, CURVES, strict=True):
            draw(each, found)
            each.set_title(name, loc="right")
        second, _ = save(figure, folder / "figures" / "clock-curves")
    return [first, second]
