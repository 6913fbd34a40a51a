"""`gnomon results`: how long agents trained and how well they keep time, as one table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import tyro

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from gnomon.analysis.performance import Production
    from gnomon.study.participants import Participant

Made = TypeVar("Made")
COLUMNS = (
    "agent", "seed", "frames", "minutes", "within 8 frames", "slope", "bias at the shortest", "bias at the longest",
    "s.d. at 10", "s.d. at 50", "s.d. at 100",
)  # fmt: skip
SUMMARY = (
    "agent", "seeds", "within 8 frames", "slope", "bias at the longest", "s.d. at the longest", "frames", "minutes",
)  # fmt: skip
NARROW = (
    "seed", "frames", "min", "within\n8", "slope\n95 %", "bias\nshort", "bias\nlong", "s.d.\nat 10", "s.d.\nat 50",
    "s.d.\nat 100",
)  # fmt: skip
SPREADS = (10, 50, 100)  # sample intervals whose s.d. is shown, frames


@dataclass(frozen=True)
class Results:
    """Print a table (Markdown) of agents from the trial tables of their evaluations; biases and s.d. are in frames."""

    agents: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Evaluated runs (runs/NAME) or published agents (published/NAME); by default all published with Gnomon."""
    curves: Path | None = None
    """Also draw the learning curves, over frames and over minutes, and write them to this file (.png) and as SVG."""
    summary: bool = False
    """Print one line per kind of agent instead of one per seed: from the lowest to the highest seed."""
    departures: bool = False
    """Print instead how the agents' training differs from the preset paper."""


def results(options: Results) -> None:
    from gnomon.commands.printing import console as make_console
    from gnomon.study.participants import participants, shipped

    console = make_console(soft_wrap=False)
    left_out: list[str] = []
    usable = [each for each in options.agents or shipped() if attempt(lambda each=each: participants([each]), left_out)]
    everyone = participants(usable) if usable or not left_out else []
    if options.departures and everyone:
        print(departures(everyone), end="")
    else:
        print_behaviour(everyone, console, options.summary, left_out)
    if options.curves is not None:
        draw_curves(everyone, options.curves)
    if left_out:
        raise SystemExit(f"{len(left_out)} left out: " + "; ".join(left_out))


def print_behaviour(
    everyone: "Sequence[Participant]", console: "Console", as_summary: bool, left_out: list[str]
) -> None:
    """How the agents do, a line for each or for each kind; who has not been evaluated is left out."""
    rows = {each: cells for each in everyone if (cells := attempt(lambda each=each: row(each), left_out))}
    if not rows:
        raise ValueError("; ".join(left_out))
    if as_summary:
        print(summary(list(rows)), end="")
    elif console.is_terminal:
        console.print(terminal_table(list(rows.values())))
    else:
        print(markdown_table(COLUMNS, list(rows.values())), end="")


def attempt(make: Callable[[], Made], left_out: list[str]) -> Made | None:
    """What is made of one agent; a damaged one is noted, so that it does not hide the others."""
    try:
        return make()
    except (ValueError, OSError) as error:
        left_out.append(" ".join(str(error).split()))
        return None


def terminal_table(rows: list[list[str]]) -> "Table":
    """The rows within 80 columns: two lines each, the slope's interval below the slope."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("agent", overflow="fold", max_width=15)
    for title in NARROW:
        table.add_column(title, justify="right", no_wrap=True)
    for name, *cells in rows:
        table.add_row(name, *(cell.replace(" (", "\n").replace(" to ", "-").rstrip(")") for cell in cells))
    return table


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (columns, *rows)]
    lines.insert(1, "|---|" + "---:|" * (len(columns) - 1))
    return "\n".join(lines) + "\n"


def produced(agent: "Participant") -> "Production":
    """The analysis of the trial table that an agent's evaluation wrote."""
    from gnomon.analysis.performance import production
    from gnomon.published.agents import TRIALS
    from gnomon.records.trials import read_trials

    if agent.path is None:
        raise ValueError(f"{agent.name} is a scripted subject; name runs or published agents")
    path = agent.path / TRIALS
    if not path.exists():
        raise FileNotFoundError(f"{agent.asked} has no {TRIALS}; run gnomon evaluate {agent.asked} first")
    return production(read_trials(path))


def summary(everyone: "Sequence[Participant]") -> str:
    """One line per kind of agent."""
    from gnomon.study.participants import families

    rows = []
    for family in families(everyone):
        found = [produced(member) for member in family.members]
        rows.append(
            [
                family.name,
                str(len(found)),
                span([100 * each.within.value for each in found], "{:.0f}") + " %",
                span([each.line.slope for each in found], "{:.2f}"),
                span([each.bias_longest for each in found], "{:+.1f}"),
                span([float(each.sd[-1]) for each in found], "{:.1f}"),
                span([(member.frames or 0) / 1e6 for member in family.members], "{:.0f}") + " M",
                span([member.minutes or 0 for member in family.members], "{:.0f}"),
            ]
        )
    return markdown_table(SUMMARY, rows)


def span(values: Sequence[float], form: str) -> str:
    """From the lowest to the highest: "95 to 98"; one number if they look the same."""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def row(agent: "Participant") -> list[str]:
    """One agent's cells."""
    result = produced(agent)
    spread = dict(zip(result.sample_interval.tolist(), result.sd.tolist(), strict=True))
    low, high = result.line.slope_interval
    return [
        agent.name.removesuffix(f"-{agent.config.seed}"),
        str(agent.config.seed),
        f"{(agent.frames or 0) / 1e6:.1f} M",
        f"{agent.minutes or 0:.0f}",
        f"{result.within.value:.3f}",
        f"{result.line.slope:.3f} ({low:.3f} to {high:.3f})",
        f"{result.bias_shortest:+.1f}",
        f"{result.bias_longest:+.1f}",
        *(f"{spread[interval]:.1f}" if interval in spread else "-" for interval in SPREADS),
    ]


def departures(everyone: "list[Participant]") -> str:
    """How agents differ from the preset `paper`, as a Markdown table made from their configs."""
    from gnomon.agent.controllers import CONTROLLERS
    from gnomon.report.disclosure import Agents, disclosure
    from gnomon.report.page import markdown
    from gnomon.study.participants import families
    from gnomon.study.settings import settings_beside_the_papers

    agents = [
        Agents(family.name, CONTROLLERS[family.controller].recurrent, settings_beside_the_papers(family.members[0]))
        for family in families(everyone)
        if family.members[0].path is not None
    ]
    return markdown(disclosure(agents))


def draw_curves(everyone: "list[Participant]", path: Path) -> None:
    """Reward rate over frames and over minutes, one line per family, its s.d. over seeds shaded."""
    from gnomon.analysis.performance import learning_curve
    from gnomon.report.figures.performance import draw_learning_curves
    from gnomon.report.figures.style import panels, save, styled
    from gnomon.study.participants import families

    metrics = {
        family.name: [member.metrics for member in family.members if member.metrics is not None]
        for family in families(everyone)
    }
    with styled():
        figure, axes = panels(1, 2)
        for place, x in zip(axes.flat, ("frames", "minutes"), strict=True):
            draw_learning_curves(place, {name: learning_curve(seeds, x) for name, seeds in metrics.items() if seeds})
        save(figure, path.with_suffix(""))
