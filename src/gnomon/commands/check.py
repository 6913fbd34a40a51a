"""`gnomon check`: is everything in a run's folder what was written?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Check:
    """Verify everything in the folder of a run or of a published agent, and change nothing.

    Says what is damaged and what can be recovered. The exit code is 0 if all is whole, 1 if something is damaged.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a run or of a published agent; published/NAME is one that ships with Gnomon."""


def check(options: Check) -> None:
    from gnomon.commands.printing import command
    from gnomon.commands.printing import console as make_console
    from gnomon.published.agents import check_published, find_agent, is_published
    from gnomon.records.runs import RunFolder
    from gnomon.saving.check import check_run

    console, folder = make_console(), find_agent(options.run)
    if is_published(folder):
        found = check_published(folder)
    else:
        RunFolder(folder).require()
        with RunFolder(folder).locked():  # a process that trains it changes it meanwhile
            found = check_run(folder)
    damaged = [finding for finding in found if finding.damage]
    for finding in found:
        console.print(f"{'damaged' if finding.damage else 'note':9} {finding}", style="red" if finding.damage else None)
    if damaged:
        console.print(f"{len(damaged)} damaged in {options.run}; nothing was changed")
        raise SystemExit(1)
    console.print(f"whole         {options.run}")
    if not is_published(folder):
        console.print("try next      " + command("gnomon", "evaluate", options.run))
