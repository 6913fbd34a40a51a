"""Figures of the gaze: paths on a drawing of the monitor, and how the gaze moved per sample interval.

Every function takes axes and a result of `gnomon.analysis.gaze`, and computes nothing but places on the paper.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from gnomon.analysis.gaze import PHASES, GazePaths, IntervalGaze
from gnomon.analysis.gaze_strategy import GazeStrategy
from gnomon.lab.screen import MONITOR, hexadecimal
from gnomon.report.figures.style import FAINT, INK, interval_colours
from gnomon.report.figures.units import ENDS, event_handles, mark_event

MARGIN = 0.08  # around what a panel shows, in monitor units
NAMES = {"fixation": "", "ready": "Ready", "set": "Set", "go": "Go"}  # written above what the monitor shows

PHASE_LOOKS = {
    "ready_to_set": ("Ready to Set", "o", "#0072b2"),
    "set_to_response": ("Set to response", "s", "#d55e00"),
}
MEASURES = {
    "spread": "spread about the mean path\n(monitor widths)",
    "stereotypy": "gaze variance explained\nby the mean path",
    "travelled": "travelled per frame waited\n(monitor widths)",
    "share_moved": "share of frames in which\nthe gaze moved",
    "share_off_monitor": "share of frames\noff the monitor",
}


def draw_mean_paths(axes: Axes, result: GazePaths) -> None:
    """The mean path of every sample interval, Ready and Set marked where the gaze was at their onset.

    How to read it: one path per sample interval from Ready on, on a drawing of the monitor. A path that is the same at
    all intervals until Set, and longer for longer ones, can tell the time. The paper: its recurrent agent stays near
    the cross until Set; its feedforward agent follows a stereotyped path and leaves it at Set. It averages rewarded
    trials; here all trials that were answered after Set count.
    """
    draw_monitor(axes, result)
    colours = interval_colours([each.sample_interval for each in result.intervals])
    for each in reversed(result.intervals):  # short paths on top of long ones, which cover more
        colour = colours[each.sample_interval]
        axes.plot(*each.mean_path.T, color=colour, linewidth=1.4, label=f"{each.sample_interval}")
        for event, frame in (("Ready", 0), ("Set", each.sample_interval)):
            mark_event(axes, event, each.mean_path[frame : frame + 1], colour)
    look_at(axes, result, [each.mean_path for each in result.intervals])
    axes.set_title(f"mean gaze, {len(result.trials)} trials")
    axes.legend(handles=event_handles(ENDS["ready"]), loc="lower left")


def draw_single_paths(axes: Axes, result: GazePaths, sample_interval: int) -> None:
    """Single trials of one sample interval, and their mean in its colour.

    How to read it: grey are the first trials, coloured is the mean over all of them. Trials that lie on the mean are
    stereotyped. The paper: shows means only.
    """
    chosen = interval_of(result, sample_interval)
    colour = interval_colours([each.sample_interval for each in result.intervals])[sample_interval]
    draw_monitor(axes, result)
    for path in chosen.single_paths:
        axes.plot(*path.T, color=FAINT, linewidth=0.8, alpha=0.8)
        mark_event(axes, "Set", path[sample_interval : sample_interval + 1], "white")
        mark_event(axes, "Go", path[-1:], "white")
    axes.plot(*chosen.mean_path.T, color=colour, linewidth=2.4)
    for event, frame in (("Ready", 0), ("Set", sample_interval)):
        mark_event(axes, event, chosen.mean_path[frame : frame + 1], colour)
    look_at(axes, result, [chosen.mean_path, *chosen.single_paths])
    axes.set_title(f"{sample_interval} frames: {len(chosen.single_paths)} of {chosen.n_trials} trials, and the mean")
    axes.legend(handles=event_handles(("Ready", "Set", "Go")), loc="lower left")


def draw_movement(axes: Axes, result: GazePaths, measure: str) -> None:
    """One measure of `Movement` per sample interval, for the wait before Set and the one after it.

    How to read it: a subject whose clock is in its units may keep still; one whose clock is its gaze cannot.
    The paper: does not measure it.
    """
    if measure not in MEASURES:
        raise ValueError(f"unknown measure {measure!r}; choose {', '.join(MEASURES)}")
    intervals = [each.sample_interval for each in result.intervals]
    for index, phase in enumerate(PHASES):
        name, marker, colour = PHASE_LOOKS[phase]
        values = [getattr(each.movements[index], measure) for each in result.intervals]
        overall = getattr(result.overall[index], measure)
        axes.plot(intervals, values, marker=marker, color=colour, label=f"{name} (mean {overall:.2g})")
    axes.set_xlabel("sample interval (frames)")
    axes.set_ylabel(MEASURES[measure])
    _, top = axes.get_ylim()
    axes.set_ylim(0, 1.25 * max(top, 1e-3))  # room for the legend; nothing at all still has a scale
    axes.legend(loc="upper left")


def draw_shift(axes: Axes, result: GazeStrategy) -> None:
    """The mean distance of the gaze from Go, from Set to the response, one line per sample interval.

    How to read it: time is stretched so that all responses come at 1. A straight line is a steady shift; one that is
    level and drops at the end is a gaze that waits and jumps. The paper: its recurrent agent shifts its gaze linearly.
    """
    shift = result.shift
    colours = interval_colours(shift.sample_interval.tolist())
    for t_s, distance in zip(shift.sample_interval.tolist(), shift.distance, strict=True):
        axes.plot(shift.time, distance, color=colours[t_s], label=f"{t_s}")
    axes.set(xlabel="time from Set (0) to the response (1)", ylabel="distance to Go (degrees)", ylim=(0, None))
    axes.margins(x=0)
    axes.set_title(f"straight line: mean $R^2$ {shift.linearity.value:.2f}, half way at {shift.half_way.value:.2f}")


def draw_branch(axes: Axes, result: GazeStrategy) -> None:
    """How far the gaze is from that of trials in which Set has not come, around Set, one line per sample interval.

    How to read it: in units of the spread of single trials, at equal times since Ready. Before Set (left) the distance
    is what chance gives. If it grows after Set, the gaze leaves the common path there; if not, Set changes nothing.
    """
    branch = result.branch
    colours = interval_colours([*branch.sample_interval.tolist(), *result.shift.sample_interval.tolist()])
    axes.axvline(0, color=FAINT, linewidth=1, linestyle="--", zorder=1)
    for t_s, separation in zip(branch.sample_interval.tolist(), branch.separation, strict=True):
        axes.plot(branch.since_set, separation, color=colours[t_s], label=f"{t_s}")
    axes.set(xlabel="frames since Set", ylabel="distance from the common path\n(spreads)", ylim=(0, None))
    axes.margins(x=0)
    axes.set_title(f"before Set {branch.before.value:.1f}, after it {branch.after.value:.1f}")


def draw_monitor(axes: Axes, result: GazePaths) -> None:
    """The monitor, with everything it shows in the course of a trial, pale so that every path stands out."""
    edge = {"edgecolor": INK, "linewidth": 0.9, "zorder": 0}
    axes.add_patch(Rectangle((MONITOR.left, MONITOR.top), MONITOR.width, MONITOR.height, facecolor="#f6f6f6", **edge))
    for widget in result.monitor:
        for part in widget.parts:
            place = (part.left, part.top), part.width, part.height
            axes.add_patch(
                Rectangle(*place, facecolor=hexadecimal(widget.colour), alpha=0.35, edgecolor="none", zorder=0)
            )
        box = widget.box
        axes.annotate(
            NAMES[widget.name], (box.left + box.width / 2, box.top), (0, 2), textcoords="offset points",
            ha="center", va="bottom", fontsize=9, color=INK, zorder=4,
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def look_at(axes: Axes, result: GazePaths, paths: Sequence[NDArray[np.float64]]) -> None:
    """Show the square part of the room that holds the paths [frame, 2] and everything on the monitor."""
    boxes = [widget.box for widget in result.monitor]
    corners = [np.array([(box.left, box.top), (box.right, box.bottom)]) for box in boxes]
    points = np.concatenate([*paths, *corners])
    low, high = points.min(0) - MARGIN, points.max(0) + MARGIN
    (x, y), side = (low + high) / 2, float((high - low).max())
    axes.set_xlim(x - side / 2, x + side / 2)
    axes.set_ylim(y + side / 2, y - side / 2)  # y runs down


def interval_of(result: GazePaths, sample_interval: int) -> IntervalGaze:
    for each in result.intervals:
        if each.sample_interval == sample_interval:
            return each
    known = ", ".join(str(each.sample_interval) for each in result.intervals)
    raise ValueError(f"sample_interval is {sample_interval}; the result has {known}")
