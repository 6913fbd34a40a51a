"""Mean production per sample interval, and the first trials of episodes apart."""

from gnomon.report.captions import caption_of
from gnomon.report.figures.performance import draw_bias_variance, draw_histograms, draw_production, words
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section, Table
from gnomon.report.panels import family_figure, rows_of
from gnomon.report.wording import (
    NOTHING,
    estimated,
    number,
    over_seeds,
    sentence,
    share,
    share_estimated,
    shares_over_seeds,
)
from gnomon.study.files import Family, Study

MOST_COLOURS = 12  # agents that can be told apart in one panel


def section(study: Study, gallery: Gallery) -> Section:
    middles = [(family.name, study.middle(family)) for family in study.families][:MOST_COLOURS]
    shown = {name: found.production for name, found in middles if found.production is not None}
    prints = study.prints([found for _, found in middles])
    figures = (
        family_figure(
            study, gallery, "production", lambda found: found.production, draw_production,
            "Mean production", "Mean production against sample interval",
        ),
        family_figure(
            study, gallery, "histograms", lambda found: found.production, draw_histograms,
            "The productions behind the means", "Histograms of production",
        ),
        Figure(
            (
                gallery.panel(
                    "bias-variance", prints, lambda axes: draw_bias_variance(axes, shown),
                    "Bias against spread of every family", size=(6.4, 3.8),
                ),
            ),
            "Where the error comes from (each family by its median seed)", caption_of(draw_bias_variance),
        ),
    )  # fmt: skip
    text = (
        "Fresh lanes, frozen weights, sampled actions. Intervals are 95 % bootstrap intervals that resample lanes, "
        "since the errors of one lane resemble each other.",
        *(production_words(study, family) for family in study.compared),
    )
    return Section("Production", text, figures, (production_table(study), first_trials_table(study)))


def production_words(study: Study, family: Family) -> str:
    found = study.of(family)
    produced = [each.production for each in found if each.production is not None]
    if not produced:
        return f"The {words(family.name)} agent never answered Set in {found[0].n_trials:,} trials."
    shortest, longest = study.facts.intervals[0], study.facts.intervals[-1]
    return (
        f"{sentence(words(family.name))}: {shares_over_seeds([each.share_within for each in found])} of trials are "
        f"within {study.facts.tolerance:g} frames. Mean production rises by "
        f"{over_seeds([each.line.slope for each in produced])} frames per frame of sample interval. The mean error is "
        f"{over_seeds([each.bias_shortest for each in produced], 1)} frames at {shortest} frames and "
        f"{over_seeds([each.bias_longest for each in produced], 1)} at {longest}."
    )


def production_table(study: Study) -> Table:
    rows = []
    for _, found in rows_of(study):
        result = found.production
        if result is None:
            rows.append((found.name, f"{found.n_trials:,}", share(0.0), *[NOTHING] * 6))
            continue
        judged = result.n_trials.sum()
        early, late = (float((s * result.n_trials).sum() / judged) for s in (result.share_early, result.share_timeout))
        rows.append(
            (
                found.name, f"{found.n_trials:,}", share_estimated(result.within.value, result.within.interval),
                share(early), share(late), estimated(result.line.slope, result.line.slope_interval),
                number(result.bias_shortest, 1, "+"), number(result.bias_longest, 1, "+"), number(result.error.rmse, 1),
            )
        )  # fmt: skip
    header = (
        "agent", "trials", f"within {study.facts.tolerance:g} (95 %)", "early", "timeout", "slope (95 %)",
        "bias, shortest", "bias, longest", "r.m.s. error",
    )  # fmt: skip
    return Table("Production, each seed", header, tuple(rows), "Bias and error in frames (60 a second).")


def first_trials_table(study: Study) -> Table:
    """The first trial of an episode, which begins without a past, beside the later ones."""
    rows = []
    for _, found in rows_of(study):
        result = found.first_trials
        if result is not None:
            cells = [
                cell
                for part, bias in ((result.first_within, result.first_bias), (result.later_within, result.later_bias))
                for cell in (
                    f"{part.n_trials:,}",
                    share_estimated(part.value, part.interval),
                    estimated(bias.value, bias.interval, 1, "+"),
                )
            ]
            rows.append((found.name, *cells))
    header = (
        "agent", "first trials", "within (95 %)", "bias, frames (95 %)", "later trials", "within (95 %)",
        "bias, frames (95 %)",
    )  # fmt: skip
    note = (
        "An agent with a memory begins an episode without a past. Bias: the mean over sample intervals of the mean "
        "error at each. Intervals resample lanes; none is given where lanes are too few."
    )
    return Table("The first trial of an episode and the later ones", header, tuple(rows), note)
