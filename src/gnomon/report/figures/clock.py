"""Where is the clock: donor shares after swaps, and what pauses, noise, lesions and displacements do."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.clock import NO, YES, Curve, Doses
from gnomon.report.figures.style import FAINT, SHADE, agent_colours, legend_above
from gnomon.study.clock import ClockFindings

COLOURS = {"gaze": "#d55e00", "state": "#0072b2"}
NAMES = {"gaze": "gaze swapped", "state": "memory swapped"}
ROW = 0.14  # how far the two marks of an agent stand from its row
SPREAD = 0.3  # how far the marks of the first and the last agent stand from their column


def draw_donor_shares(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """Whose interval an agent reproduces when its gaze, or its memory, is exchanged at Set for another trial's.

    How to read it: at Set the gaze (orange) or the memory (blue) is exchanged for that of another trial, which had
    another interval. A mark on the left: the agent still reproduces its own interval, so what was exchanged does not
    carry it. A mark on the right: it reproduces the other trial's interval, so what was exchanged carries it. Bars:
    95 % intervals over lanes.
    The paper: it concludes from activity and gaze that the recurrent agent counts inside and the feedforward agent uses
    the world as its clock; it does not intervene.
    """
    ends = [end for each in found for swap in each.clock.swaps for end in swap.share.interval if np.isfinite(end)]
    left, right = min([-0.2, *ends]) - 0.02, max([1.2, *ends]) + 0.02
    axes.axvspan(YES, right, color=SHADE, zorder=0)
    axes.axvspan(left, NO, color=SHADE, zorder=0)
    for row, each in enumerate(found):
        for what, side in (("gaze", -ROW), ("state", ROW)):
            swap = each.clock.swap(what)
            if swap is not None:
                mark(
                    axes, row + side, swap.share, COLOURS[what], NAMES[what] if row == first_with(found, what) else None
                )
            elif what == "state" and not each.memory:
                axes.text(0.5, row, "no memory to swap", color=FAINT, ha="center", va="center", fontsize=8.5)
    axes.set_yticks(range(len(found)), [each.name.replace("_", " ") for each in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(left, right)
    axes.set_xticks(
        [0, 0.5, 1],
        ["0\nfollows its own interval", "0.5", "1\nfollows the other trial's:\nthis carries the interval"],
    )
    axes.set_xlabel("whose interval is reproduced after a swap at Set: donor share")
    legend_above(axes, columns=2)


def first_with(found: Sequence[ClockFindings], what: str) -> int:
    """The first row that has such a swap: the one that goes into the legend."""
    return next((row for row, each in enumerate(found) if each.clock.swap(what) is not None), -1)


def mark(axes: Axes, row: float, share: Estimate, colour: str, label: str | None) -> None:
    """A value with its interval, on a row."""
    low, high = share.interval
    axes.plot([low, high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
    axes.plot([share.value], [row], "o", color=colour, markersize=7, label=label)


def draw_pauses(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """How much later the answer comes when gaze or memory are held for some frames after Set.

    How to read it: on the dashed line every frame of the pause delays the answer by a frame, so the clock stands still
    while gaze (solid) or memory (dotted) are held. On the level line it runs on.
    """
    longest = 0.0
    for each, colour in coloured(found):
        for pause in each.clock.pauses:
            curve = from_zero(pause.later)
            longest = max(longest, float(curve[0].max()))
            axes.plot(*curve, LINES[pause.what], color=colour, marker="o", markersize=4, alpha=0.85)
    axes.plot([0, longest], [0, longest], "--", color=FAINT, zorder=0)
    axes.axhline(0, color=FAINT, zorder=0, linewidth=0.8)
    axes.set_xlabel("frames held")
    axes.set_ylabel("answer later, frames")
    key(axes, found)


LINES = {"gaze": "-", "state": ":", "units": ":"}


def from_zero(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """A curve of shifts with the control, which has none, in front."""
    order = np.argsort(np.append(curve.dose, 0.0))
    return np.append(curve.dose, 0.0)[order], np.append(curve.value, 0.0)[order]


def draw_displacement(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """How the answer shifts when the gaze is displaced at Set.

    How to read it: to the right (solid) or upwards (dotted), in degrees. A level line: where the gaze is does
    not matter for when the answer comes.
    """
    for each, colour in coloured(found):
        result = each.clock.displacement
        if result is not None:
            for curve, line in ((result.rightwards, "-"), (result.upwards, ":")):
                steps, later = from_zero(curve)
                axes.plot(steps * each.step, later, line, color=colour, marker="o", markersize=4, alpha=0.85)
    axes.axhline(0, color=FAINT, zorder=0, linewidth=0.8)
    axes.set_xlabel("gaze displaced, degrees")
    axes.set_ylabel("answer later, frames")
    key(axes, found)


def draw_noise(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """The spread of productions under noise on the gaze or on the memory.

    How to read it: s.d. of the production interval about its line on the sample interval. Noise on the gaze (solid) is
    the probability of a random step on every frame; noise on the memory, or on the units of an agent without one
    (dotted), is its s.d. relative to each unit's own.
    """
    draw_doses(axes, found, lambda each: each.clock.noise, "sd")
    axes.set_xlabel("noise on each frame")
    axes.set_ylabel("s.d. of production, frames")
    key(axes, found)


def draw_lesions(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """What is left of timing when units are held at their mean.

    How to read it: the slope of the production interval on the sample interval; 1 is perfect, 0 is no timing. Units are
    lesioned in the order of the time they carry (solid), or at random (dotted). Curves end where nothing is answered.
    """
    for each, colour in coloured(found):
        for doses in each.clock.lesions:
            line = "-" if "time" in doses.arm else ":"
            axes.plot(doses.slope.dose, doses.slope.value, line, color=colour, marker="o", markersize=4, alpha=0.85)
    axes.axhline(0, color=FAINT, zorder=0, linewidth=0.8)
    most = max((float(doses.slope.dose.max()) for each in found for doses in each.clock.lesions), default=1.0)
    ticks = [0, *(2**power for power in range(2, 10) if 2**power <= most)]
    axes.set_xscale("symlog", linthresh=4)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("units lesioned")
    axes.set_ylabel("slope of production")
    key(axes, [each for each in found if each.clock.lesions])


def draw_doses(axes: Axes, found: Sequence[ClockFindings], pick, measure: str) -> None:
    """One line for each agent and kind of noise."""
    for each, colour in coloured(found):
        doses: Doses
        for doses in pick(each):
            curve: Curve = getattr(doses, measure)
            axes.plot(curve.dose, curve.value, LINES[doses.what], color=colour, marker="o", markersize=4, alpha=0.85)


def draw_scaling(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """How fast the units change after Set, by sample interval.

    How to read it: speed of the population in the same frames after Set, relative to its mean. A level line: every
    interval is counted down at one speed. The dashed curve: temporal scaling, the same course run more slowly.
    The paper: activity falls from a higher point when the interval is longer, and is back when the interval has passed,
    which implies one speed.
    """
    intervals = np.array([40, 100])
    for each, colour in coloured(found):
        if each.scaling is not None:
            intervals = each.scaling.sample_interval
            axes.plot(intervals, each.scaling.speed, color=colour, marker="o", markersize=4, alpha=0.85)
    inverse = 1 / np.asarray(intervals, dtype=float)
    axes.plot(intervals, inverse / inverse.mean(), "--", color=FAINT, zorder=0)
    axes.axhline(1, color=FAINT, zorder=0, linewidth=0.8)
    axes.set_xlabel("sample interval, frames")
    axes.set_ylabel("relative speed after Set")
    key(axes, found)


def draw_looks(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """What is left of timing when screen or room look otherwise from Set on.

    How to read it: the slope of the production interval on the sample interval, untouched and under each look; 1 is
    perfect, 0 is no timing. One mark for each agent. A mark is missing where too little was answered.
    """
    names = list(dict.fromkeys(look.arm for each in found for look in each.clock.looks))
    aside = np.linspace(-SPREAD, SPREAD, len(found)) if len(found) > 1 else np.zeros(1)
    for shift, (each, colour) in zip(aside, coloured(found), strict=True):
        slopes = {look.arm: float(look.slope.value[-1]) for look in each.clock.looks}
        height = [each.clock.slope.value, *(slopes.get(name, np.nan) for name in names)]
        axes.plot(np.arange(len(height)) + shift, height, "o", color=colour, markersize=4, alpha=0.85)
    for level in (0, 1):
        axes.axhline(level, color=FAINT, zorder=0, linewidth=0.8)
    axes.set_xticks(range(1 + len(names)), [name.replace(" ", "\n") for name in ("untouched", *names)])
    axes.set_xlabel("what is seen from Set on")
    axes.set_ylabel("slope of production")
    key(axes, found)


def coloured(found: Sequence[ClockFindings]) -> list[tuple[ClockFindings, tuple[float, float, float, float]]]:
    """Every agent with its controller's colour."""
    colours = agent_colours([each.controller for each in found])
    return [(each, colours[each.controller]) for each in found]


def key(axes: Axes, found: Sequence[ClockFindings]) -> None:
    """Which colour is which controller."""
    colours = agent_colours([each.controller for each in found])
    for controller, colour in colours.items():
        axes.plot([], [], color=colour, label=controller.replace("_", " "))
    if colours:
        legend_above(axes, columns=min(3, len(colours)))


CURVES = (draw_pauses, draw_displacement, draw_noise, draw_lesions, draw_scaling, draw_looks)
"""What is shown beside the donor shares."""
