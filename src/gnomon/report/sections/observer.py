"""The Bayesian observer, its rivals, and how well it fits."""

import math

import numpy as np
from matplotlib.axes import Axes

from gnomon.analysis.observer_fit import ObserverFit, predict
from gnomon.report.captions import caption_of
from gnomon.report.figures.observer import (
    Prediction,
    draw_observer_mean,
    draw_observer_sd,
    draw_profile,
    draw_rival_bias,
    draw_rivals,
    named,
)
from gnomon.report.figures.performance import words
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section, Table
from gnomon.report.panels import family_panels, missing, rows_of
from gnomon.report.wording import estimated, number, over_seeds, sentence, share
from gnomon.study.files import Study
from gnomon.study.findings import Findings


def section(study: Study, gallery: Gallery) -> Section:
    def predicted(fitted: ObserverFit) -> Prediction:
        t_s = np.linspace(fitted.intervals[0], fitted.intervals[-1], 91)
        return Prediction(t_s, *predict(fitted, t_s))

    def on_mean(axes: Axes, found: Findings) -> None:
        assert found.production is not None and found.observer is not None  # noqa: PT018
        draw_observer_mean(axes, found.production, found.observer, predicted(found.observer))

    def on_sd(axes: Axes, found: Findings) -> None:
        assert found.production is not None and found.observer is not None  # noqa: PT018
        draw_observer_sd(axes, found.production, found.observer, predicted(found.observer))

    def on_profile(axes: Axes, found: Findings) -> None:
        assert found.observer is not None and found.profile is not None  # noqa: PT018
        draw_profile(axes, found.observer, found.profile)

    def on_bias(axes: Axes, found: Findings) -> None:
        assert found.rivals is not None
        draw_rival_bias(axes, found.rivals)

    def on_rivals(axes: Axes, found: Findings) -> None:
        assert found.rivals is not None
        draw_rivals(axes, found.rivals)

    def has(found: Findings) -> bool:
        return found.production is not None and found.observer is not None

    def rivalled(found: Findings) -> bool:
        return found.rivals is not None

    def profiled(found: Findings) -> bool:
        return has(found) and found.profile is not None

    figures = (
        Figure(
            family_panels(study, gallery, "observer-mean", has, on_mean, "Mean production and the fitted observer"),
            "Mean production, agent and observer", caption_of(draw_observer_mean),
        ),
        Figure(
            family_panels(study, gallery, "observer-sd", has, on_sd, "S.d. of production and the fitted observer"),
            "Spread, agent and observer", caption_of(draw_observer_sd),
        ),
        Figure(
            family_panels(study, gallery, "profile", profiled, on_profile, "Likelihood of the two Weber fractions"),
            "How well the two Weber fractions are known", caption_of(draw_profile),
        ),
        Figure(
            family_panels(study, gallery, "rival-bias", rivalled, on_bias, "Bias of agent, observer and clock"),
            "The bias, and two models of it", caption_of(draw_rival_bias),
        ),
        Figure(
            family_panels(study, gallery, "rivals", rivalled, on_rivals, "AIC of all models", (6.8, 4.2)),
            "Which model explains the productions best", caption_of(draw_rivals),
        ),
    )  # fmt: skip
    text = []
    for family in study.compared:
        best = [each.comparison.fits[0] for each in study.of(family) if each.comparison is not None]
        fits = [each.observer for each in study.of(family) if each.observer is not None]
        if fits:
            text.append(
                f"{sentence(words(family.name))}: the BLS observer has w_m = {over_seeds([f.w_m for f in fits], 3)} "
                f"(measurement) and w_p = {over_seeds([f.w_p for f in fits], 3)} (production). The best observer by "
                f"AIC is, seed by seed: {'; '.join(named(f) for f in best)}."
            )
    text.append(
        "The best of several models may still be wrong. So the observers stand beside two models without a prior: a "
        "noisy clock that runs out before the longest intervals, and a normal distribution for each interval, which is "
        "as well as a single hump can do. The paper fits the BLS observer alone, and to its feedforward agent only."
    )
    tables = (fit_table(study), rivals_table(study))
    return Section("The Bayesian observer", (*text, *missing(study, "observer")), figures, tables)


def fit_table(study: Study) -> Table:
    rows = []
    for _, found in rows_of(study):
        fit, surface = found.observer, found.profile
        if fit is None or found.comparison is None:
            continue
        sure = surface if surface is not None and not fit.complaint else None
        nothing = (math.nan, math.nan)
        rows.append(
            (
                found.name, f"{fit.n:,}",
                estimated(fit.w_m, sure.w_m_interval if sure else nothing, 3),
                estimated(fit.w_p, sure.w_p_interval if sure else nothing, 3),
                number(fit.aic - found.comparison.fits[0].aic, 1), named(found.comparison.fits[0]),
                fit.complaint or "none",
            )
        )  # fmt: skip
    header = ("agent", "productions", "w_m (95 %)", "w_p (95 %)", "AIC above best", "best observer", "doubts")
    return Table("BLS observer with the prior of training", header, tuple(rows), "Intervals by profile likelihood.")


def rivals_table(study: Study) -> Table:
    """The best Bayesian observer beside models without a prior."""
    rows = []
    for _, found in rows_of(study):
        result = found.rivals
        if result is None:
            continue
        bayesian, clock, normals = (result.best(family) for family in ("bayesian", "clock", "normals"))
        ceiling = dict(clock.parameters)["ceiling"]
        longest = [number(float(values[-1]), 1, "+") for values in (result.bias, result.bias - bayesian.residual)]
        rows.append(
            (
                found.name, bayesian.name, number(clock.aic - bayesian.aic, 0, "+"), number(ceiling, 0),
                number(normals.aic - bayesian.aic, 0, "+"), *longest,
                f"{share(float(bayesian.misplaced.mean()))}{' (rejected)' if bayesian.rejected else ''}",
                f"{share(float(clock.misplaced.mean()))}{' (rejected)' if clock.rejected else ''}",
            )
        )  # fmt: skip
    header = (
        "agent", "best Bayesian observer", "AIC of a clock with an end, minus it", "its end, frames",
        "AIC of normals, minus it", "bias at the longest", "the observer's", "observer misplaces", "clock misplaces",
    )  # fmt: skip
    note = (
        "A negative difference speaks against the observer. “Misplaces”: share of productions that would have to "
        "change bins to agree with the model, mean over intervals; rejected by chi-square at p < 0.01, which counts "
        "trials as independent. Bias in frames."
    )
    return Table("The observer and its rivals", header, tuple(rows), note)
