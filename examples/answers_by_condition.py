"""How do agents answer under several conditions of training? A table and a figure of the evaluated runs of a sweep.

    gnomon sweep experiments/room.toml
    for run in runs/room/*/; do gnomon evaluate $run; done
    python examples/answers_by_condition.py runs/room docs/images/room

Runs of one condition are called AGENT_CONDITION-SEED. Printed for each condition: the share of trials within 8 frames,
the slope of mean t_p over t_s, and mean t_p at each sample interval, all of them means over seeds; the share and the
slope with their lowest and highest seed. t_p in frames; - where no trial was answered, or the interval was not asked
for. Runs that answered nothing at all are named at the end.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gnomon.analysis.performance import Production, production
from gnomon.commands.results import attempt, markdown_table
from gnomon.published.agents import TRIALS
from gnomon.records.runs import list_runs
from gnomon.records.trials import read_trials
from gnomon.report.figures.performance import PRODUCTION_LABEL, SAMPLE_LABEL, draw_identity
from gnomon.report.figures.style import PALETTE, panels, save, styled

NAME = re.compile(r"(?P<agent>[^_]+)_(?P<condition>.+)-\d+")  # lstm_20deg-0


def conditions(folder: Path, left_out: list[str]) -> dict[tuple[str, str], list[Production]]:
    """The evaluations of each agent and condition, in the order of their names."""
    found: dict[tuple[str, str], list[Production]] = defaultdict(list)
    for run in sorted(list_runs(folder), key=lambda run: run.path.name):
        match = NAME.fullmatch(run.path.name)
        if match and (run.path / TRIALS).exists():
            made = attempt(lambda run=run: production(read_trials(run.path / TRIALS)), why := [])
            left_out += [f"{run.path.name}: {reason}" for reason in why]
            found[match["agent"], match["condition"]] += [made] if made else []
    return {who: seeds for who, seeds in found.items() if seeds}


def means(seeds: Sequence[Production]) -> dict[int, float]:
    """Mean t_p at each sample interval, over the seeds that answered it."""
    answers: dict[int, list[float]] = defaultdict(list)
    for seed in seeds:
        for interval, mean in zip(seed.sample_interval.tolist(), seed.mean.tolist(), strict=True):
            answers[interval] += [] if np.isnan(mean) else [mean]
    return {interval: float(np.mean(given)) for interval, given in answers.items() if given}


def spread(values: Sequence[float], form: str) -> str:
    """Mean, lowest and highest."""
    return f"{np.mean(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def main(folder: Path, figure: Path | None) -> None:
    left_out: list[str] = []
    found = conditions(folder, left_out)
    if not found:
        raise SystemExit(
            "; ".join(left_out)
            or f"{folder} has no evaluated runs called AGENT_CONDITION-SEED; run gnomon evaluate RUN first"
        )
    intervals = sorted({interval for seeds in found.values() for interval in means(seeds)})
    rows = []
    for (agent, condition), seeds in found.items():
        at = means(seeds)
        within, slope = [100 * seed.within.value for seed in seeds], [seed.line.slope for seed in seeds]
        cells = [f"{at[interval]:.0f}" if interval in at else "-" for interval in intervals]
        rows.append([f"{agent}, {condition}", str(len(seeds)), spread(within, ".0f"), spread(slope, ".2f"), *cells])
    print(markdown_table(["agent", "seeds", "within 8 (%)", "slope", *map(str, intervals)], rows), end="")
    for each in left_out:
        print(f"left out: {each}")
    if figure is None:
        return
    agents = list(dict.fromkeys(agent for agent, _ in found))
    with styled():
        drawn, axes = panels(1, len(agents), sharey=True)
        for place, agent in zip(axes.flat, agents, strict=True):
            shown = {condition: seeds for (who, condition), seeds in found.items() if who == agent}
            draw_identity(place, max(intervals))
            for colour, (condition, seeds) in zip(PALETTE, shown.items(), strict=False):
                for seed in seeds:
                    place.plot(seed.sample_interval, seed.mean, color=colour, lw=0.6, alpha=0.5)
                place.plot(*zip(*means(seeds).items(), strict=True), "o-", color=colour, ms=4, label=condition)
            place.set(xlabel=SAMPLE_LABEL, ylabel=PRODUCTION_LABEL, title=agent, ylim=(0, None))
            place.legend(loc="upper left", frameon=False)
        save(drawn, figure)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(str(__doc__).split("\n\n")[1])
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
