"""`gnomon clock`: where is an agent's clock? The battery of interventions."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gnomon.commands.report import MOST_PROCESSES
from gnomon.commands.train import cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from gnomon.study.clock import ClockFindings


@dataclass(frozen=True)
class Clock:
    """Find out where an agent's clock is: change its gaze or its memory in the middle of trials, and see what follows.

    Writes, for every agent, the trials (clock/NAME.parquet) and what they show (clock/NAME.json); figures; and the
    tables as Markdown (clock.md).
    """

    agents: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="AGENT...")] = ()
    """Folders of runs, published/NAME, or scripted clocks (counter, path, mixture); by default all published agents."""
    out: Path = Path("out/clock")
    """Folder for everything that is written."""
    frames: int = 2000
    """Frames in each lane; 2,000 are about nine trials."""
    seed: int = 1
    """Seed of everything random."""
    jobs: int = 0
    """Agents at a time, each in a process of its own; 0: as many as there are cores."""


LEAST_FRAMES = 500


def clock(options: Clock) -> None:
    from gnomon.commands.printing import console as make_console
    from gnomon.commands.show import writable_folder
    from gnomon.records.runs import write_text
    from gnomon.report.page import markdown
    from gnomon.report.sections.clock import tables, write_figures
    from gnomon.study.clock import clock_name
    from gnomon.study.participants import shipped

    if options.frames < LEAST_FRAMES:
        raise ValueError(f"frames is {options.frames}; the battery needs at least {LEAST_FRAMES}, two trials a lane")
    if options.seed < 0 or options.jobs < 0:
        name, value = ("seed", options.seed) if options.seed < 0 else ("jobs", options.jobs)
        raise ValueError(f"{name} is {value}; it must be a whole number of at least 0")
    asked = options.agents or tuple(shipped())
    names = [clock_name(each) for each in asked]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{sorted(twice)[0]} is named twice; name each agent once")
    folder = writable_folder(options.out)
    console = make_console()
    found = run_all(asked, options, folder, console)
    written = write_figures(found, folder)
    text = "\n".join(f"## {table.title}\n\n{markdown(table)}\n{table.note}\n" for table in tables(found))
    write_text(folder / "clock.md", text)
    print_shares(found, console)
    console.print(f"figure        {written[0]}")
    console.print(f"tables        {folder / 'clock.md'}")
    console.print(f"results       {folder / 'clock'}")
    console.print("try next      gnomon clock counter path mixture --out another-folder, whose clocks are known")


def run_all(asked: Sequence[str], options: Clock, folder: Path, console: Console) -> list[ClockFindings]:
    """The battery on every agent, in the order in which they were named."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    from gnomon.study.clock import study_clock

    jobs = min(options.jobs or min(cores(), MOST_PROCESSES), len(asked))
    found: dict[str, ClockFindings] = {}
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        if jobs == 1:
            for each in asked:
                row = bar.add_task(each, total=None)
                found[each] = study_clock(
                    each,
                    folder,
                    frames=options.frames,
                    seed=options.seed,
                    report=lambda done, wanted, row=row: bar.update(row, completed=done, total=wanted),
                )
        else:
            row = bar.add_task("agents", total=len(asked))
            with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
                running = {
                    pool.submit(study_clock, each, folder, frames=options.frames, seed=options.seed): each
                    for each in asked
                }
                for done in as_completed(running):
                    found[running[done]] = done.result()
                    bar.update(row, advance=1, description=f"agents, last {running[done]}")
    return [found[each] for each in asked]


def print_shares(found: Sequence[ClockFindings], console: Console) -> None:
    """Donor shares of every agent, and where it keeps the sample interval."""
    from rich.table import Table

    table = Table(title="where is the clock? donor share (95 %)", title_justify="left")
    for column in ("agent", "gaze swapped", "memory swapped", "the interval is kept"):
        table.add_column(column)
    from gnomon.report.sections.clock import place_in_words, share_in_words

    for each in found:
        table.add_row(each.name, share_in_words(each, "gaze"), share_in_words(each, "state"), place_in_words(each))
    console.print(table)
