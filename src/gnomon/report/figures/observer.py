"""The Bayesian observer beside the subject: what it predicts, how well its noise is known, which observer fits best."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from gnomon.analysis.goodness_of_fit import Family
from gnomon.analysis.observer_fit import ObserverFit
from gnomon.analysis.observer_rivals import Rivals
from gnomon.analysis.observer_uncertainty import Profile
from gnomon.analysis.performance import Production
from gnomon.report.figures.performance import PRODUCTION_LABEL, ROOM, SAMPLE_LABEL, draw_identity
from gnomon.report.figures.style import ACCENT, FAINT, INK, interval_colours, legend_above

# Of the log likelihood below its maximum: chi-square with two degrees of freedom, halved.
DROPS = {"99 %": 4.605, "95 %": 2.996, "50 %": 0.693}
SHADES = ("#dbe9f4", "#9cc6e0", "#4a93c4")  # between them, the surest darkest
LINEAR = 10.0  # AIC units up to which the comparison's axis is linear, logarithmic from there


class Prediction(NamedTuple):
    """What a fitted observer produces: `Prediction(t_s, *predict(fitted, t_s))`. All [X], frames.

    Take the subject's own sample intervals: between those of a discrete prior the observer's spread swings up and down.
    """

    sample_interval: NDArray[np.float64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


def draw_observer_mean(axes: Axes, result: Production, fitted: ObserverFit, predicted: Prediction) -> None:
    """Mean production interval, of the subject (points) and of the fitted observer (curve).

    How to read it: points on the curve mean that the observer explains the bias: the curve leaves the dashed identity
    line towards the middle of the intervals because a noisy measurement is drawn towards the prior. The fit sees
    single trials, not these means. The paper: fits this observer to its feedforward agent, and finds an approximate
    agreement, above all of the bias at both ends.
    """
    draw_identity(axes, float(result.sample_interval.max()))
    label = f"{named(fitted)}: $w_m$ = {fitted.w_m:.3f}, $w_p$ = {fitted.w_p:.3f}"
    axes.plot(predicted.sample_interval, predicted.mean, color=ACCENT, label=label, zorder=2)
    draw_points(axes, result, result.mean)
    axes.set(xlabel=SAMPLE_LABEL, ylabel="mean " + PRODUCTION_LABEL, ylim=(0, None))
    legend_above(axes)


def draw_observer_sd(axes: Axes, result: Production, fitted: ObserverFit, predicted: Prediction) -> None:
    """S.d. of the production interval, of the subject (points) and of the fitted observer (curve).

    How to read it: the observer's spread comes from two Weber fractions only, so points far from the curve mean noise
    of another kind (a floor, lapses). At the longest intervals the prior holds the spread down.
    """
    axes.plot(predicted.sample_interval, predicted.sd, color=ACCENT, label=named(fitted), zorder=2)
    draw_points(axes, result, result.sd)
    end = float(result.sample_interval.max()) * (1 + ROOM)
    axes.set(xlabel=SAMPLE_LABEL, ylabel="s.d. of $t_p$ (frames)", xlim=(0, end), ylim=(0, None))
    legend_above(axes)


def draw_points(axes: Axes, result: Production, values: NDArray[np.float64]) -> None:
    """The subject's value (frames) at each sample interval that has one."""
    colours = interval_colours(result.sample_interval.tolist())
    for interval, value in zip(result.sample_interval.tolist(), values, strict=True):
        if np.isfinite(value):
            axes.plot(interval, value, "o", color=colours[interval], mec=INK, mew=0.5, zorder=3)


def draw_profile(axes: Axes, fitted: ObserverFit, surface: Profile) -> None:
    """How well the two Weber fractions are known: the log likelihood around the estimate.

    How to read it: the shaded areas hold the pairs (w_m, w_p) that the data do not rule out (50, 95 and 99 %); the
    cross is the estimate, its arms the 95 % profile intervals. A long area aslant means that one can be bought with the
    other: such models are poorly identified. An arm is missing where the grid ends before the interval.
    """
    best = max(fitted.log_likelihood, float(surface.log_likelihood.max()))
    below = surface.log_likelihood.T - best  # [H, G], at most 0
    levels = [-drop for drop in DROPS.values()]
    axes.contourf(surface.w_m, surface.w_p, below, levels=[*levels, 0.001], colors=SHADES)
    crossed = [level for level in levels if below.min() < level < below.max()]  # a small grid may miss some
    if crossed:
        thin = {"colors": INK, "linewidths": 0.7, "linestyles": "solid"}
        lines = axes.contour(surface.w_m, surface.w_p, below, levels=crossed, **thin)
        axes.clabel(lines, fmt=dict(zip(levels, DROPS, strict=True)), fontsize=9)
    w_m, w_p = fitted.w_m, fitted.w_p
    for end_m, end_p in zip(surface.w_m_interval, surface.w_p_interval, strict=True):  # nan: no arm
        axes.plot((w_m, end_m), (w_p, w_p), color=ACCENT, lw=1.3)
        axes.plot((w_m, w_m), (w_p, end_p), color=ACCENT, lw=1.3)
    axes.plot(w_m, w_p, "o", color=ACCENT, ms=7, mec="white", mew=1)
    axes.set(xlabel="$w_m$, noise of measurement", ylabel="$w_p$, noise of production")
    axes.set_title(f"{named(fitted)}, {fitted.n:,} productions")


def named(fitted: ObserverFit) -> str:
    """An observer as words: "BLS, discrete prior"."""
    prior = "" if fitted.prior == "none" else f", {fitted.prior} prior"
    lapses = " and lapses" if fitted.lapse_fitted else ""
    kind = fitted.observer if fitted.observer == "identity" else fitted.observer.upper()
    return kind + prior + lapses


# Each family of models keeps its look in every panel.
RIVAL_LOOKS: dict[Family, tuple[str, str]] = {
    "bayesian": ("o", "#0072b2"),
    "no_prior": ("^", "#009e73"),
    "clock": ("s", "#d55e00"),
    "normals": ("D", FAINT),
}


def draw_rival_bias(axes: Axes, result: Rivals) -> None:
    """The bias at each sample interval, of the subject and of the best Bayesian observer and the clock with an end.

    How to read it: black points are the subject's bias with its 95 % interval; a line through them explains it. A
    Bayesian observer is biased towards the mean at both ends, a clock that runs out only at the long end.
    """
    axes.axhline(0, color=FAINT, lw=1.1, ls=(0, (4, 3)), zorder=1)
    for family in ("bayesian", "clock"):
        model = result.best(family)
        marker, colour = RIVAL_LOOKS[family]
        fitted = "does not fit" if model.rejected else "fits"
        label = f"{model.name} ({fitted}; $R^2$ of bias {model.r2_bias:.2f})"
        bias = model.predicted_mean - result.sample_interval
        axes.plot(result.sample_interval, bias, color=colour, marker=marker, ms=4, label=label, zorder=2)
    bars = np.abs(result.bias_interval - result.bias[:, None]).T  # [2, I] below, above; nan: no bar
    axes.errorbar(result.sample_interval, result.bias, bars, fmt="o", color=INK, elinewidth=1.3, zorder=3)
    end = float(result.sample_interval.max()) * (1 + ROOM)
    axes.set(xlabel=SAMPLE_LABEL, ylabel="bias of $t_p$ (frames)", xlim=(0, end))
    legend_above(axes)


def draw_rivals(axes: Axes, result: Rivals) -> None:
    """All models by AIC above the best one, coloured by family; a cross marks those that the chi-square test rejects.

    How to read it: the best is on top. That a model is the best does not mean that it fits: look for the cross, and at
    the share of productions that it puts into the wrong bin, written at the end of its bar.
    """
    deltas = [model.aic - result.models[0].aic for model in result.models]
    for row, (model, delta) in enumerate(zip(result.models, deltas, strict=True)):
        axes.barh(row, delta, 0.55, color=RIVAL_LOOKS[model.family][1], zorder=2)
        cross = " ×" if model.rejected else ""
        misplaced = f", {100 * model.mean_misplaced:.0f} % misplaced" if np.isfinite(model.mean_misplaced) else ""
        said = f"{delta:,.0f}{misplaced}{cross}"
        axes.annotate(said, (delta, row), (5, 0), textcoords="offset points", va="center", color=INK, fontsize=9)
    axes.set_xscale("symlog", linthresh=LINEAR)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda delta, _: f"{delta:,g}"))
    axes.set_yticks(range(len(deltas)), [model.name for model in result.models], fontsize=9.5)
    axes.tick_params(axis="y", length=0)
    room = 40 * max(max(deltas), LINEAR)  # for the words, on a logarithmic axis
    axes.set(xlabel="AIC above the best", xlim=(0, room), ylim=(len(deltas) - 0.5, -0.5))
