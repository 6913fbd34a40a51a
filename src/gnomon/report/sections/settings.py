"""Every setting of the first agent, and what differs in the others."""

from gnomon.report.figures.performance import words
from gnomon.report.gallery import Gallery
from gnomon.report.page import Section, Table
from gnomon.report.wording import mean, number
from gnomon.study.files import Study


def section(study: Study, gallery: Gallery) -> Section:
    trained = [family for family in study.families if family.trained]
    if not trained:
        return Section("Settings", ("Scripted subjects at the paper's Ready-Set-Go; they have no settings.",))
    base = {each.name: each.value for each in trained[0].settings}
    rows = []
    for family in trained:
        changed = [f"{each.name} = {each.value}" for each in family.settings if each.value != base.get(each.name)]
        seeds = ", ".join(str(member.seed) for member in family.members)
        frames = mean([member.frames / 1e6 for member in family.members if member.frames is not None])
        rows.append((words(family.name), seeds, number(frames, 1), "; ".join(changed) or "as listed below"))
    tables = (
        Table("Agents", ("agent", "seeds", "million frames", "settings that differ"), tuple(rows)),
        Table(f"Every setting of {words(trained[0].name)}", ("setting", "value"), tuple(base.items())),
    )
    facts = study.facts
    text = (f"Evaluation: {facts.trials:,} trials of each agent, seed {facts.seed}, sampled actions, frozen weights.",)
    return Section("Settings", text, (), tables)
