"""Intervals that the subject was never trained on, between the trained ones and beyond them."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gnomon.analysis.generalisation import Generalisation
from gnomon.analysis.performance import Line
from gnomon.report.figures.performance import PRODUCTION_LABEL, SAMPLE_LABEL, draw_identity
from gnomon.report.figures.style import FAINT, INK, SHADE, legend_above

# Told apart by shape and by filling, not by colour alone.
MARKS: dict[str, dict[str, Any]] = {
    "trained": {"marker": "o", "color": INK, "mfc": INK},
    "interpolated": {"marker": "D", "color": "#0072b2", "mfc": "white"},
    "extrapolated": {"marker": "s", "color": "#d55e00", "mfc": "white"},
}


def draw_generalisation(axes: Axes, result: Generalisation) -> None:
    """Mean production interval of trained and of untrained sample intervals.

    How to read it: the grey area is the trained range, the dashed line perfect reproduction; bars are one s.d. of
    single trials; the slope of each kind's means is in the legend (1 is perfect, 0 means that the interval makes no
    difference). Open marks on the line mean that the subject times intervals, and has not learned a list by heart. The
    paper tests both agents so, between the trained intervals and beyond them.
    """
    kinds = np.array(result.kind)
    trained = result.sample_interval[kinds == "trained"]
    if len(trained):
        axes.axvspan(trained[0], trained[-1], color=SHADE, lw=0, zorder=0)
        below = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        axes.annotate("trained range", ((trained[0] + trained[-1]) / 2, 0), (0, 4), color=FAINT, fontsize=9, **below)
    draw_identity(axes, float(result.sample_interval.max()))
    lines: dict[str, Line] = {
        "trained": result.trained,
        "interpolated": result.interpolated,
        "extrapolated": result.extrapolated,
    }
    for kind, mark in MARKS.items():
        chosen = (kinds == kind) & (result.n_productions > 0)
        if not chosen.any():
            continue
        slope = f", slope {lines[kind].slope:.2f}" if math.isfinite(lines[kind].slope) else ""
        bars: dict[str, Any] = {"ls": "none", "mew": 1.3, "elinewidth": 1.3, "zorder": 3}
        sd = np.nan_to_num(result.sd[chosen])  # a single production has no bar
        axes.errorbar(result.sample_interval[chosen], result.mean[chosen], sd, label=kind + slope, **bars, **mark)
    axes.set(xlabel=SAMPLE_LABEL, ylabel=PRODUCTION_LABEL, ylim=(0, None))
    legend_above(axes)
