"""The page: HTML, style, program and agents in one file that needs no server and no network."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import TASKS

WEB = Path(__file__).parent / "web"
LARGEST_PAGE = 5_000_000  # bytes
# The order in which modules need each other; `main.js` starts the page.
MODULES = (
    "random", "screen", "trials", "task", "choices", "tasks", "laboratory", "retina", "matrix", "vision", "agent",
    "memory", "experiment", "stats", "links", "save", "canvas", "monitor", "charts", "score", "watch", "results",
    "play", "main",
)  # fmt: skip
TITLES = {
    "ready_set_go": "Ready-Set-Go",
    "cued_production": "Cued production",
    "bisection": "Bisection",
    "discrimination": "Discrimination",
}


def page(agents: Sequence[dict[str, Any]]) -> str:
    """The page as text; agents as `export_agent` gives them. ValueError if it would be too large."""
    data = {
        "agents": list(agents),
        "tasks": {name: asdict(kind()) for name, kind in TASKS.items() if name in TITLES},
        "titles": TITLES,
        "optics": asdict(OpticsConfig()),
    }
    text = (WEB / "index.html").read_text()
    for place, part in (
        ("/*STYLE*/", (WEB / "style.css").read_text()),
        ("/*DATA*/", json.dumps(data, separators=(",", ":")).replace("</", "<\\/")),
        ("/*SCRIPT*/", script()),
    ):
        text = text.replace(place, part)
    if len(text.encode()) > LARGEST_PAGE:
        names = ", ".join(agent["name"] for agent in agents)
        raise ValueError(
            f"a page with {names} would have {len(text.encode()) / 1e6:.1f} MB; "
            f"name fewer agents, to stay below {LARGEST_PAGE / 1e6:.0f} MB"
        )
    return text


def script() -> str:
    """All modules as one program.

    A browser loads no modules from disk, so each becomes a function that returns what it exports, and an import takes
    names from that. The last one, `main`, stays as it is.
    """
    parts = []
    for name in MODULES:
        code = re.sub(
            r'^import \{ (.+) \} from "\./(\w+)\.js";$', r"const { \1 } = \2Module;", module(name), flags=re.MULTILINE
        )
        if name == MODULES[-1]:
            parts.append(code)
            continue
        exported = re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", code, flags=re.MULTILINE)
        code = re.sub(r"^export ", "", code, flags=re.MULTILINE)
        parts.append(f"const {name}Module = (() => {{\n{code}\nreturn {{ {', '.join(exported)} }};\n}})();")
    return "\n".join(parts)


def module(name: str) -> str:
    return (WEB / f"{name}.js").read_text()
