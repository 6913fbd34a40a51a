"""One look for every figure: colours told apart by colour-blind eyes, letters legible on a phone, files the same byte
for byte whenever they are drawn again.

    with styled():
        figure, axes = panels()
        draw_production(axes[0, 0], result)
        save(figure, folder / "production")
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

Colour = tuple[float, float, float, float]  # red, green, blue, opacity: 0 to 1

WIDTH, HEIGHT = 5.0, 3.8  # inches, of a single panel: its letters can still be read at a phone's width
DOTS_PER_INCH = 160

INK = "#222222"  # words, axes, and the subject's own data
FAINT = "#8a8a8a"  # what is there to compare with: the identity line, single seeds
SHADE = "#e9e9e9"  # areas behind the data: the tolerance, the trained range
ACCENT = "#d55e00"  # what a model or a fit says, against the data in ink

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],  # the first comes with matplotlib; the second is as wide
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 9.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "lines.markersize": 6.5,
    "errorbar.capsize": 3,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "figure.facecolor": "white",
    "figure.dpi": DOTS_PER_INCH,
    "savefig.dpi": DOTS_PER_INCH,
    "svg.fonttype": "none",  # words stay words: small files that can be searched
    "svg.hashsalt": "gnomon",  # otherwise every file gets other ids
}

INTERVAL_MAP = "viridis"
LIGHTEST, DARKEST = 0.88, 0.0  # of the map: pure yellow would vanish on white
ONLY = 0.4  # of the map: where there is a single interval

# Okabe & Ito's colours, without black (the ink) and yellow (vanishes on white).
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
DARKER = 0.55  # share of its light that a colour keeps when the palette is used again
KNOWN_AGENTS = ("lstm", "feedforward", "gru", "rnn", "rmc", "frozen_lstm")  # the palette's, in order


def styled() -> AbstractContextManager[None]:
    """Within it everything is drawn in the project's style; draw and save inside."""
    return rc_context(STYLE)


def panels(
    rows: int = 1, columns: int = 1, width: float = WIDTH, height: float = HEIGHT, **subplots: Any
) -> tuple[Figure, NDArray[Any]]:
    """A figure and its axes [rows, columns], each panel `width` x `height` inches; call it within `styled`."""
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **subplots)


def interval_colours(intervals: Sequence[int]) -> dict[int, Colour]:
    """A colour for each interval, the shortest light, the longest dark; equally spaced, however they are."""
    distinct = sorted({int(interval) for interval in intervals})
    places = np.linspace(LIGHTEST, DARKEST, len(distinct)) if len(distinct) > 1 else [ONLY] * len(distinct)
    colours = matplotlib.colormaps[INTERVAL_MAP]
    return {interval: _opaque(colours(float(place))) for interval, place in zip(distinct, places, strict=True)}


def agent_colours(names: Sequence[str]) -> dict[str, Colour]:
    """A colour for each agent. The paper's controllers keep theirs in every figure; others get those left over."""
    distinct = list(dict.fromkeys(names))
    darker = [tuple(DARKER * part for part in to_rgb(colour)) for colour in PALETTE]
    every = [_opaque(to_rgb(colour)) for colour in PALETTE] + [_opaque(colour) for colour in darker]
    if len(distinct) > len(every):
        raise ValueError(f"{len(distinct)} agents cannot be told apart by colour; draw at most {len(every)} together")
    colours = {name: every[KNOWN_AGENTS.index(name)] for name in distinct if name in KNOWN_AGENTS}
    left_over = iter([colour for colour in every if colour not in colours.values()])
    return {name: colours.get(name) or next(left_over) for name in distinct}


def luminance(colour: Colour) -> float:
    """How light a colour looks: relative luminance, 0 black to 1 white."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def legend_above(axes: Axes, columns: int = 1) -> None:
    """The legend over the panel, where it hides no data."""
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "borderaxespad": 0}
    axes.legend(ncols=columns, columnspacing=1.4, labelspacing=0.3, **place)


def save(figure: Figure, path_without_suffix: Path) -> tuple[Path, Path]:
    """Write PATH.png and PATH.svg, the same bytes every time, and return both."""
    folder, name = path_without_suffix.parent, path_without_suffix.name
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"  # a dot in the name is no suffix
    with styled():
        figure.savefig(png, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None, "Creator": "gnomon"})
    return png, svg


def _opaque(colour: Sequence[float]) -> Colour:
    red, green, blue = (float(part) for part in colour[:3])
    return red, green, blue, 1.0
