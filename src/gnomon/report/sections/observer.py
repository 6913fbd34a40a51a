"""The Bayesian observer, its rivals, and how well it fits."""

import math
from functools import wraps

import numpy as np
from matplotlib.axes import Axes

from gnomon.analysis.observer_fit import ObserverFit, predict
from gnomon.analysis.observer_uncertainty import Profile
from gnomon.analysis.performance import Production
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
from gnomon.report.page import Section, Table
from gnomon.report.panels import family_figure, missing, rows_of
from gnomon.report.wording import estimated, number, over_seeds, sentence, share
from gnomon.study.files import Study
from gnomon.study.findings import Findings


def section(study: Study, gallery: Gallery) -> Section:
    figures = (
        family_figure(
            study, gallery, "observer-mean", fitted, on_mean,
            "Mean production, agent and observer", "Mean production and the fitted observer",
        ),
        family_figure(
            study, gallery, "observer-sd", fitted, on_sd,
            "Spread, agent and observer", "S.d. of production and the fitted observer",
        ),
        family_figure(
            study, gallery, "profile", profiled, on_profile,
            "How well the two Weber fractions are known", "Likelihood of the two Weber fractions",
        ),
        family_figure(
            study, gallery, "rival-bias", lambda found: found.rivals, draw_rival_bias,
            "The bias, and two models of it", "Bias of agent, observer and clock",
        ),
        family_figure(
            study, gallery, "rivals", lambda found: found.rivals, draw_rivals,
            "Which model explains the productions best", "AIC of all models", (6.8, 4.2),
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


def fitted(found: Findings) -> tuple[Production, ObserverFit] | None:
    return None if found.production is None or found.observer is None else (found.production, found.observer)


def profiled(found: Findings) -> tuple[ObserverFit, Profile] | None:
    both = fitted(found)
    return None if both is None or found.profile is None else (both[1], found.profile)


def predicted(observer: ObserverFit) -> Prediction:
    t_s = np.linspace(observer.intervals[0], observer.intervals[-1], 91)
    return Prediction(t_s, *predict(observer, t_s))


@wraps(draw_observer_mean)
def on_mean(axes: Axes, result: tuple[Production, ObserverFit]) -> None:
    draw_observer_mean(axes, *result, predicted(result[1]))


@wraps(draw_observer_sd)
def on_sd(axes: Axes, result: tuple[Production, ObserverFit]) -> None:
    draw_observer_sd(axes, *result, predicted(result[1]))


@wraps(draw_profile)
def on_profile(axes: Axes, result: tuple[ObserverFit, Profile]) -> None:
    draw_profile(axes, *result)


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
                f"{share(bayesian.mean_misplaced)}{' (rejected)' if bayesian.rejected else ''}",
                f"{share(clock.mean_misplaced)}{' (rejected)' if clock.rejected else ''}",
            )
        )  # fmt: skip
    header = (
        "agent", "best Bayesian observer", "AIC of a clock with an end, minus it", "its end, frames",
        "AIC of normals, minus it", "bias at the longest", "the observer's", "observer misplaces", "clock misplaces",
    )  # fmt: skip
    note = (
        "A negative difference speaks against the observer. “Misplaces”: share of productions that would have to "
        "change bins to agree with the model, mean over intervals; rejected by chi-square at p < 0.01, which counts "
        "trials as independent. Normals and the clock may lapse, and so may some of the observers, unlike in the table "
        "above. Bias in frames."
    )
    return Table("The observer and its rivals", header, tuple(rows), note)
