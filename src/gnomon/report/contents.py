"""What is on the page, in order, and how it is written from a study's folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from gnomon.report.figures.performance import words
from gnomon.report.gallery import Gallery
from gnomon.report.page import Page, Section, write_page
from gnomon.report.sections import (
    claims,
    clock,
    disclosure,
    gaze,
    generalisation,
    learning,
    observer,
    production,
    reproduce,
    scalar_variability,
    settings,
    units,
    variants,
)
from gnomon.report.wording import count, over_seeds, sentence, shares_over_seeds
from gnomon.study.files import Family, Study, read_study
from gnomon.study.stages import Stages

LABORATORY = "play.html"  # what `gnomon play --out` writes beside the page is linked from it
PAPER_TITLE = "Interval timing in deep reinforcement learning agents"

# The page's order; it numbers its sections itself. A new section is a file in `sections` and a line here.
SECTIONS: tuple[Callable[[Study, Gallery], Section], ...] = (
    claims.section,
    clock.section,
    disclosure.section,
    learning.section,
    production.section,
    generalisation.section,
    scalar_variability.section,
    observer.section,
    units.section,
    gaze.section,
    variants.section,
    settings.section,
)


def write_report(folder: Path, *, commands: Sequence[str], report: Callable[[str], None] = lambda line: None) -> Path:
    """Write FOLDER/index.html from the study in the folder; returns its path.

    `commands` are what to type to get the page again; `report` is told what is being done.
    """
    study = read_study(folder)
    page = contents(study, Gallery(Stages(folder, report)), commands)
    if (folder / LABORATORY).exists():
        page = replace(page, laboratory=LABORATORY)
    report("page")
    write_page(page, folder / "index.html")
    return folder / "index.html"


def contents(study: Study, gallery: Gallery, commands: Sequence[str]) -> Page:
    """The whole page."""
    return Page(
        title="How does a learning agent keep time?",
        subtitle=f"Ready-Set-Go: {who_took_part(study)}. After “{PAPER_TITLE}” (Deverett, Faulkner, Fortunato, Wayne, "
        "Leibo; NeurIPS 2019).",
        summary=tuple(summary(study)),
        sections=(*(section(study, gallery) for section in SECTIONS), reproduce.section(study, commands)),
    )


def who_took_part(study: Study) -> str:
    """How many agents, and everyone else by name."""
    agents = sum(len(family.members) for family in study.families if family.trained)
    named = [f"{count(agents, 'agent')}, {study.facts.trials:,} trials each"] if agents else []
    named += [
        f"{words(found.name)}, {found.n_trials:,} trials"
        for family in study.families
        if not family.trained
        for found in study.of(family)
    ]
    return "; ".join(named)


def summary(study: Study) -> list[str]:
    """What was found, in a few sentences made from the numbers."""
    facts = study.facts
    said = [
        f"The task: look at Go as long after Set as Set came after Ready, {facts.intervals[0]} to "
        f"{facts.intervals[-1]} frames at 60 frames a second. A trial counts as right if it misses by less than "
        f"{facts.tolerance:g} frames."
    ]
    said += [family_words(study, family) for family in study.compared]
    if any(family.trained for family in study.families):
        said.append(
            f"{claims.tally(study)} The agents here were trained with settings other than the paper's: see how "
            "these agents differ from the preset paper."
        )
    return said


def family_words(study: Study, family: Family) -> str:
    found = study.of(family)
    name = sentence(words(family.name)) + (f" ({count(len(found), 'seed')})" if family.trained else "")
    produced = [each.production for each in found if each.production is not None]
    if not produced:
        return f"{name}: it never answered Set, so there is nothing to say about its timing."
    parts = [
        f"{name}: {shares_over_seeds([each.share_within for each in found])} of trials are right, and mean production "
        f"rises by {over_seeds([each.line.slope for each in produced])} per frame of sample interval."
    ]
    general = [each.generalisation for each in found if each.generalisation is not None]
    if general:
        errors = {
            region: over_seeds([generalisation.mean_error(each, region) for each in general], 1)
            for region in ("interpolated", "above")
        }
        parts.append(
            f"At intervals never trained the size of the mean error is {errors['interpolated']} frames between the "
            f"trained ones and {errors['above']} above them."
        )
    moved = [each.gaze.overall[0].share_moved for each in found if each.gaze is not None]
    if moved:
        parts.append(f"Between Ready and Set its gaze moves in {shares_over_seeds(moved)} of the frames.")
    return " ".join(parts)
