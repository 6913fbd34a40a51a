"""`gnomon show`: one trial of a task, as a film strip and as an animation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gnomon.commands.tasks import build_task, choose


@dataclass(frozen=True)
class Show:
    """Write a film strip (PNG) and an animation (GIF) of one trial of a scripted subject."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """The task: ready_set_go, cued_production, bisection or discrimination."""
    setting: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Settings that ship by name: paper or psychlab for ready_set_go; the task's defaults if left out."""
    subject: Annotated[str, tyro.conf.arg(metavar="NAME")] = "perfect"
    """Who does the trial: perfect, noisy, blind (to the interval) or random."""
    seed: int = 0
    """Seed of all that is random, 0 or more: another seed is another trial."""
    out: Path = Path("out")
    """Folder for the two files; made if it is not there."""


def show(options: Show) -> None:
    for line in write_films(options):
        print(line)
    print(f"next: gnomon show {options.task} --subject noisy --seed {options.seed + 1}")


def write_films(options: Show) -> list[str]:
    """Record a trial and write its two films; what to tell the user about them, line by line."""
    from gnomon.lab.laboratory import Laboratory
    from gnomon.report.animation import animation
    from gnomon.report.film import film_strip, record_trial
    from gnomon.subjects.scripted import SUBJECTS

    task = build_task(options.task, options.setting)
    subject = SUBJECTS[choose("subject", options.subject, SUBJECTS)]
    check_seed(options.seed)
    folder = writable_folder(options.out)
    laboratory = Laboratory(task, seed=options.seed)
    film = record_trial(laboratory, subject(laboratory, options.seed))
    named = (options.task, options.setting, options.subject, f"seed{options.seed}")
    stem = "-".join(part for part in named if part)
    strip, moving = folder / f"{stem}.png", folder / f"{stem}.gif"
    film_strip(film, strip)
    animation(film, moving)
    caption = film.caption.replace("$", "").replace("    ", ", ")
    return [f"{film.title}: {caption}", f"  film strip  {strip}", f"  animation   {moving}"]


def check_seed(seed: int) -> None:
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must be a whole number of at least 0")


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
