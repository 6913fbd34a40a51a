"""Variants of the agent, one small panel of production for each, all on the same scale."""

from collections.abc import Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gnomon.analysis.performance import Production
from gnomon.analysis.variants import Variants
from gnomon.report.figures.performance import PRODUCTION_LABEL, ROOM, SAMPLE_LABEL, STEPS, draw_production, words
from gnomon.report.figures.style import FAINT, interval_colours, panels

COLUMNS = 3
WIDTH, HEIGHT = 1.95, 1.8  # inches, of a panel: three of them are still legible on a phone
SMALL: dict[Any, Any] = {"lines.markersize": 4.5, "errorbar.capsize": 1.5}
TOP = 1.35  # of the longest sample interval: where the panels end


def variants_panels(agents: int) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each agent, three in a row; call it within `styled`."""
    columns = min(agents, COLUMNS)
    rows = -(-agents // columns)
    figure, grid = panels(rows, columns, WIDTH, HEIGHT, sharex=True, sharey=True)
    figure.supxlabel(SAMPLE_LABEL, fontsize=11)
    figure.supylabel(PRODUCTION_LABEL, fontsize=11)
    every: list[Axes] = list(grid.flat)
    for spare in every[agents:]:
        spare.remove()
    for lowest in every[:agents][-columns:]:
        lowest.tick_params(labelbottom=True)  # also above a spare place
    return figure, every[:agents]


def draw_variants(every: Sequence[Axes], result: Variants) -> None:
    """A panel like `draw_production` for each agent, in the order of the result.

    How to read it: points on the dashed line are perfect; a level row of points is an agent that ignores the interval.
    Panels end at 1.35 times the longest sample interval, so that a poor agent does not flatten the others; a triangle
    at the top stands for a mean beyond. The paper: sizes have a minimal effect; RNN, GRU and RMC learn, RNN and RMC
    with some biases; the frozen LSTM learns like the trained one; 10-step RL impairs the feedforward agent severely and
    the recurrent one not.
    """
    if len(every) != len(result.agents):
        raise ValueError(f"{len(every)} axes for {len(result.agents)} agents; give one for each")
    answered = [agent.production for agent in result.agents if agent.production is not None]
    longest = max((float(production.sample_interval.max()) for production in answered), default=1.0)
    for axes, agent in zip(every, result.agents, strict=True):
        if agent.production is None:
            middle = {"ha": "center", "va": "center", "fontsize": 9, "color": FAINT, "transform": axes.transAxes}
            axes.text(0.5, 0.5, f"no answer to Set\nin {agent.n_trials:,} trials", **middle)
        else:
            with rc_context(SMALL):
                draw_production(axes, agent.production)
                mark_beyond(axes, agent.production, TOP * longest)
        axes.set(xlabel="", ylabel="", xlim=(0, longest * (1 + ROOM)), ylim=(0, TOP * longest))
        axes.set_title(words(agent.name), fontsize=10)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(3, steps=STEPS, integer=True))


def mark_beyond(axes: Axes, result: Production, top: float) -> None:
    """A triangle under the top edge (frames) for every mean above it."""
    colours = interval_colours(result.sample_interval.tolist())
    for interval, mean in zip(result.sample_interval.tolist(), result.mean, strict=True):
        if mean > top:
            axes.plot(interval, 0.97 * top, "^", color=colours[interval], zorder=4)
