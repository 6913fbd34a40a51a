"""Figures of the units: trajectories on principal components, and elapsed time decoded.

Every function takes axes and a result of `gnomon.analysis.units`, and computes nothing but places on the paper.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from gnomon.analysis.units import Population
from gnomon.report.figures.style import ACCENT, FAINT, INK, Colour, interval_colours

# What happens at the beginning and at the end of what is aligned to an event, and the mark for it.
ENDS = {"ready": ("Ready", "Set"), "set": ("Set", "Go")}
MARKS = {"Ready": "o", "Set": "s", "Go": "^"}
MARK_SIZE = 5.5  # points
FEWEST = 5  # a mean over fewer trials is not drawn


def draw_trajectories(axes: Axes, population: Population, components: tuple[int, int] = (1, 2)) -> None:
    """Trial averages in the plane of two principal components (counted from 1), one line per sample interval.

    How to read it: whole trials, from Ready through Set to the response, on components of whole trials; the events are
    marked. Paths that lie side by side and end in one place are states that depend on the interval and come back.
    """
    across, up = (drawable(population, component) - 1 for component in components)
    colours = interval_colours([each.sample_interval for each in population.trajectories])
    for each in population.trajectories:
        path = each.projection[:, [across, up]]  # [frame, 2]
        colour = colours[each.sample_interval]
        axes.plot(*path.T, color=colour, label=f"{each.sample_interval}")
        events = (("Ready", slice(None, 1)), ("Set", slice(each.sample_interval, each.sample_interval + 1)))
        for mark, place in (*events, ("Go", slice(-1, None))):
            mark_event(axes, mark, path[place], colour)
    axes.set_xlabel(component_name(population, components[0]))
    axes.set_ylabel(component_name(population, components[1]))
    axes.set_title(f"Ready to Go, {population.n_units} {population.units} units")
    axes.legend(handles=event_handles(("Ready", "Set", "Go")), loc="best")


def draw_component(axes: Axes, population: Population, event: str, component: int = 1) -> None:
    """One principal component (counted from 1) over whole trials, aligned to "ready" or to "set", as in the paper.

    How to read it: one line per sample interval, from Ready to the response. Aligned to Ready, dashed lines in the same
    colours are the onsets of Set; aligned to Set, one grey line is. A counter rises along one line until Set, turns
    there, and is back at its first height by the response; at Set it stands higher after longer intervals. The paper:
    shows this for the LSTM's cell state, where it finds such a counter, and for the feedforward agent's units.
    """
    if event not in ENDS:
        raise ValueError(f"unknown event {event!r}; choose {', '.join(ENDS)}")
    column = drawable(population, component) - 1
    colours = interval_colours([each.sample_interval for each in population.trajectories])
    if event == "set":
        axes.axvline(0, color=FAINT, linewidth=1, linestyle="--", zorder=1)
    for each in population.trajectories:
        y, colour = each.projection[:, column], colours[each.sample_interval]
        x = np.arange(len(y), dtype=float) - (each.sample_interval if event == "set" else 0)
        if event == "ready":
            axes.axvline(each.sample_interval, color=colour, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        axes.plot(x, y, color=colour, label=f"{each.sample_interval}")
        mark_event(axes, "Go", np.column_stack([x, y])[-1:], colour)
    axes.set_xlabel(f"frames since {ENDS[event][0]}")
    axes.set_ylabel(component_name(population, component))
    axes.legend(handles=event_handles(("Go",)), loc="best")


def draw_decoder(axes: Axes, population: Population, event: str) -> None:
    """Elapsed time decoded from trials never seen, mean and s.d., against the true one, where trials are enough.

    How to read it: on the dashed line the linear decoder is right. Chance is the same decoder with times shuffled
    within each trial. A good decoder does not show that the subject keeps time in these units: compare it with a
    network before training. The paper: has no decoder.
    """
    decoder = population.decoder(event)
    enough = decoder.n_at_elapsed >= FEWEST
    elapsed, mean, sd = decoder.elapsed[enough], decoder.decoded_mean[enough], decoder.decoded_sd[enough]
    axes.axline((0, 0), slope=1, color=FAINT, linewidth=1, linestyle="--", zorder=1)
    axes.fill_between(elapsed, mean - sd, mean + sd, color=ACCENT, alpha=0.25, linewidth=0)
    axes.plot(elapsed, mean, color=ACCENT)
    axes.set_xlabel(f"frames since {ENDS[event][0]}")
    axes.set_ylabel("decoded (frames, mean ± s.d.)")
    words = (
        f"R² {decoder.r2:.2f} (chance {decoder.chance_r2:.2f})\n"
        f"error {decoder.absolute_error:.1f} frames (chance {decoder.chance_absolute_error:.1f})\n"
        f"{decoder.n_trials} trials, each held out once"
    )
    axes.annotate(words, (0.03, 0.97), xycoords="axes fraction", va="top", fontsize=9, color=INK)
    # Room for the words above the curve.
    _, top = axes.get_ylim()
    axes.set_ylim(top=1.3 * top)


def draw_interval_key(axes: Axes, intervals: Sequence[int]) -> None:
    """The colours of the sample intervals, to the right of the axes, beside whatever legend they have."""
    colours = interval_colours(intervals)
    handles = [
        Line2D([], [], color=colours[interval], linewidth=3, label=f"{interval}") for interval in sorted(colours)
    ]
    kept = axes.get_legend()
    axes.legend(
        handles=handles,
        title="sample interval\n(frames)",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        handlelength=1.2,
    )
    if kept is not None:
        axes.add_artist(kept)  # a second legend replaces the first unless it is added again


# What the panels share ------------------------------------------------------------------------------------


def drawable(population: Population, component: int) -> int:
    """The component, if trajectories have it."""
    available = population.trajectories[0].projection.shape[1]
    if not 1 <= component <= available:
        raise ValueError(f"component is {component}; trajectories have components 1 to {available}")
    return component


def component_name(population: Population, component: int) -> str:
    return f"PC {component} ({100 * population.explained_variance[component - 1]:.0f} % of variance)"


def mark_event(axes: Axes, event: str, points: NDArray[np.float64], colour: Colour | str) -> None:
    """Mark points [n, 2], in data units."""
    axes.plot(
        *points.T,
        MARKS[event],
        markersize=MARK_SIZE,
        markerfacecolor=colour,
        markeredgecolor=INK,
        markeredgewidth=0.7,
        zorder=3,
    )


def event_handles(events: Sequence[str]) -> list[Line2D]:
    """Entries of a legend that says what the marks mean."""
    return [
        Line2D(
            [],
            [],
            linestyle="",
            marker=MARKS[event],
            markersize=MARK_SIZE,
            color="white",
            markeredgecolor=INK,
            label=event,
        )
        for event in events
    ]
