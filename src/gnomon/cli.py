"""The command line, `gnomon COMMAND ...`: tyro reads each command's options from its dataclass.

What a user gets wrong is answered by one line that names what would be right, and by exit code 2, never by a
traceback.
"""

import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import fields
from importlib import import_module
from importlib.metadata import version
from typing import Any, get_type_hints

import tyro

from gnomon.commands.tasks import choose

DESCRIPTION = "How does a learning agent keep time? An open laboratory for interval timing."

# A command `show` is the module `gnomon.commands.show`: a dataclass `Show` of its options, and the function
# `show` that takes them. It is imported when the command is asked for, or to print the help.
COMMANDS = (
    "tasks", "show", "train", "sweep", "evaluate", "clock", "report", "reproduce", "publish", "check", "results",
    "runs", "play", "demo",
)  # fmt: skip

USAGE_ERROR, STOPPED = 2, 130  # exit codes
LONGEST_REASON = 200  # characters of what PyTorch says about memory


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the arguments default to those of the process. Returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if arguments[:1] == ["--version"]:
            print(f"gnomon {version('gnomon')}")
        elif not arguments or arguments[0] in ("-h", "--help"):
            print_help()
        else:
            options, command = load(choose("command", arguments[0], COMMANDS), arguments[1:])
            command(parse(options, arguments[0], arguments[1:]))
    except SystemExit as leaving:  # after the help, or with a last word
        if isinstance(leaving.code, str):
            print(f"gnomon: {leaving.code}", file=sys.stderr)
            return 1
        return leaving.code or 0
    except BrokenPipeError:  # whoever read our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        print("gnomon: " + " ".join(str(error).split()), file=sys.stderr)
        return USAGE_ERROR
    except (MemoryError, RuntimeError) as error:
        if not re.search("memory|overflow", str(error) or "memory", re.IGNORECASE):
            raise
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        print(f"gnomon: these settings need more memory than there is ({reason})", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("gnomon: stopped", file=sys.stderr)
        return STOPPED
    return 0


def print_help() -> None:
    commands = {name: load(name)[0] for name in COMMANDS}
    tyro.extras.subcommand_cli_from_dict(commands, prog="gnomon", description=DESCRIPTION, args=["--help"])


def load(name: str, arguments: Sequence[str] | None = None) -> tuple[type, Callable[[Any], None]]:
    """A command's options and what it does with them.

    Defaults that depend on what is typed (a preset) come from the module's `options_for`, if it has one.
    """
    module = import_module(f"gnomon.commands.{name}")
    options = getattr(module, name.capitalize())
    if arguments is not None and hasattr(module, "options_for"):
        options = module.options_for(arguments)
    return options, getattr(module, name)


def parse(options: type, command: str, arguments: Sequence[str]) -> Any:
    """The options that a user has typed; ValueError, in one line, if they are wrong."""
    # tyro guesses what an unknown option may have meant only if its value stands apart.
    apart = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    complaint = io.StringIO()
    try:
        with redirect_stderr(complaint):
            return tyro.cli(options, prog=f"gnomon {command}", args=apart)
    except SystemExit as stopped:
        if not stopped.code:  # it has printed the help
            raise
        raise ValueError(one_line(complaint.getvalue(), command, option_names(options))) from None


def option_names(options: type) -> list[str]:
    """The fields that are options on the command line, as they are typed there."""
    kinds = get_type_hints(options, include_extras=True)
    names = (field.name for field in fields(options))
    typed = [n for n in names if tyro.conf.Positional not in getattr(kinds[n], "__metadata__", ())]
    return [f"--{name.replace('_', '-')}" for name in typed]


def one_line(box: str, command: str, options: Sequence[str]) -> str:
    """tyro's complaint, a box with rules across, as one line: what was wrong and what would be right."""
    plain = re.sub(r"\033\[[0-9;]*m", "", box)
    sections: list[list[str]] = [[]]
    for row in (line.strip(" │") for line in plain.splitlines()):
        if row.startswith(("╭", "╰")) or not row.strip("─-"):
            sections.append([])
        else:
            sections[-1].append(row)
    # The first section is empty, or the title where the terminal cannot draw boxes.
    wrong = " ".join(sections[1]).rstrip(".")
    concerned = [row for section in sections[2:] for row in section if row.startswith("--")]
    if wrong.startswith("Unrecognized"):
        name = concerned[0].split()[0] if concerned else ""
        right = f"did you mean {name}?" if name else f"gnomon {command} takes {', '.join(options)}"
    else:
        right = f"it is {concerned[0]}" if concerned else f"see gnomon {command} --help"
    return f"{wrong[:1].lower()}{wrong[1:]}; {right}"
