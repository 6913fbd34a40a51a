"""How commands print: paths as they are, and commands to type next as a shell takes them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console(soft_wrap: bool = True) -> Console:
    """Where a command prints. Brackets in names and paths are no markup; colours are given as `style`.

    soft_wrap: leave it to the terminal to wrap long lines, so that paths can be copied; not for tables.
    """
    from rich.console import Console

    return Console(highlight=False, soft_wrap=soft_wrap, markup=False)


def command(*words: object) -> str:
    """A command to type, such as the next one to try: what a shell would take apart is quoted."""
    return shlex.join(map(str, words))
