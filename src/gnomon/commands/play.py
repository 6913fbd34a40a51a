"""`gnomon play`: the laboratory in a browser, on one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

DEFAULT_AGENTS = ("published/lstm-0", "published/feedforward-0")


@dataclass(frozen=True)
class Play:
    """Write one self-contained HTML page: watch trained agents keep time, play the task, stop their clocks."""

    agents: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="AGENT...")] = DEFAULT_AGENTS
    """Folders of runs or published agents, or published/NAME."""
    out: Path = Path("out/play.html")
    """The page."""
    open: bool = True
    """Whether to open the page in a browser."""


def play(options: Play) -> None:
    import webbrowser

    from gnomon.commands.printing import console as make_console

    console = make_console()
    with console.status("reading the agents") as status:
        write_page(options.agents, options.out, lambda line: status.update(line))
    size = options.out.stat().st_size / 1e6
    console.print(f"the page      {options.out} ({size:.1f} MB); it needs no server and no network")
    console.print("next          play, save your data, then gnomon report people.csv published/lstm-0")
    if options.open:
        webbrowser.open(options.out.resolve().as_uri())


def write_page(agents: tuple[str, ...], out: Path, report: Callable[[str], None] = lambda line: None) -> None:
    """Write the page, telling of progress line by line."""
    if out.suffix != ".html" or out.is_dir():
        raise ValueError(f"--out is {out}; name a file that ends in .html")
    repeated = sorted({agent for agent in agents if agents.count(agent) > 1})
    if repeated:
        raise ValueError(f"{repeated[0]} is named twice; name each agent once")

    import torch

    from gnomon.play.export import export_agent
    from gnomon.play.page import page
    from gnomon.records.runs import write_text

    torch.set_num_threads(1)  # the steps are small, and one thread gives the same numbers whatever the machine
    exported = [export_agent(Path(agent), report) for agent in agents]
    names = [agent["name"] for agent in exported]
    if len(set(names)) < len(names):
        raise ValueError(f"two agents are called {next(n for n in names if names.count(n) > 1)}; rename one's folder")
    text = page(exported)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
