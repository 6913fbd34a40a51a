"""How well a subject reproduces intervals: learning curves, production per sample interval, bias and variance."""

import re
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from gnomon.analysis.performance import LearningCurve, Production
from gnomon.report.figures.style import FAINT, INK, SHADE, agent_colours, interval_colours, legend_above

MILLION = 1e6  # frames per unit of the learning curve's axis
RIDGE = 0.86  # share of its row that the tallest bin of all histograms reaches
BEYOND = 2.0  # histograms end at this many times the longest sample interval
STEPS = [1, 2, 5, 10]  # between ticks, times a power of ten
ROOM = 0.06  # share of the longest interval left free around the data

SAMPLE_LABEL = "sample interval $t_s$ (frames)"
PRODUCTION_LABEL = "production interval $t_p$ (frames)"


def draw_learning_curves(axes: Axes, curves: Mapping[str, LearningCurve]) -> None:
    """Reward rate over training, one colour per agent.

    How to read it: the line is the mean over seeds, the band one s.d. on either side; with two or more seeds each has
    a thin line of its own. A single seed has no band. The paper: shows mean and s.d. over 15 seeds of the LSTM and the
    feedforward agent, which learns more slowly, and no curves of its variants.
    """
    kinds = sorted({curve.x for curve in curves.values()})
    if len(kinds) != 1:
        raise ValueError(f"curves run over {kinds or 'nothing'}; draw one or more, all over frames or all over minutes")
    colours = agent_colours(tuple(curves))
    for name, curve in curves.items():
        colour, seeds = colours[name], len(curve.reward_rate)
        if seeds > 1:
            axes.plot(curve.grid, curve.reward_rate.T, color=colour, lw=0.6, alpha=0.45)
            axes.fill_between(curve.grid, curve.mean - curve.sd, curve.mean + curve.sd, color=colour, alpha=0.18, lw=0)
        label = f"{words(name)} ({seeds} seed{'s' if seeds > 1 else ''})"
        axes.plot(curve.grid, curve.mean, color=colour, label=label)
    if kinds == ["frames"]:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda frames, _: f"{frames / MILLION:g}"))
    axes.set_xlabel({"frames": "frames (millions)"}.get(kinds[0], f"training time ({kinds[0]})"))
    axes.set_ylabel("rewards per 1,000 frames")
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    legend_above(axes, columns=2)


def draw_production(axes: Axes, result: Production) -> None:
    """Mean production interval per sample interval.

    How to read it: a point is the mean, its bar one s.d. of single trials. On the dashed line production equals the
    sample; answers within the grey band are rewarded at the strictest tolerance. Sample intervals that were never
    answered have no point. Points that leave the line towards the middle of the intervals show a regression to the
    mean. The paper: draws this from the end of training. Its recurrent agent follows the line at all intervals, its
    feedforward agent less closely, with a bias towards the mean at both ends.
    """
    ends = draw_identity(axes, float(result.sample_interval.max()))
    axes.fill_between(ends, ends - result.tolerance, ends + result.tolerance, color=SHADE, lw=0, zorder=0)
    colours = interval_colours(result.sample_interval.tolist())
    for index, interval in enumerate(result.sample_interval.tolist()):
        if result.n_productions[index] == 0:
            continue
        sd = None if np.isnan(result.sd[index]) else result.sd[index]  # a single production has none
        bars = {"color": colours[interval], "elinewidth": 1.5, "mec": INK, "mew": 0.5}
        axes.errorbar(interval, result.mean[index], sd, fmt="o", zorder=3, **bars)
    axes.set(xlabel=SAMPLE_LABEL, ylabel=PRODUCTION_LABEL, ylim=(0, None))


def draw_identity(axes: Axes, longest: float) -> NDArray[np.float64]:
    """The dashed line on which production equals the sample, past the longest interval -> its ends, [2] frames."""
    ends = np.array([0.0, longest * (1 + ROOM)])
    axes.plot(ends, ends, color=FAINT, lw=1.1, ls=(0, (4, 3)), zorder=1)
    axes.set_xlim(*ends)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(8, steps=STEPS, integer=True))
    return ends


def draw_histograms(axes: Axes, result: Production) -> None:
    """The productions behind the means: a histogram for each sample interval, the longest on top.

    How to read it: every row is a sample interval, the black tick on it the right answer. A bin's height is its share
    of the row's productions, on one scale for all rows: a low, wide hump is a row that is less precise. Productions of
    more than twice the longest sample interval are counted at the right. An agent that times has one hump for each
    interval, which moves to the right and grows wider as the interval grows. The paper: shows such histograms behind
    the means; the feedforward agent's are wider.
    """
    colours = interval_colours(result.sample_interval.tolist())
    longest = float(result.sample_interval.max())
    last = float(result.histogram_edges[1:][result.histogram.any(axis=0)].max())  # where the last production lies
    end = min(max(last, longest * (1 + ROOM)), BEYOND * longest)
    shown = result.histogram_edges[:-1] < end  # [K]
    edges = result.histogram_edges[: shown.sum() + 1]
    rows = len(result.sample_interval)
    shares = result.histogram / np.maximum(result.histogram.sum(axis=1, keepdims=True), 1)  # [I, K]
    tallest = float(shares[:, shown].max()) or 1.0
    for row, interval in enumerate(result.sample_interval.tolist()):
        counts, colour = result.histogram[row], colours[interval]
        axes.stairs(row + RIDGE * shares[row, shown] / tallest, edges, baseline=row, fill=True, color=colour)
        axes.plot([0, end], [row, row], color=colour, lw=0.8)
        axes.plot([interval, interval], [row - 0.14, row + 0.14], color=INK, lw=1.6, zorder=3)
        if counts[~shown].any():
            beside = {"xytext": (-2, 2), "textcoords": "offset points", "ha": "right", "va": "bottom"}
            axes.annotate(f"{counts[~shown].sum()} beyond", (end, row), fontsize=9, zorder=4, **beside)
    axes.set_yticks(range(rows), [f"{interval}" for interval in result.sample_interval])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set(xlim=(0, end), ylim=(-0.3, rows), xlabel=PRODUCTION_LABEL, ylabel=SAMPLE_LABEL)


def draw_bias_variance(axes: Axes, results: Mapping[str, Production]) -> None:
    """Where each agent's error comes from: bias (being wrong on average) against spread (being wrong by chance).

    How to read it: the root mean square error is the distance from the corner, so agents on one arc are equally good;
    its frames are written on the arc. An agent on the right is noisy, one at the top is wrong in the same way every
    time. Jazayeri & Shadlen drew it so for people, who accept a bias to be less variable.
    """
    if not results:
        raise ValueError("results is empty; give the production of at least one agent")
    colours = agent_colours(tuple(results))
    limit = 1.15 * max(result.error.rmse for result in results.values()) or 1.0
    for radius in MaxNLocator(4, steps=STEPS).tick_values(0, limit):
        if 0 < radius <= limit:
            axes.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta1=0, theta2=90, color=FAINT, lw=0.8, ls=":"))
            at = radius / np.sqrt(2)
            mask = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.text(at, at, f"error {radius:g}", fontsize=9, color=FAINT, ha="center", va="center", bbox=mask)
    for name, result in results.items():
        spread = np.sqrt(result.error.variance)  # frames, as the bias
        mark = {"color": colours[name], "mec": INK, "mew": 0.5, "ms": 9, "clip_on": False, "zorder": 3}
        axes.plot(spread, result.error.bias, "o", label=words(name), **mark)
    axes.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
    axes.set(xlabel="s.d. of $t_p$ (frames)", ylabel="bias of $t_p$ (frames)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=STEPS))
    legend_above(axes, columns=2)


def words(name: str) -> str:
    """An agent's name as words: "frozen_lstm" is "frozen LSTM", "lstm32" is "LSTM 32"."""
    spoken = {"lstm": "LSTM", "gru": "GRU", "rnn": "RNN", "rmc": "RMC", "10step": "10-step"}
    parts = re.sub(r"([a-z])(\d+)$", r"\1_\2", name).split("_")
    return " ".join(spoken.get(part, part) for part in parts)
