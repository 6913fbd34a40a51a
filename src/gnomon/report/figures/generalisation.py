"""Intervals that the subject was never trained on, between the trained ones and beyond them."""

import math
from typing import Any, get_args

import numpy as np
from matplotlib.axes import Axes

from gnomon.analysis.generalisation import Generalisation, Kind
from gnomon.analysis.performance import Line
from gnomon.report.figures.performance import PRODUCTION_LABEL, SAMPLE_LABEL, draw_identity
from gnomon.report.figures.style import FAINT, INK, SHADE, legend_above

# Told apart by shape and by filling, not by colour alone.
MARKS: dict[str, dict[str, Any]] = {
    "trained": {"marker": "o", "color": INK, "mfc": INK},
    "interpolated": {"marker": "D", "color": "#0072b2", "mfc": "white"},
    "below": {"marker": "v", "color": "#009e73", "mfc": "white"},
    "above": {"marker": "s", "color": "#d55e00", "mfc": "white"},
}


def draw_generalisation(axes: Axes, result: Generalisation) -> None:
    """Mean production interval of trained and of untrained sample intervals, region by region.

    How to read it: the grey area is the trained range, the dashed line perfect reproduction; bars are one s.d. of
    single trials; the slope of each region's means is in the legend with its 95 % interval (1 is perfect, 0 means that
    the interval makes no difference). Open marks on the line within the grey area mean that the subject has not learned
    a list by heart. Right of it the marks show whether it follows beyond the longest trained interval. The paper:
    finds that its recurrent agent interpolates and extrapolates, and that its feedforward agent generalises less well.
    """
    trained = result.sample_interval[result.region("trained")]
    if len(trained):
        axes.axvspan(trained[0], trained[-1], color=SHADE, lw=0, zorder=0)
        below = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        axes.annotate("trained range", ((trained[0] + trained[-1]) / 2, 0), (0, 4), color=FAINT, fontsize=9, **below)
    draw_identity(axes, float(result.sample_interval.max()))
    for kind in get_args(Kind):
        chosen = result.region(kind) & (result.n_productions > 0)
        if not chosen.any():
            continue
        bars: dict[str, Any] = {"ls": "none", "mew": 1.3, "elinewidth": 1.3, "zorder": 3}
        sd = np.nan_to_num(result.sd[chosen])  # a single production has no bar
        place = result.sample_interval[chosen], result.mean[chosen]
        axes.errorbar(*place, sd, label=kind + sloped(result.line(kind)), **bars, **MARKS[kind])
    axes.set(xlabel=SAMPLE_LABEL, ylabel=PRODUCTION_LABEL, ylim=(0, None))
    legend_above(axes)


def sloped(line: Line) -> str:
    """A line's slope as words for the legend; nothing where there is none."""
    if not math.isfinite(line.slope):
        return ""
    low, high = line.slope_interval
    return f", slope {line.slope:.2f}" + (f" ({low:.2f} to {high:.2f})" if math.isfinite(low) else "")
