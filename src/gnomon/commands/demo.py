"""`gnomon demo`: the laboratory at work, in less than a minute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.commands.show import Show, writable_folder, write_films

if TYPE_CHECKING:
    import polars as pl

LANES = 128  # subjects at once
FRAMES = 3_000  # of each subject, 50 s of the laboratory's time
FILM_SEED = 3  # of a trial in which the gaze starts away from the cross, so that the search for it is seen


@dataclass(frozen=True)
class Demo:
    """Show the laboratory at work: a film of every task, then many trials of the scripted subjects."""

    out: Path = Path("out/demo")
    """Folder for everything that is written; made if it is not there."""
    seed: int = 0
    """Seed of the trials, 0 or more."""


def demo(options: Demo) -> None:
    from gnomon.commands.printing import console as make_console
    from gnomon.lab.laboratory import check_seed
    from gnomon.lab.tasks import TASKS
    from gnomon.records.trials import write_trials
    from gnomon.subjects.scripted import SUBJECTS

    console = make_console()
    check_seed(options.seed)
    folder = writable_folder(options.out)
    console.print(f"1. A trial of each task, done by the perfect subject, in {folder}", style="bold")
    for task in TASKS:
        for line in write_films(Show(task, seed=FILM_SEED, out=folder)):
            console.print(line)
    console.print(f"2. Ready-Set-Go, done by {LANES} of each scripted subject for {FRAMES:,} frames", style="bold")
    tables: dict[str, pl.DataFrame] = {}
    for name in SUBJECTS:
        tables[name] = run_subject(name, options.seed)
        path = folder / f"trials-{name}.parquet"
        write_trials(tables[name], path)
        console.print(f"{name} subject: {tables[name].height:,} trials\n  trial table {path}")
    console.print(productions(tables))
    console.print("next: gnomon tasks, gnomon show ready_set_go --subject noisy")


def run_subject(subject_name: str, seed: int) -> pl.DataFrame:
    """The trial table of many subjects of one kind at the paper's Ready-Set-Go."""
    from itertools import islice

    from gnomon.lab.laboratory import Laboratory
    from gnomon.lab.tasks import PAPER
    from gnomon.records.trials import take_trials
    from gnomon.subjects.scripted import SUBJECTS
    from gnomon.subjects.subject import frames

    laboratory = Laboratory(PAPER, lanes=LANES, seed=seed)
    for _ in islice(frames(laboratory, SUBJECTS[subject_name](laboratory, seed)), FRAMES):
        pass
    return take_trials(laboratory.trials)


def productions(tables: dict[str, pl.DataFrame]) -> Any:
    """The mean production interval (and its s.d.) for each sample interval, one column per subject."""
    import polars as pl
    from rich.table import Table

    table = Table("t_s", *tables, title="mean t_p (s.d.), in frames")
    for column in table.columns:
        column.justify = "right"
    produced = {name: trials.drop_nulls("production_interval") for name, trials in tables.items()}
    intervals = sorted({t for trials in produced.values() for t in trials["sample_interval"].to_list()})
    for interval in intervals:
        row = [str(interval)]
        for trials in produced.values():
            t_p = trials.filter(pl.col("sample_interval") == interval)["production_interval"]
            row.append(f"{t_p.mean():.1f} ({t_p.std():.1f})" if len(t_p) > 1 else "")
        table.add_row(*row)
    table.add_section()
    shares = [f"{(trials['outcome'] == 'correct').mean():.0%}" for trials in tables.values()]
    table.add_row("correct", *shares)
    return table
