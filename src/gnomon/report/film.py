"""One trial to look at: a film strip of its key frames, with a timeline of its events."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from gnomon.lab.laboratory import CLICK, MOVES
from gnomon.lab.optics import FRAME_COLOUR
from gnomon.lab.screen import Colour, hexadecimal
from gnomon.lab.tasks.base import FIXATION, FRAMES_PER_SECOND
from gnomon.lab.view import MARGIN, clip_to_view
from gnomon.records.films import NO_ACTION, TrialFilm

COLUMNS = 8  # key frames of a film strip
PANEL = 1.6  # side of a panel, inches
AGENT_ROWS = 3  # of a timeline: the actions, and two for the value
INK, FAINT, SHADOW = "#222222", "#8a8a8a", "#141414"
# Told apart by colour-blind eyes too.
SAMPLE_COLOUR, PRODUCTION_COLOUR, VALUE_COLOUR, ACTION_COLOUR = "#0072b2", "#d55e00", "#009e73", "#f0b84b"
SMALLEST_ARROW = 5  # pixels of a frame on the timeline, below which its action is not drawn
ARROW = 0.17  # length of the arrow that shows an action, monitor units
MASK = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}  # behind words that lie on lines


def readable(name: str) -> str:
    """The names of code as words: "first_click" is "First click"."""
    return name.replace("_", " ").capitalize()


def numbered(frame: int) -> str:
    return f"frame {frame}".replace("-", "\N{MINUS SIGN}")


# The film strip.


def film_strip(film: TrialFilm, path: Path) -> None:
    """Write a PNG: key frames side by side, the monitor above, the retina below, a timeline under them."""
    chosen = key_frames(film)
    height, width = film.retina.shape[1:3]
    rows = len(visible_spans(film)) + 2 + (0 if film.values is None else AGENT_ROWS)
    above, below = 1.25 + PANEL * (1.05 + height / width), 1.0 + 0.26 * rows  # inches
    across = 1.7 + PANEL * (1.06 * len(chosen) - 0.06)
    figure = Figure(figsize=(across, above + below), dpi=130, facecolor="white")
    FigureCanvasAgg(figure)
    strip, line = figure.subfigures(2, 1, height_ratios=(above, below), hspace=0, squeeze=False)[:, 0]
    for part in (strip, line):
        part.set_facecolor("none")  # the threads run behind
    left, right = 0.85 / across, 1 - 0.85 / across
    strip.text(left, 1 - 0.3 / above, film.title, fontsize=15, fontweight="bold", color=INK, va="center")
    strip.text(right, 1 - 0.3 / above, film.caption, fontsize=12, color=INK, va="center", ha="right")
    panels = strip.subplots(2, len(chosen), squeeze=False, height_ratios=(1, height / width))
    edges = {"left": left, "right": right, "wspace": 0.06, "hspace": 0.1 / (1 + height / width)}
    strip.subplots_adjust(top=1 - 1.0 / above, bottom=0.25 / above, **edges)
    timeline = line.subplots()
    line.subplots_adjust(left=2.2 / across, right=right, top=1 - 0.45 / below, bottom=0.55 / below)
    draw_timeline(timeline, film, fontsize=10)

    names = {frame: name for name, frame in film.events.items()}
    for (monitor, retina), index, previous in zip(panels.T, chosen, [0, *chosen[:-1]], strict=True):
        frame = int(film.frames[index])
        draw_moment(monitor, film, previous, index)
        monitor.set_title(f"{readable(names.get(frame, ''))}\n{numbered(frame)}", fontsize=10, color=INK)
        retina.imshow(film.retina[index], interpolation="nearest")
        for panel in (monitor, retina):
            panel.set(xticks=[], yticks=[])
            panel.spines[:].set_visible(False)
        # A thread from the column to its moment on the timeline.
        here, there = retina.transAxes, timeline.get_xaxis_transform()
        figure.add_artist(ConnectionPatch((0.5, 0), (frame, 1), here, there, color=FAINT, lw=0.8, zorder=-1))
    for label, panel in zip(("monitor", "retina"), panels[:, 0], strict=True):
        panel.set_ylabel(label, fontsize=11, color=INK)
    figure.savefig(path)


def key_frames(film: TrialFilm) -> list[int]:
    """Indices of the frames worth showing: events, the last before the response, and some in between."""
    moments = {0, *(int(np.searchsorted(film.frames, at)) for at in (*film.events.values(), film.end - 1))}
    while len(moments) < min(COLUMNS, len(film.frames)):
        gap, start = max((later - earlier, earlier) for earlier, later in pairwise(sorted(moments)))
        if gap < 2:
            break
        moments.add(start + gap // 2)
    return sorted(moments)


def draw_moment(axes: Axes, film: TrialFilm, previous: int, index: int) -> None:
    """The monitor at one frame, the gaze with its path since an earlier one, and where the action turns it."""
    axes.set(xlim=(-MARGIN, 1 + MARGIN), ylim=(1 + MARGIN, -MARGIN), aspect="equal")
    axes.set_facecolor(hexadecimal(FRAME_COLOUR))
    axes.add_patch(Rectangle((0, 0), 1, 1, color=hexadecimal(film.task.background), lw=0))
    for widget in film.pictures[index]:
        for part in widget.parts:
            corner, colour = (part.left, part.top), hexadecimal(widget.colour)
            axes.add_patch(Rectangle(corner, part.width, part.height, color=colour, lw=0))
    if film.frames[index] == film.end:  # the monitor has just gone blank: outline what was there
        for box in (widget.box for widget in film.pictures[index - 1]):
            outline = {"fill": False, "edgecolor": "#9a9a9a", "lw": 1, "ls": (0, (2, 2))}
            axes.add_patch(Rectangle((box.left, box.top), box.width, box.height, **outline))
    path = clip_to_view(film.gaze[previous : index + 1])
    halo = [withStroke(linewidth=3.2, foreground=SHADOW)]
    axes.plot(path[:, 0], path[:, 1], color="#bbbbbb", lw=1.1, path_effects=halo)
    axes.plot(*path[-1], "o", mfc="none", mec="white", ms=14, mew=1.6, path_effects=halo)
    axes.plot(*path[-1], "o", color="white", ms=2.5, mew=0, path_effects=halo)
    move = np.array([*MOVES.values(), (0, 0)])[film.actions[index]]
    if move.any():
        tip = path[-1] + ARROW * np.array((move[0], -move[1])) / np.linalg.norm(move)
        style = {"arrowstyle": "-|>", "color": ACTION_COLOUR, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", tip, path[-1], arrowprops=style, annotation_clip=False)
    if film.clicks[index]:
        beside = {"xytext": (12, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate("click", path[-1], color="white", fontsize=9, **beside)


# The timeline.


def visible_spans(film: TrialFilm) -> dict[str, list[tuple[int, int, Colour]]]:
    """When each widget was on the monitor, in order of appearance: name -> (first frame, frames, colour)."""
    spans: dict[str, list[tuple[int, int, Colour]]] = {}
    for frame, picture in zip(film.frames.tolist(), film.pictures, strict=True):
        for widget in picture:
            known = spans.setdefault(widget.name, [])
            first, length, colour = known[-1] if known else (frame, 0, widget.colour)
            if known and first + length == frame and colour == widget.colour:
                known[-1] = (first, length + 1, colour)
            else:
                known.append((frame, 1, widget.colour))
    return spans


def draw_timeline(axes: Axes, film: TrialFilm, fontsize: float) -> None:
    """Bars for what was visible, dimension lines for the two intervals, a labelled line for every event."""
    axes.set_xlim(film.frames[0], film.frames[-1] + 1)
    axes.set_facecolor("none")
    spans = visible_spans(film)
    labels = ["Cross" if name == FIXATION else readable(name) for name in spans]
    for level, widget_spans in enumerate(spans.values()):
        for first, length, colour in widget_spans:
            axes.barh(level, length, 0.62, first, facecolor=hexadecimal(colour), edgecolor=INK, lw=0.5)
    events, row = film.events, film.row
    sample, production = film.task.sample_bounds, film.task.production_bounds
    onset = events.get(production[0]) if production else None
    # Where the interval is not shown, it is asked for from the production's onset on.
    begin = onset if sample is None else events.get(sample[0]) if sample[1] in events else None
    if begin is not None:
        words = f"{row['sample_interval']} frames"
        draw_interval(axes, len(labels), begin, row["sample_interval"], SAMPLE_COLOUR, words, fontsize)
        labels.append("Sample interval $t_s$")
    if onset is not None and row["production_interval"] is not None:
        words = f"{row['production_interval']} frames, rewarded within {row['tolerance']:g} of $t_s$"
        draw_interval(axes, len(labels), onset, row["production_interval"], PRODUCTION_COLOUR, words, fontsize)
        labels.append("Production $t_p$")
    if film.values is not None:
        if axes.bbox.width / len(film.frames) >= SMALLEST_ARROW:
            draw_actions(axes, film, len(labels))
            labels.append("Action")
        low, high = draw_value(axes, film, len(labels) - 0.4, len(labels) + 1.4)
        labels += [f"Value, {low:.2f} to {high:.2f}".replace("-", "\N{MINUS SIGN}"), ""]
    axes.set(ylim=(len(labels) - 0.4, -0.6), yticks=range(len(labels)))
    axes.set_yticklabels(labels, fontsize=fontsize, color=INK)
    axes.set_xlabel(f"frames since fixation ({FRAMES_PER_SECOND} a second)", fontsize=fontsize, color=INK)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=fontsize - 1, colors=INK)
    axes.spines[["left", "top", "right"]].set_visible(False)
    label_events(axes, events, fontsize)


def draw_actions(axes: Axes, film: TrialFilm, level: float) -> None:
    """An arrow for every frame's action; a dot where the gaze was to stay, a square for a click."""
    chosen = film.actions != NO_ACTION
    moves = np.array([*MOVES.values(), (0, 0)])[film.actions[chosen]]  # [frames, (right, up)]
    x, moving = film.frames[chosen] + 0.5, moves.any(1)
    scale: dict[str, Any] = {"units": "x", "angles": "uv", "scale": 1.1, "pivot": "middle", "width": 0.14}  # frames
    heads: dict[str, Any] = {"headwidth": 4.5, "headlength": 4.5, "headaxislength": 4.0}
    unit = moves[moving] / np.linalg.norm(moves[moving], axis=1, keepdims=True)
    axes.quiver(x[moving], np.full(moving.sum(), level), unit[:, 0], unit[:, 1], color=INK, **scale, **heads)
    for action, marker in ((0, "."), (CLICK, "s")):
        still = film.actions[chosen] == action
        axes.plot(x[still], np.full(still.sum(), level), marker, color=INK, ms=2, mew=0)


def draw_value(axes: Axes, film: TrialFilm, top: float, bottom: float) -> tuple[float, float]:
    """An agent's value, frame by frame, between two levels; returns the values there, the least and the largest."""
    assert film.values is not None
    known = np.isfinite(film.values)
    low, high = float(film.values[known].min()), float(film.values[known].max())
    levels = bottom + (film.values[known] - low) / max(high - low, 1e-9) * (top - bottom)
    axes.plot(film.frames[known] + 0.5, levels, color=VALUE_COLOUR, lw=1.4)
    return low, high


def draw_interval(axes: Axes, level: int, first: int, length: int, colour: str, words: str, fontsize: float) -> None:
    """A dimension line over `length` frames from `first`; words break it, or stand beside a short one."""
    last = first + length
    axes.plot([first, last], [level, level], color=colour, lw=1.8, solid_capstyle="butt")
    axes.plot([first, last], [level, level], "|", color=colour, ms=9, mew=1.8)
    text = annotate(axes, words, ((first + last) / 2, level), color=colour, fontsize=fontsize, va="center")
    needed = extent(text).width + 16  # pixels
    left, right, border = (axes.transData.transform((x, level))[0] for x in (first, last, axes.get_xlim()[1]))
    if right - left < needed:
        beyond = right + needed < border
        text.xy = (last if beyond else first, level)
        text.set(ha="left" if beyond else "right", position=(7 if beyond else -7, 0))


def label_events(axes: Axes, events: dict[str, int], fontsize: float) -> None:
    """A line at each event and its name above, one storey higher wherever it would run into its neighbour."""
    taken: list[float] = []  # right edge of the last name of each storey, in pixels
    for name, frame in sorted(events.items(), key=lambda event: event[1]):
        axes.axvline(frame, color=INK, lw=0.8, ls=(0, (3, 2)), zorder=0)
        place = {"xycoords": ("data", "axes fraction"), "va": "bottom"}
        text = annotate(axes, readable(name), (frame, 1), fontsize=fontsize, color=INK, **place)
        box = extent(text)
        storey = next((s for s, edge in enumerate(taken) if edge + 6 < box.x0), len(taken))
        taken[storey : storey + 1] = [box.x1]
        text.set_position((0, 3 + 1.35 * fontsize * storey))


def annotate(axes: Axes, words: str, at: tuple[float, float], **style: Any) -> Annotation:
    """Words centred at a point; their position is then an offset from it, in points."""
    fixed = {"textcoords": "offset points", "ha": "center", "annotation_clip": False, "bbox": MASK}
    return axes.annotate(words, at, (0, 0), **fixed, **style)


def extent(text: Text) -> Bbox:
    """Where words are, in pixels."""
    figure = text.get_figure(root=True)
    assert figure is not None
    assert isinstance(figure.canvas, FigureCanvasAgg)
    return text.get_window_extent(figure.canvas.get_renderer())
