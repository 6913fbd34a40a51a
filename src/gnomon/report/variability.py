"""The page's sections on the spread of productions: scalar variability, and the Bayesian observer."""

import math

import numpy as np
from matplotlib.axes import Axes

from gnomon.analysis.observer_fit import ObserverFit, predict
from gnomon.report.figures.observer import (
    Prediction,
    draw_comparison,
    draw_observer_mean,
    draw_observer_sd,
    draw_profile,
    named,
)
from gnomon.report.figures.performance import words
from gnomon.report.figures.scalar_variability import draw_scalar_variability, draw_weber_fraction
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section, Table
from gnomon.report.sections import chief_panels, chief_rows, missing
from gnomon.report.study import Findings, Study
from gnomon.report.wording import listed, number, over_seeds, sentence, share, shares_over_seeds, within


def scalar_variability(study: Study, gallery: Gallery) -> Section:
    def on_spread(axes: Axes, found: Findings) -> None:
        assert found.scalar_variability is not None
        draw_scalar_variability(axes, found.scalar_variability)

    def on_weber(axes: Axes, found: Findings) -> None:
        assert found.scalar_variability is not None
        draw_weber_fraction(axes, found.scalar_variability)

    def has(found: Findings) -> bool:
        return found.scalar_variability is not None

    figures = (
        Figure(
            chief_panels(study, gallery, "spread", has, on_spread, "S.d. of production with the power law"),
            "Spread against interval",
            "A point is the s.d. of single trials with its 95 % bootstrap interval, the curve the fit a + b x^c. c = "
            "1 with a = 0 is Weber's law, c = 0.5 a counter of random events, c near 0 a spread that does not grow.",
            "c = 0.7 for the feedforward agent.",
        ),
        Figure(
            chief_panels(study, gallery, "weber", has, on_weber, "Weber fraction"),
            "Weber fraction",
            "S.d. over mean. Under Weber's law the points lie on a level line; they fall where the noise has a floor, "
            "or grows more slowly than the interval.",
            "does not draw it.",
        ),
    )
    rows, text = [], []
    for family in study.chiefs:
        fits = [each.scalar_variability for each in study.of(family) if each.scalar_variability is not None]
        if fits:
            text.append(
                f"{sentence(words(family.name))}: the s.d. is {over_seeds([f.sd[0] for f in fits], 1)} frames at the "
                f"shortest interval and {over_seeds([f.sd[-1] for f in fits], 1)} at the longest; the power law has c "
                f"= {over_seeds([f.c for f in fits])} and explains {shares_over_seeds([f.r_squared for f in fits])} of "
                "the differences."
            )
    for _, found in chief_rows(study):
        fit = found.scalar_variability
        if fit is not None:
            rows.append(
                (
                    found.name, f"{number(fit.a, 1)} ({within(fit.a_interval, 1)})", f"{fit.b:.3g}",
                    f"{number(fit.c)} ({within(fit.c_interval)})", share(fit.r_squared),
                    number(fit.weber_fraction[-1], 3),
                )
            )  # fmt: skip
    header = ("agent", "a, frames (95 %)", "b", "c (95 %)", "explained", "Weber fraction, longest")
    note = "The three parameters trade off against each other, and c is held between 0.05 and 4: mind the intervals."
    table = Table("s.d. = a + b x^c", header, tuple(rows), note)
    return Section("4. Scalar variability", (*text, *missing(study, "scalar variability")), figures, (table,))


def observer(study: Study, gallery: Gallery) -> Section:
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

    def on_comparison(axes: Axes, found: Findings) -> None:
        assert found.comparison is not None
        draw_comparison(axes, found.comparison)

    def has(found: Findings) -> bool:
        return found.production is not None and found.observer is not None

    figures = (
        Figure(
            chief_panels(study, gallery, "observer-mean", has, on_mean, "Mean production and the fitted observer"),
            "Mean production, agent and observer",
            "Points on the curve mean that the observer explains the bias: a noisy measurement is drawn towards the "
            "middle of the intervals it expects. The fit sees single trials, not these means.",
            "the Bayesian least-squares (BLS) observer of Jazayeri & Shadlen describes the means.",
        ),
        Figure(
            chief_panels(study, gallery, "observer-sd", has, on_sd, "S.d. of production and the fitted observer"),
            "Spread, agent and observer",
            "The observer's spread comes from two Weber fractions only, so points far from the curve mean noise of "
            "another kind: a floor, or lapses.",
            "shows the same model's predictions beside the agent's.",
        ),
        Figure(
            chief_panels(
                study, gallery, "profile", lambda f: has(f) and f.profile is not None, on_profile, "Likelihood"
            ),
            "How well the two Weber fractions are known",
            "The shaded areas hold the pairs that the data do not rule out; the cross is the estimate, its arms the "
            "95 % profile intervals. A long area aslant means that one can be bought with the other.",
            "prints no uncertainty; such models are poorly identified, so it is shown here.",
        ),
        Figure(
            chief_panels(study, gallery, "comparison", has, on_comparison, "AIC of several observers", (6.4, 3.8)),
            "Which observer explains the productions best",
            "AIC above the best one, logarithmic beyond 10: from there on little speaks for the longer bar. A star "
            "marks fits that ran into their bounds.",
            "fits the BLS observer alone.",
        ),
    )
    rows, text = [], []
    for family in study.chiefs:
        best = [each.comparison.fits[0] for each in study.of(family) if each.comparison is not None]
        fits = [each.observer for each in study.of(family) if each.observer is not None]
        if fits:
            text.append(
                f"{sentence(words(family.name))}: the BLS observer has w_m = {over_seeds([f.w_m for f in fits], 3)} "
                f"(measurement) and w_p = {over_seeds([f.w_p for f in fits], 3)} (production). Of the six observers "
                f"compared, the best by AIC is {listed(list(dict.fromkeys(named(f) for f in best)))}."
            )
    for _, found in chief_rows(study):
        fit, surface = found.observer, found.profile
        if fit is None or found.comparison is None:
            continue
        sure = surface if surface is not None and not fit.complaint else None
        nothing = (math.nan, math.nan)
        rows.append(
            (
                found.name, f"{fit.n:,}",
                f"{number(fit.w_m, 3)} ({within(sure.w_m_interval if sure else nothing, 3)})",
                f"{number(fit.w_p, 3)} ({within(sure.w_p_interval if sure else nothing, 3)})",
                number(fit.aic - found.comparison.fits[0].aic, 1), named(found.comparison.fits[0]),
                fit.complaint or "none",
            )
        )  # fmt: skip
    header = ("agent", "productions", "w_m (95 %)", "w_p (95 %)", "AIC above best", "best observer", "doubts")
    table = Table("BLS observer with the prior of training", header, tuple(rows), "Intervals by profile likelihood.")
    return Section("5. The Bayesian observer", (*text, *missing(study, "observer")), figures, (table,))
