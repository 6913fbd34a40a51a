"""What is on the page: a summary, a section per analysis, paper versus here, settings, versions, how to reproduce."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from gnomon.records.runs import versions
from gnomon.report import inside, sections, variability
from gnomon.report.claims import LEARNED, Claim, claims, grows, learned, slopes
from gnomon.report.figures.performance import words
from gnomon.report.gallery import Gallery
from gnomon.report.page import VERDICTS, Page, Section, Table, write_page
from gnomon.report.participants import Family, participants
from gnomon.report.stages import Stages
from gnomon.report.study import LEAST_TRIALS, Study, run_study
from gnomon.report.wording import count, listed, mean, number, over_seeds, sentence, share, shares_over_seeds
from gnomon.sweep.experiment import settings_of

PAPER_TITLE = "Interval timing in deep reinforcement learning agents"
PAPER_SEEDS = 15


def write_report(
    asked: Sequence[str],
    out: Path,
    *,
    trials: int,
    seed: int,
    commands: Sequence[str],
    live: str | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Path:
    """Evaluate and analyse those who are asked for, and write OUT/index.html; returns its path.

    Everything is checked before anything is written. `commands` are what to type to get the page again, `live` is a run
    of which only the learning curve is shown, `report` is told what is being done.
    """
    if trials < LEAST_TRIALS:
        raise ValueError(f"trials is {trials}; a report needs at least {LEAST_TRIALS} of each participant")
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must be a whole number of at least 0")
    everyone = participants(asked)
    watched = participants([live])[0] if live is not None else None
    stages = Stages(out, report)
    study = run_study(everyone, stages, trials=trials, seed=seed, live=watched)
    page = contents(study, Gallery(stages), commands)
    report("page")
    write_page(page, out / "index.html")
    return out / "index.html"


def contents(study: Study, gallery: Gallery, commands: Sequence[str]) -> Page:
    """The whole page."""
    made = claims(study)
    shown = [
        sections.learning(study, gallery),
        sections.production(study, gallery),
        sections.generalisation(study, gallery),
        variability.scalar_variability(study, gallery),
        variability.observer(study, gallery),
        inside.units(study, gallery),
        inside.gaze(study, gallery),
        inside.variants(study, gallery),
        paper_versus_here(made),
        settings(study),
        made_with(),
        reproduce(study, commands),
    ]
    agents = sum(len(family.members) for family in study.families)
    return Page(
        title="How does a learning agent keep time?",
        subtitle=f"{count(agents, 'agent')} at Ready-Set-Go, {study.trials:,} trials each. After “{PAPER_TITLE}” "
        "(Deverett, Faulkner, Fortunato, Wayne, Leibo; NeurIPS 2019).",
        summary=tuple(summary(study, made)),
        sections=tuple(shown),
    )


# The summary ----------------------------------------------------------------------------------------------


def summary(study: Study, made: Sequence[Claim]) -> list[str]:
    """What was found, in a few sentences made from the numbers."""
    task = study.chiefs[0].members[0].task
    said = [
        f"The task: look at Go as long after Set as Set came after Ready, {min(task.intervals)} to "
        f"{max(task.intervals)} frames at 60 frames a second. An agent counts as having learned it if at least "
        f"{share(LEARNED)} of its trials miss by less than {task.base_tolerance:g} frames."
    ]
    said += [family_words(study, family) for family in study.chiefs]
    others = [family for family in study.families if family not in study.chiefs]
    if others:
        able = [words(family.name) for family in others if learned(study.of(family))]
        who = f"{len(able)} learned it: {listed(able)}" if able else "none learned it"
        said.append(f"Of {count(len(others), 'variant')}, {who}.")
    tally = Counter(claim.verdict for claim in made)
    verdicts = listed([f"{tally[verdict]} {verdict}" for verdict in VERDICTS if tally[verdict]])
    said.append(f"Of {count(len(made), 'claim')} of the paper checked here: {verdicts} (the table is in section 9).")
    return said


def family_words(study: Study, family: Family) -> str:
    found = study.of(family)
    name = words(family.name)
    seeds = f" ({count(len(found), 'seed')})" if family.members[0].path is not None else ""
    shares = shares_over_seeds([each.share_within for each in found])
    if all(each.production is None for each in found):
        return f"{sentence(name)}{seeds}: it never answered Set, so there is nothing to say about its timing."
    verdict = "learned the task" if learned(found) else "did not reach the criterion"
    parts = [
        f"{name}{seeds} {verdict}: {shares} of trials within the tolerance, mean production rising by "
        f"{over_seeds(slopes(found))} per frame of sample interval."
    ]
    general = [each.generalisation for each in found if each.generalisation is not None]
    if general:
        parts.append(
            f"On intervals never trained the slope is {over_seeds([g.interpolated.slope for g in general])} between "
            f"the trained ones and {over_seeds([g.above.slope for g in general])} beyond them."
        )
    spread = [each.scalar_variability for each in found if each.scalar_variability is not None]
    if spread and grows(spread):
        parts.append(f"Its spread grows with the interval, with an exponent c of {over_seeds([s.c for s in spread])}.")
    elif spread:
        parts.append("Its spread does not grow with the interval.")
    seen = [each.population.decoder("ready").r2 for each in found if each.population is not None]
    moved = [each.gaze.overall[0].share_moved for each in found if each.gaze is not None]
    if seen and moved:
        parts.append(
            f"The time since Ready can be read from its units with R² {over_seeds(seen)}; meanwhile its gaze moves in "
            f"{shares_over_seeds(moved)} of the frames."
        )
    return sentence(" ".join(parts))


# The last sections ----------------------------------------------------------------------------------------


def paper_versus_here(made: Sequence[Claim]) -> Section:
    rows = tuple((claim.subject, claim.verdict, claim.paper, claim.here, claim.rule) for claim in made)
    header = ("claim", "verdict", "paper", "here", "rule of the verdict")
    note = "Numbers are means over seeds, ± their s.d. where there are several."
    text = (
        "Verdicts follow from the numbers by the rule in the last column; nothing here is written by hand. The paper "
        f"has {PAPER_SEEDS} seeds of its two agents, trained with 200 actors.",
    )
    return Section("9. Paper versus here", text, (), (Table("Each claim", header, rows, note),))


def settings(study: Study) -> Section:
    """Every setting of the first family, and what differs in the others."""
    trained = [family for family in study.families if family.members[0].path is not None]
    if not trained:
        return Section("10. Settings", ("Scripted subjects at the paper's Ready-Set-Go; they have no settings.",))
    base = settings_of(trained[0].members[0].config)
    rows = tuple((name, written(value)) for name, value in base.items() if name != "seed")
    differences = []
    for family in trained:
        own = settings_of(family.members[0].config)
        changed = [f"{name} = {written(own[name])}" for name in own if name != "seed" and own[name] != base.get(name)]
        seeds = ", ".join(str(member.config.seed) for member in family.members)
        frames = mean([member.frames / 1e6 for member in family.members if member.frames is not None])
        differences.append((words(family.name), seeds, number(frames, 1), "; ".join(changed) or "as listed below"))
    header = ("agent", "seeds", "million frames", "settings that differ")
    tables = (
        Table("Agents", header, tuple(differences)),
        Table(f"Every setting of {words(trained[0].name)}", ("setting", "value"), rows),
    )
    text = (f"Evaluation: {study.trials:,} trials of each agent, seed {study.seed}, sampled actions, frozen weights.",)
    return Section("10. Settings", text, (), tables)


def written(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else f"{value:,}" if type(value) is int else str(value)


def made_with() -> Section:
    facts = {name: str(value) for name, value in versions().items() if name != "started"}
    return Section(
        "11. Versions", (), (), (Table("This page was made with", ("what", "version"), tuple(facts.items())),)
    )


def reproduce(study: Study, commands: Sequence[str]) -> Section:
    text = (
        "The same commands on the same versions give the same numbers. Every stage is a file beside this page (trials, "
        "recordings, results, figures), so a run that was stopped goes on where it was, and what is unchanged is not "
        "done again.",
    )
    return Section("12. How to reproduce this page", text, (), (), tuple(commands))
