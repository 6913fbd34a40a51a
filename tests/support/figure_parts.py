"""What is drawn on a panel, and the intervals of the trials that the figures' tests draw."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from gnomon.report.figures.style import (
    panels,
    styled,
)

TRAINED = (10, 20, 30, 40)
PROBES = (5, 25, 50)


def drawn(draw: Callable[[Axes], None]) -> Axes:
    """One panel with a drawing on it, rendered, so that every warning there is comes out."""
    with styled():
        figure, axes = panels()
        draw(axes[0, 0])
        figure.draw_without_rendering()
    return axes[0, 0]


def bars_of(axes: Axes) -> list[tuple[float, float, float, float]]:
    """(x, y, bottom, top) of each point with an error bar; bottom and top are nan without one."""
    every = []
    for container in axes.containers:
        assert isinstance(container, ErrorbarContainer)
        points, _, bars = container.lines
        assert points is not None
        places = np.asarray(points.get_xydata())
        segments = bars[0].get_segments() if bars else [np.full((2, 2), np.nan)] * len(places)
        for (x, y), segment in zip(places, segments, strict=True):
            every.append((x, y, segment[0, 1], segment[1, 1]))
    return every


def legend_of(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]
