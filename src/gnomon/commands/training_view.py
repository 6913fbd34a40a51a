"""What `gnomon train` shows while it trains: a live table, or a line now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, Group

    from gnomon.learn.loop import Limits, Trainer

SHARES_A_LINE = 5  # of intervals in the live view, which must fit into 80 columns


def run_with_progress(trainer: Trainer, limits: Limits, console: Console) -> str:
    """Train with a live table, or with a line now and then where there is no terminal."""
    from rich.live import Live

    from gnomon.commands.printing import console as make_console

    if not console.is_terminal:
        return trainer.run(limits, LinePrinter(console))
    with Live(console=make_console(soft_wrap=False), refresh_per_second=4) as live:

        def report(row: dict[str, Any]) -> None:
            live.update(progress_table(trainer, limits, row))

        return trainer.run(limits, report)


class LinePrinter:
    """One line of progress every few seconds."""

    def __init__(self, console: Console, seconds: float = 30.0) -> None:
        self.console, self.pause, self.last = console, seconds / 60, -1.0

    def __call__(self, row: dict[str, Any]) -> None:
        if row["minutes"] - self.last < self.pause and self.last >= 0:
            return
        self.last = row["minutes"]
        self.console.print(
            f"{row['minutes']:7.1f} min {row['frames'] / 1e6:8.2f} M frames  "
            f"{row['reward_rate']:.3f} rewards/1,000 frames  "
            f"rewarded {row['rewarded']:.1%}  within 8 frames {row['criterion']:.1%}  {seen(row)}{lagging(row)}",
            highlight=False,
        )


def seen(row: dict[str, Any]) -> str:
    """How many distinct observations vision learned from in the last round."""
    return f"{row['distinct']:.0f} distinct"


def lagging(row: dict[str, Any]) -> str:
    """Updates between the weights that acted and those that learned, where others act than the learner's process."""
    return f"  lag {row['lag']:.1f} updates" if "lag" in row else ""


def progress_table(trainer: Trainer, limits: Limits, row: dict[str, Any]) -> Group:
    """Where the run stands: counters and scores, and below them the share correct of each interval."""
    from rich.console import Group
    from rich.table import Table

    speed = (trainer.frames - trainer.frames_before) / max(1e-9, 60 * (row["minutes"] - trainer.minutes))
    total = trainer.config.learning.schedule.frames if limits.frames is None else limits.frames
    left = (total - row["frames"]) / max(speed, 1e-9) / 60
    if limits.minutes is not None:
        left = min(left, limits.minutes - row["minutes"])
    facts = {
        "frames": f"{row['frames']:,}",
        "frames/s": f"{speed:,.0f}",
        "minutes": f"{row['minutes']:.1f}",
        "left": f"{max(0.0, left):.0f} min",
        "rewards/1,000": f"{row['reward_rate']:.3f}",
        "rewarded": f"{row['rewarded']:.1%}",
        "within 8": f"{row['criterion']:.1%}",
        "vision": seen(row),
        "entropy": f"{row['entropy']:.3f}",
    }
    if "lag" in row:
        facts["lag"] = f"{row['lag']:.1f} updates"
    table = Table(title=str(trainer.folder.path), title_justify="left", show_header=False)
    for place in range(0, len(facts), 3):
        table.add_row(*(word for fact in list(facts.items())[place : place + 3] for word in fact))
    shares = [f"{k.removeprefix('criterion_')}: {v:.0%}" for k, v in row.items() if k.startswith("criterion_")]
    by_interval = Table.grid(padding=(0, 2))
    by_interval.title, by_interval.title_justify = "within 8 frames, by interval (frames)", "left"
    for place in range(0, len(shares), SHARES_A_LINE):
        by_interval.add_row(*shares[place : place + SHARES_A_LINE])
    return Group(table, by_interval)
