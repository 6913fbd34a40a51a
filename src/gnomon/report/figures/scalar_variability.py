"""Scalar variability: how the spread of productions grows with the interval."""

import numpy as np
from matplotlib.axes import Axes

from gnomon.analysis.scalar_variability import EXPONENTS, ScalarVariability
from gnomon.report.figures.performance import ROOM, SAMPLE_LABEL
from gnomon.report.figures.style import ACCENT, FAINT, INK, interval_colours, legend_above

POINTS = 200  # at which the curve is drawn


def draw_scalar_variability(axes: Axes, result: ScalarVariability) -> None:
    """S.d. of the production interval against the sample interval, with the power law a + b t_s^c.

    How to read it: a point is the s.d. of single trials, its bar the 95 % bootstrap interval; the curve is the fit, the
    band its 95 % bootstrap interval. c = 1 with a = 0 is Weber's law (a straight line through the corner), c = 0.5 what
    a counter of random events would do, c near 0 a spread that does not grow. The paper: finds c = 0.7 for
    its feedforward agent, and shows no other.
    """
    shortest, longest = float(result.sample_interval.min()), float(result.sample_interval.max())
    t_s = np.linspace(shortest, longest, POINTS)
    axes.fill_between(result.sample_interval, *result.curve_interval.T, color=ACCENT, alpha=0.18, lw=0, zorder=1)
    low, high = result.c_interval
    bound = " at its bound" if np.isclose(result.c, EXPONENTS, rtol=1e-6).any() else ""
    label = f"$a + b\\,t_s^{{\\,c}}$, $c$ = {result.c:.2f}{bound} ({low:.2f} to {high:.2f})"
    axes.plot(t_s, result.a + result.b * t_s**result.c, color=ACCENT, label=label, zorder=2)
    colours = interval_colours(result.sample_interval.tolist())
    for index, interval in enumerate(result.sample_interval.tolist()):
        bar = np.abs(result.sd_interval[index] - result.sd[index])[:, None]  # [2, 1] below, above
        bars = {"color": colours[interval], "elinewidth": 1.5, "mec": INK, "mew": 0.5}
        axes.errorbar(interval, result.sd[index], bar, fmt="o", zorder=3, **bars)
    axes.set(xlabel=SAMPLE_LABEL, ylabel="s.d. of $t_p$ (frames)", xlim=(0, longest * (1 + ROOM)), ylim=(0, None))
    legend_above(axes)


def draw_weber_fraction(axes: Axes, result: ScalarVariability) -> None:
    """The Weber fraction, s.d. / mean of the production interval, per sample interval.

    How to read it: under Weber's law the points lie on a level line. An agent whose noise has a floor, or grows more
    slowly than the interval, has points that fall.
    """
    axes.plot(result.sample_interval, result.weber_fraction, color=FAINT, lw=1, zorder=2)
    colours = interval_colours(result.sample_interval.tolist())
    for interval, fraction in zip(result.sample_interval.tolist(), result.weber_fraction, strict=True):
        axes.plot(interval, fraction, "o", color=colours[interval], mec=INK, mew=0.5, zorder=3)
    end = float(result.sample_interval.max()) * (1 + ROOM)
    axes.set(xlabel=SAMPLE_LABEL, ylabel="Weber fraction, s.d. / mean", xlim=(0, end))
    finite = result.weber_fraction[np.isfinite(result.weber_fraction)]  # not where every production is 0
    axes.set_ylim(0, 1.15 * finite.max() if finite.any() else 1)


def draw_scalar_residual(axes: Axes, result: ScalarVariability) -> None:
    """What the power law leaves of the s.d. at each sample interval.

    How to read it: points that bend from one side of the line to the other mean that the spread follows another curve
    than a + b t_s^c, for instance one that falls again at the longest intervals. Bars are the 95 % intervals of the
    s.d. The legend says how much the curve explains, whether c is known, and where the s.d. is largest.
    """
    axes.axhline(0, color=FAINT, lw=1.1, ls=(0, (4, 3)), zorder=1)
    colours = interval_colours(result.sample_interval.tolist())
    for index, interval in enumerate(result.sample_interval.tolist()):
        bar = np.abs(result.sd_interval[index] - result.sd[index])[:, None]  # [2, 1] below, above; nan: no bar
        bars = {"color": colours[interval], "elinewidth": 1.5, "mec": INK, "mew": 0.5}
        axes.errorbar(interval, result.residual[index], bar, fmt="o", zorder=3, **bars)
    known = "c known" if result.identified else "c not identified"
    axes.plot([], [], " ", label=f"$R^2$ = {result.r_squared:.2f}, {known}, widest at {result.widest} frames")
    end = float(result.sample_interval.max()) * (1 + ROOM)
    axes.set(xlabel=SAMPLE_LABEL, ylabel="s.d. less the curve (frames)", xlim=(0, end))
    legend_above(axes)
