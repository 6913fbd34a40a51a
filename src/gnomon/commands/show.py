"""`gnomon show`: one trial of a task or of a trained agent, as a film strip and as an animation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from gnomon.commands.printing import command
from gnomon.commands.tasks import build_task, choose

if TYPE_CHECKING:
    from gnomon.subjects.subject import Subject


@dataclass(frozen=True)
class Show:
    """Write a film strip (PNG) and an animation (GIF) of one trial.

    `gnomon show published/lstm-0` shows a trained agent, `gnomon show ready_set_go --subject noisy` a scripted subject.
    """

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK|AGENT")]
    """A task (ready_set_go, cued_production, bisection, discrimination), or an agent (published/NAME, or a run)."""
    setting: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Of a task, settings that ship by name: paper or psychlab for ready_set_go; the task's defaults if left out."""
    subject: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Who does the task: perfect (if left out), noisy, blind (to the interval) or random."""
    trial: int = 0
    """Which trial of an episode to show, counted from 0: in the first, an agent's memory is still empty."""
    seed: int = 0
    """Seed of all that is random, 0 or more: another seed is another trial."""
    out: Path = Path("out")
    """Folder for the two files; made if it is not there."""


def show(options: Show) -> None:
    for line in write_films(options):
        print(line)
    print("next: " + command("gnomon", "show", options.what, "--seed", options.seed + 1))


def write_films(options: Show) -> list[str]:
    """Record a trial and write its two films; what to tell the user about them, line by line."""
    from gnomon.report.animation import animation
    from gnomon.report.film import film_strip
    from gnomon.subjects.trial_film import film_trial

    subject, stem = seat(options)
    folder = writable_folder(options.out)
    film = film_trial(subject, options.trial)
    strip, moving = folder / f"{stem}.png", folder / f"{stem}.gif"
    film_strip(film, strip)
    animation(film, moving)
    caption = film.caption.replace("$", "").replace("    ", ", ")
    return [f"{film.title}: {caption}", f"  film strip  {strip}", f"  animation   {moving}"]


def seat(options: Show) -> tuple[Subject[Any], str]:
    """Who is to be shown, alone in a laboratory, and a name for the files."""
    from gnomon.lab.laboratory import Laboratory, check_seed
    from gnomon.lab.tasks import TASKS
    from gnomon.subjects.scripted import SUBJECTS

    check_seed(options.seed)
    if options.trial < 0:
        raise ValueError(f"trial is {options.trial}; it must be at least 0")
    path = Path(options.what)
    if options.what not in TASKS and (path.exists() or len(path.parts) > 1):
        return seat_agent(options, path)
    task = build_task(options.what, options.setting)
    kind = choose("subject", options.subject or "perfect", SUBJECTS)
    laboratory = Laboratory(task, seed=options.seed)
    named = (options.what, options.setting, kind)
    return SUBJECTS[kind](laboratory, options.seed), stem(*named, options=options)


def seat_agent(options: Show, path: Path) -> tuple[Subject[Any], str]:
    import torch

    from gnomon.lab.laboratory import Laboratory
    from gnomon.published.agents import load_agent
    from gnomon.subjects.agent import AgentSubject

    for name in ("setting", "subject"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} goes with a task; {path} is an agent, which has its own")
    agent, config = load_agent(path)
    laboratory = Laboratory(config.task, config.optics, seed=options.seed, device=agent.policy.weight.device)
    generator = torch.Generator(laboratory.device).manual_seed(options.seed + 1)
    name = path.resolve().name
    return AgentSubject(laboratory, agent, generator, name=f"agent {name}"), stem(name, options=options)


def stem(*named: str | None, options: Show) -> str:
    """A file's name that tells who did which trial."""
    which = (f"trial{options.trial}" if options.trial else None, f"seed{options.seed}")
    return "-".join(part for part in (*named, *which) if part)


def writable_folder(path: Path) -> Path:
    """The folder, made if need be; ValueError if nothing can be written there."""
    from tempfile import TemporaryFile

    try:
        path.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path).close()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ValueError(f"cannot write to {path} ({reason}); name another folder with --out") from None
    return path
