"""`gnomon publish`: a run's agent as a small folder that can be shipped."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Publish:
    """Write a run's agent to a small folder: weights, config, thinned metrics, the trial table of its evaluation."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a run."""
    out: Path | None = None
    """Where to write; by default agents/ and the run's name. An agent that was published there is replaced."""


def publish(options: Publish) -> None:
    from gnomon.commands.printing import command
    from gnomon.commands.printing import console as make_console
    from gnomon.published.agents import publish_agent

    console = make_console()
    out = options.out or Path("agents") / options.run.resolve().name
    for remark in publish_agent(options.run, out):
        console.print(remark, style="yellow")
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    console.print(f"published     {out} ({size / 1e6:.1f} MB)")
    console.print("try next      " + command("gnomon", "evaluate", out))
