"""Figures of analyses 5 and 8 show just what their results say, and draw whatever a result may hold."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from figure_parts import bars_of, drawn, legend_of
from matplotlib.figure import Figure

from gnomon.analysis.observer_fit import Comparison, ObserverFit, predict
from gnomon.analysis.observer_rivals import Rivals, rivals
from gnomon.analysis.observer_uncertainty import profile
from gnomon.analysis.performance import Production, production
from gnomon.analysis.variants import Variant, Variants
from gnomon.report.figures.observer import (
    Prediction,
    draw_observer_mean,
    draw_observer_sd,
    draw_profile,
    draw_rival_bias,
    draw_rivals,
)
from gnomon.report.figures.style import (
    styled,
)
from gnomon.report.figures.variants import draw_variants, variants_panels

# The observer


def test_observer_beside_the_subject(produced: Production, fitted: ObserverFit) -> None:
    t_s = produced.sample_interval.astype(float)
    predicted = Prediction(t_s, *predict(fitted, t_s))
    axes = drawn(lambda axes: draw_observer_mean(axes, produced, fitted, predicted))
    identity, curve, *points = axes.lines
    np.testing.assert_array_equal(identity.get_xdata(), identity.get_ydata())
    np.testing.assert_array_equal(curve.get_ydata(), predicted.mean)
    np.testing.assert_array_equal([np.asarray(point.get_ydata())[0] for point in points], produced.mean)
    assert legend_of(axes) == [f"BLS, discrete prior: $w_m$ = {fitted.w_m:.3f}, $w_p$ = {fitted.w_p:.3f}"]

    axes = drawn(lambda axes: draw_observer_sd(axes, produced, fitted, predicted))
    curve, *points = axes.lines
    np.testing.assert_array_equal(curve.get_ydata(), predicted.sd)
    np.testing.assert_array_equal([np.asarray(point.get_ydata())[0] for point in points], produced.sd)
    sd = produced.sd.copy()
    sd[0] = np.nan
    fewer = drawn(lambda axes: draw_observer_sd(axes, replace(produced, sd=sd), fitted, predicted))
    assert len(fewer.lines) == len(axes.lines) - 1


def test_profile(fitted: ObserverFit) -> None:
    surface = profile(fitted, fitted.w_m * np.linspace(0.5, 1.6, 7), fitted.w_p * np.linspace(0.3, 2.5, 8))
    axes = drawn(lambda axes: draw_profile(axes, fitted, surface))
    np.testing.assert_array_equal(axes.lines[-1].get_xydata(), [[fitted.w_m, fitted.w_p]])
    arms = [np.asarray(line.get_xydata()) for line in axes.lines[:-1]]
    assert [arm[1, 0] for arm in arms[::2]] == pytest.approx(list(surface.w_m_interval), nan_ok=True)
    assert [arm[1, 1] for arm in arms[1::2]] == pytest.approx(list(surface.w_p_interval), nan_ok=True)
    assert axes.get_xlim() == (surface.w_m[0], surface.w_m[-1])  # w_m runs along x
    assert axes.get_ylim() == (surface.w_p[0], surface.w_p[-1])


def test_profile_of_a_flat_likelihood(fitted: ObserverFit) -> None:
    surface = profile(fitted, fitted.w_m * np.array([0.999, 1.001]), fitted.w_p * np.array([0.999, 1.001]))
    assert np.isnan(surface.w_m_interval).all()
    axes = drawn(lambda axes: draw_profile(axes, fitted, surface))
    assert not axes.texts  # no contour to label, and no warning about it


# Rivals


@pytest.fixture(scope="module")
def rival(trials: pl.DataFrame, compared: Comparison) -> Rivals:
    return rivals(trials.filter(~pl.col("probe")), compared, n_bootstrap=20)


def test_rivals_have_a_bar_each_and_say_what_does_not_fit(rival: Rivals) -> None:
    axes = drawn(lambda axes: draw_rivals(axes, rival))
    assert [label.get_text() for label in axes.get_yticklabels()] == [model.name for model in rival.models]
    widths = [bar.get_width() for container in axes.containers for bar in container]  # pyright: ignore
    assert widths == pytest.approx([model.aic - rival.models[0].aic for model in rival.models])
    assert ["×" in text.get_text() for text in axes.texts] == [model.rejected for model in rival.models]


def test_the_bias_of_the_subject_beside_that_of_its_models(rival: Rivals) -> None:
    axes = drawn(lambda axes: draw_rival_bias(axes, rival))
    labelled = {str(line.get_label()).split(" (")[0]: line for line in axes.lines}
    for family in ("bayesian", "clock"):
        model = rival.best(family)
        line = labelled[model.name]
        np.testing.assert_allclose(np.asarray(line.get_ydata()), model.predicted_mean - rival.sample_interval)
    np.testing.assert_allclose([bar[1] for bar in bars_of(axes)], rival.bias)


# Variants


@pytest.fixture(scope="module")
def several(trials: pl.DataFrame) -> Variants:
    usual = trials.filter(~pl.col("probe"))
    late = usual.with_columns(pl.col("production_interval") + 200)
    tables = {"lstm": usual, "gru": late, "rnn": usual}
    agents = [Variant(name, table.height, production(table, n_bootstrap=5)) for name, table in tables.items()]
    return Variants("ready_set_go", (*agents, Variant("frozen_lstm", usual.height, None)))


def test_variants_have_a_panel_each_on_one_scale(several: Variants) -> None:
    with styled():
        figure, every = variants_panels(len(several.agents))
        draw_variants(every, several)
        figure.draw_without_rendering()
    assert isinstance(figure, Figure)
    assert len(figure.axes) == len(every) == 4
    assert [axes.get_title(loc="left") for axes in every] == ["LSTM", "GRU", "RNN", "frozen LSTM"]
    assert {axes.get_ylim() for axes in every} == {(0, 1.35 * 40)}
    first = several.agents[0].production
    assert first is not None
    np.testing.assert_array_equal([bar[1] for bar in bars_of(every[0])], first.mean)
    triangles = [[line.get_marker() for line in axes.lines].count("^") for axes in every]
    assert triangles == [0, 4, 0, 0]  # the late agent's means are beyond
    assert [text.get_text() for text in every[3].texts] == [
        f"no answer to Set\nin {several.agents[3].n_trials:,} trials"
    ]
    with pytest.raises(ValueError, match="3 axes for 4 agents"):
        draw_variants(every[:3], several)


def test_one_silent_variant(several: Variants) -> None:
    alone = replace(several, agents=several.agents[3:])
    with styled():
        figure, every = variants_panels(1)
        draw_variants(every, alone)
        figure.draw_without_rendering()
    assert len(figure.axes) == 1
