"""How the spread of productions grows with the interval."""

from gnomon.analysis.scalar_variability import ScalarVariability
from gnomon.report.figures.performance import words
from gnomon.report.figures.scalar_variability import draw_scalar_residual, draw_scalar_variability, draw_weber_fraction
from gnomon.report.gallery import Gallery
from gnomon.report.page import Section, Table
from gnomon.report.panels import family_figure, missing, rows_of
from gnomon.report.wording import NOTHING, estimated, number, over_seeds, sentence, share, shares_over_seeds
from gnomon.study.files import Study


def section(study: Study, gallery: Gallery) -> Section:
    figures = tuple(
        family_figure(study, gallery, kind, lambda found: found.scalar_variability, draw, title, alternative)
        for kind, draw, title, alternative in (
            ("spread", draw_scalar_variability, "Spread against interval", "S.d. of production with the power law"),
            ("residual", draw_scalar_residual, "What the power law leaves", "Residual of the power law"),
            ("weber", draw_weber_fraction, "Weber fraction", "Weber fraction"),
        )
    )  # fmt: skip
    text = []
    for family in study.compared:
        fits = [each.scalar_variability for each in study.of(family) if each.scalar_variability is not None]
        if fits:
            text.append(
                f"{sentence(words(family.name))}: the s.d. is {over_seeds([f.sd[0] for f in fits], 1)} frames at "
                f"{fits[0].sample_interval[0]} frames and {over_seeds([f.sd[-1] for f in fits], 1)} at "
                f"{fits[0].sample_interval[-1]}. It is largest at {', '.join(str(f.widest) for f in fits)} frames. The "
                f"power law has c = {over_seeds([f.c for f in fits])} and explains "
                f"{shares_over_seeds([f.r_squared for f in fits])} of how the s.d. varies; c is identified in "
                f"{sum(f.identified for f in fits)} of {len(fits)} seeds."
            )
    text.append("The paper fits the power law to its feedforward agent only. Other agents' spread is beyond the paper.")
    shown = [
        (found.name, found.scalar_variability) for _, found in rows_of(study) if found.scalar_variability is not None
    ]
    tables = (fit_table(shown), constraint_table(shown)) if shown else ()
    return Section("Scalar variability", (*text, *missing(study, "scalar variability")), figures, tables)


def fit_table(shown: list[tuple[str, ScalarVariability]]) -> Table:
    rows = tuple(
        (
            name, estimated(fit.a, fit.a_interval, 1), f"{fit.b:.3g}",
            estimated(fit.c, fit.c_interval), "yes" if fit.identified else "no", share(fit.r_squared),
            number(max(fit.residual, key=abs), 1, "+"), estimated(fit.order.value, fit.order.interval),
            estimated(fit.drop.value, fit.drop.interval, 1, "+"),
        )
        for name, fit in shown
    )  # fmt: skip
    header = (
        "agent", "a, frames (95 %)", "b", "c (95 %)", "c identified", "explained", "largest residual, frames",
        "rank correlation (95 %)", "longest minus largest, frames (95 %)",
    )  # fmt: skip
    note = "Intervals resample lanes. c is held between 0.05 and 4, a and b are at least 0."
    return Table("s.d. = a + b x^c", header, rows, note)


def constraint_table(shown: list[tuple[str, ScalarVariability]]) -> Table:
    """c under other constraints, and without the longest intervals."""
    ways = [(fit.constraint, fit.left_out) for fit in max((fit.fits for _, fit in shown), key=len)]
    names = [constraint + (f", without the longest {left_out}" if left_out else "") for constraint, left_out in ways]
    rows = []
    for name, result in shown:
        fits = {(fit.constraint, fit.left_out): fit for fit in result.fits}
        cells = [estimated(fits[way].c, fits[way].c_interval) if way in fits else NOTHING for way in ways]
        rows.append((name, *cells))
    return Table("c depends on how it is fitted", ("agent", *names), tuple(rows), "In brackets: 95 % over lanes.")
