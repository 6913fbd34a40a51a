"""`gnomon runs`: what has been trained here."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Runs:
    """List the runs in a folder with their state and scores."""

    folder: Path = Path("runs")
    """Where the runs are."""


def runs(options: Runs) -> None:
    from rich.table import Table

    from gnomon.commands.printing import console as make_console
    from gnomon.records.runs import list_runs

    found = list_runs(options.folder)
    console = make_console(soft_wrap=False)
    if not found:
        console.print(f"no runs in {options.folder}; `gnomon train` makes one")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("run", "state", "controller", "frames", "minutes", "rewarded", "within 8"):
        words = column in ("run", "state", "controller")
        # The run's name must stay whole: it is what one types next.
        table.add_column(column, justify="left" if words else "right", overflow="fold", no_wrap=column != "run")
    for folder in found:
        status = folder.read_status()
        numbers = [
            f"{status['frames']:,}" if "frames" in status else "-",
            f"{status['minutes']:.1f}" if "minutes" in status else "-",
            *(f"{status[score]:.1%}" if score in status else "-" for score in ("rewarded", "criterion")),
        ]
        table.add_row(str(folder.path), status["state"], status.get("controller", "-"), *numbers)
    console.print(table)
