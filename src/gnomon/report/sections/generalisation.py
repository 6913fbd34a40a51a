"""Intervals never trained: between the trained ones, below them, above them; never pooled."""

import numpy as np

from gnomon.analysis.generalisation import Generalisation
from gnomon.report.figures.generalisation import draw_generalisation
from gnomon.report.figures.performance import words
from gnomon.report.gallery import Gallery
from gnomon.report.page import Section, Table
from gnomon.report.panels import family_figure, missing, rows_of
from gnomon.report.wording import NOTHING, estimated, number, over_seeds, sentence
from gnomon.study.files import Study
from gnomon.study.findings import Findings

REGIONS = {"trained": "at trained intervals", "interpolated": "between them", "below": "below", "above": "above"}


def section(study: Study, gallery: Gallery) -> Section:
    figure = family_figure(
        study, gallery, "generalisation", lambda found: found.generalisation, draw_generalisation,
        "Intervals never trained", "Trained and untrained intervals",
    )  # fmt: skip
    text = []
    for family in study.compared:
        results = [each.generalisation for each in study.of(family) if each.generalisation is not None]
        if results:
            said = ", ".join(
                f"{over_seeds([mean_error(each, region) for each in results], 1)} {words_of}"
                for region, words_of in REGIONS.items()
                if region in results[0].kind
            )
            text.append(
                f"{sentence(words(family.name))}: the size of the mean error is, in frames: {said}. Above the longest "
                f"trained interval, mean production has a slope of {over_seeds([r.above.slope for r in results])}."
            )
    shown = [found for _, found in rows_of(study) if found.generalisation is not None]
    tables = (slopes_table(shown), *([above_table(shown)] if shown else ()))
    return Section("Generalisation", (*text, *missing(study, "generalisation")), (figure,), tables)


def mean_error(result: Generalisation, region: str) -> float:
    """The size of the mean error (frames), mean over the intervals of a region."""
    return float(np.abs(result.bias[np.array(result.kind) == region]).mean())


def slopes_table(shown: list[Findings]) -> Table:
    rows = []
    for found in shown:
        result = found.generalisation
        assert result is not None
        lines = (result.trained, result.interpolated, result.above)
        below = result.region("below")
        bias = "; ".join(
            f"{estimated(value, interval, 1, '+')} at {t_s}"
            for t_s, value, interval in zip(
                result.sample_interval[below], result.bias[below], result.bias_interval[below], strict=True
            )
        )
        cells = [estimated(each.slope, each.slope_interval) for each in lines]
        rows.append((found.name, *cells[:2], bias or NOTHING, cells[2]))
    header = ("agent", "trained: slope", "between: slope", "below: bias, frames", "above: slope")
    note = "Slopes of mean production, 95 % bootstrap over lanes. A slope of 0 above has levelled off."
    return Table("Trained and untrained intervals", header, tuple(rows), note)


def above_table(shown: list[Findings]) -> Table:
    """Mean production at every interval above the longest trained one."""
    results = [(found.name, found.generalisation) for found in shown if found.generalisation is not None]
    t_s = sorted({int(each) for _, result in results for each in result.sample_interval[result.region("above")]})
    rows = tuple((name, *(mean_at(result, each) for each in t_s)) for name, result in results)
    header = ("agent", *(f"{each} frames" for each in t_s))
    return Table("Mean production above the longest trained interval, in frames", header, rows)


def mean_at(result: Generalisation, t_s: int) -> str:
    place = np.flatnonzero(result.sample_interval == t_s)
    return number(float(result.mean[place[0]]), 0) if len(place) else NOTHING
