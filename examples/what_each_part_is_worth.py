"""What is each part of a recipe worth? A table and a figure of the runs of an ablation.

    gnomon sweep experiments/ablation.toml
    python examples/what_each_part_is_worth.py runs/ablation docs/images/ablation

A run's name says what it is: `lstm` is the recipe, `lstm_without_X` the recipe less one part, `lstm_plain` no part at
all, `lstm_plain_with_X` one part alone; and a seed follows. All numbers are those of the training's own trials
(metrics.jsonl), the last 5,000 of them.

Printed for each condition, one number per seed: the share of trials within 8 frames at the end; the share rewarded; the
millions of frames after which half of the trials were rewarded (- if never); the deepest fall of the share rewarded, in
points, from any moment to any later one.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from gnomon.commands.results import attempt, markdown_table
from gnomon.records.runs import list_runs
from gnomon.report.figures.style import INK, PALETTE, legend_above, panels, save, styled

NAME = re.compile(r"(?P<condition>.+)-(?P<seed>\d+)")
COLUMNS = ("condition", "within 8 frames (%)", "rewarded (%)", "half rewarded at (M frames)", "deepest fall (points)")
HALF = 0.5
DASHED = (0, (3, 1.5))


def conditions(folder: Path) -> dict[str, list[pl.DataFrame]]:
    """The metrics of each condition's seeds, in the order of their names; runs without metrics are left out."""
    found: dict[str, list[tuple[int, pl.DataFrame]]] = {}
    for run in list_runs(folder):
        match = NAME.fullmatch(run.path.name)
        metrics = attempt(run.read_metrics, []) if match else None
        if match and metrics is not None:
            scored = metrics.drop_nulls(["rewarded", "criterion"])
            found.setdefault(match["condition"], []).extend([(int(match["seed"]), scored)] if len(scored) else [])
    return {
        name: [metrics for _, metrics in sorted(seeds, key=lambda s: s[0])]
        for name, seeds in sorted(found.items())
        if seeds
    }


def half_rewarded(metrics: pl.DataFrame) -> float | None:
    """Millions of frames after which half of the trials were rewarded, if ever."""
    reached = metrics.filter(pl.col("rewarded") >= HALF)["frames"]
    return reached[0] / 1e6 if len(reached) else None


def deepest_fall(metrics: pl.DataFrame) -> float:
    """The largest drop of the share rewarded from any moment to any later one."""
    rewarded = metrics["rewarded"].to_numpy()
    return float((np.maximum.accumulate(rewarded) - rewarded).max())


def row(name: str, seeds: Sequence[pl.DataFrame]) -> list[str]:
    """One condition's cells, a number per seed."""
    halves = [half_rewarded(metrics) for metrics in seeds]
    return [
        name,
        " ".join(f"{100 * metrics['criterion'][-1]:.0f}" for metrics in seeds),
        " ".join(f"{100 * metrics['rewarded'][-1]:.0f}" for metrics in seeds),
        " ".join("-" if half is None else f"{half:.1f}" for half in halves),
        " ".join(f"{100 * deepest_fall(metrics):.0f}" for metrics in seeds),
    ]


def draw(axes: Axes, shown: dict[str, list[pl.DataFrame]], x: str) -> None:
    """The share within 8 frames over `x`, a thin line per seed; the first condition is drawn in ink."""
    colours = [*PALETTE, *PALETTE]
    for index, (label, seeds) in enumerate(shown.items()):
        style = "-" if index <= len(PALETTE) else DASHED
        colour = INK if index == 0 else colours[index - 1]
        for number, metrics in enumerate(seeds):
            over = metrics[x].to_numpy() / (1e6 if x == "frames" else 1)
            share = 100 * metrics["criterion"].to_numpy()
            axes.plot(over, share, color=colour, ls=style, lw=0.9, label=None if number else label)
    axes.set(xlabel="frames (millions)" if x == "frames" else "minutes of training", ylim=(0, 100), xlim=(0, None))
    axes.set_ylabel("trials within 8 frames (%)")
    legend_above(axes, columns=2)


def parts(found: dict[str, list[pl.DataFrame]], whole: str, joint: str) -> dict[str, list[pl.DataFrame]]:
    """The condition `whole` and those called whole + joint + part, which are labelled by the joint and the part."""
    rest = {joint.replace("_", " ").strip() + " " + name.removeprefix(whole + joint).replace("_", " "): seeds
            for name, seeds in found.items() if name.startswith(whole + joint)}  # fmt: skip
    return {whole.replace("_", " "): found[whole], **rest}


def main(folder: Path, figure: Path | None) -> None:
    found = conditions(folder)
    agents = [name for name in found if "_" not in name]
    if not agents:
        raise SystemExit(f"{folder} has no run of a whole recipe, such as lstm-0, with metrics")
    print(markdown_table(COLUMNS, [row(name, seeds) for name, seeds in found.items()]), end="")
    if figure is None:
        return
    groups = [
        parts(found, whole, joint)
        for agent in agents
        for whole, joint in ((agent, "_without_"), (f"{agent}_plain", "_with_"))
        if whole in found
    ]
    with styled():
        drawn, axes = panels(len(groups), 2, width=5.6)
        for places, group in zip(axes.reshape(-1, 2), groups, strict=True):
            for place, x in zip(places, ("frames", "minutes"), strict=True):
                draw(place, group, x)
        save(drawn, figure)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(str(__doc__).split("\n\n")[1])
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
