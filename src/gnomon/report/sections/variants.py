"""Every agent side by side: sizes, other controllers, 10-step RL."""

from matplotlib.figure import Figure as Drawing

from gnomon.analysis.variants import Variant, Variants
from gnomon.report.captions import caption_of
from gnomon.report.figures.performance import draw_learning_curves, words
from gnomon.report.figures.variants import draw_variants, variants_panels
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section, Table
from gnomon.report.sections.production import MOST_COLOURS
from gnomon.report.wording import estimated, mean, number, over_seeds, share, share_estimated
from gnomon.study.files import Family, Study


def section(study: Study, gallery: Gallery) -> Section:
    shown = [(family, study.middle(family)) for family in study.families]
    result = Variants(
        study.facts.task, tuple(Variant(family.name, found.n_trials, found.production) for family, found in shown)
    )

    def build() -> Drawing:
        figure, axes = variants_panels(len(shown))
        draw_variants(axes, result)
        return figure

    prints = study.prints([found for _, found in shown])
    image = gallery.figure("variants", prints, build, "Production panels of every agent")
    figures = [Figure((image,), "Production of every agent (each by its median seed)", caption_of(draw_variants))]
    curves = {name: curve.over_frames for name, curve in list(study.learning.items())[:MOST_COLOURS]}
    if any(family.name in curves for family in study.families if not family.compared):
        prints = [family.learning or "" for family in study.families if family.name in curves]
        drawn = gallery.panel(
            "learning-variants", prints, lambda axes: draw_learning_curves(axes, curves), "Reward rate of every family",
            size=(6.4, 4.4),
        )  # fmt: skip
        figures.append(Figure((drawn,), "Reward rate of every agent", caption_of(draw_learning_curves)))
    header = ("agent", "seeds", "million frames", "within tolerance (95 % over lanes)", "slope", "r.m.s. error, frames")
    text = "One seed decides nothing about a kind of agent: another seed may do better or worse."
    rows = tuple(row(study, family) for family in study.families)
    return Section("Variants", (text,), tuple(figures), (Table("Every agent", header, rows),))


def row(study: Study, family: Family) -> tuple[str, ...]:
    found = study.of(family)
    frames = mean([member.frames / 1e6 for member in family.members if member.frames is not None])
    produced = [each.production for each in found if each.production is not None]
    shares = [share_estimated(each.within.value, each.within.interval) for each in produced]
    slope = (
        over_seeds([each.line.slope for each in produced])
        if len(produced) != 1
        else estimated(produced[0].line.slope, produced[0].line.slope_interval)
    )
    errors = over_seeds([each.error.rmse for each in produced], 1)
    return (words(family.name), str(len(found)), number(frames, 1), "; ".join(shares) or share(0.0), slope, errors)
