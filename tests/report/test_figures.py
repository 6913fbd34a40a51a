"""Figures of analyses 1 to 4: each shows just what its result says, and draws whatever a result may hold."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
import pytest
from figure_parts import TRAINED, bars_of, drawn, legend_of
from matplotlib.collections import PolyCollection
from matplotlib.colors import same_color
from matplotlib.container import ErrorbarContainer
from matplotlib.patches import StepPatch

from gnomon.analysis.generalisation import Generalisation
from gnomon.analysis.performance import Production, learning_curve, production
from gnomon.analysis.scalar_variability import ScalarVariability
from gnomon.report.figures.generalisation import draw_generalisation
from gnomon.report.figures.performance import (
    draw_bias_variance,
    draw_histograms,
    draw_learning_curves,
    draw_production,
    words,
)
from gnomon.report.figures.scalar_variability import (
    draw_scalar_residual,
    draw_scalar_variability,
    draw_weber_fraction,
)
from gnomon.report.figures.style import (
    KNOWN_AGENTS,
    STYLE,
    agent_colours,
    interval_colours,
    luminance,
    panels,
    save,
    styled,
)

# Style


def test_interval_colours_go_from_light_to_dark_whatever_the_order_given() -> None:
    colours = interval_colours([100, 10, 50, 30, 10])
    assert list(colours) == [10, 30, 50, 100]
    lights = [luminance(colour) for colour in colours.values()]
    assert all(first - second > 0.05 for first, second in pairwise(lights))
    assert lights[0] < 0.7  # seen on white
    assert all(len(colour) == 4 and colour[3] == 1 for colour in colours.values())
    assert len(interval_colours([40])) == 1
    assert interval_colours([]) == {}


def test_luminance_of_known_colours() -> None:
    assert luminance((1, 1, 1, 1)) == pytest.approx(1)
    assert luminance((0, 0, 0, 1)) == 0
    assert luminance((0, 1, 0, 1)) == pytest.approx(0.7152)
    assert luminance((0.5, 0.5, 0.5, 1)) == pytest.approx(0.2140, abs=1e-4)


def test_agents_keep_their_colours_and_no_two_share_one() -> None:
    alone, names = agent_colours(["lstm"]), ["other", "feedforward", "another", "lstm", "gru"]
    together = agent_colours(names)
    assert list(together) == names
    assert together["lstm"] == alone["lstm"]
    assert len(set(together.values())) == len(names)
    most = [*(f"agent{index}" for index in range(6)), *KNOWN_AGENTS]
    assert len(set(agent_colours(most).values())) == 12
    with pytest.raises(ValueError, match=r"13 agents cannot be told apart .* at most 12"):
        agent_colours([*most, "one more"])


def test_save_writes_the_same_bytes_every_time(tmp_path: Path, produced: Production) -> None:
    def saved(folder: str) -> tuple[bytes, bytes]:
        with styled():
            figure, axes = panels(1, 2)
            draw_production(axes[0, 0], produced)
            draw_histograms(axes[0, 1], produced)
        png, svg = save(figure, tmp_path / folder / "agent.v2")
        assert [png.name, svg.name] == ["agent.v2.png", "agent.v2.svg"]
        return png.read_bytes(), svg.read_bytes()

    first, second = saved("first"), saved("second")
    assert first[0].startswith(b"\x89PNG")
    assert b"<svg" in first[1]
    assert b"sample interval" in first[1]  # words stay words
    assert first == second


def test_style_ends_with_its_context() -> None:
    before = matplotlib.rcParams["axes.spines.top"]
    with styled():
        assert matplotlib.rcParams["axes.spines.top"] is False
    assert matplotlib.rcParams["axes.spines.top"] == before
    letters = [
        size for name, size in STYLE.items() if name.endswith(("font.size", "titlesize", "labelsize", "fontsize"))
    ]
    assert len(letters) == 6
    assert min(letters) >= 9  # points, legible on a phone


# Performance


def metrics(scale: float) -> pl.DataFrame:
    frames = np.linspace(0, 4e6, 9)
    return pl.DataFrame({"frames": frames, "minutes": frames / 1e6, "reward_rate": scale * frames / 1e6})


@pytest.mark.parametrize(("x", "label"), [("frames", "frames (millions)"), ("minutes", "training time (minutes)")])
def test_learning_curves(x, label: str) -> None:
    curves = {
        "lstm": learning_curve([metrics(1), metrics(2)], x, points=5),
        "frozen_lstm": learning_curve([metrics(0.1)], x, points=5),
    }
    axes = drawn(lambda axes: draw_learning_curves(axes, curves))
    lines = {str(line.get_label()): line for line in axes.lines}
    for name, curve in (("LSTM (2 seeds)", curves["lstm"]), ("frozen LSTM (1 seed)", curves["frozen_lstm"])):
        np.testing.assert_array_equal(lines[name].get_xdata(), curve.grid)
        np.testing.assert_array_equal(lines[name].get_ydata(), curve.mean)
    assert legend_of(axes) == ["LSTM (2 seeds)", "frozen LSTM (1 seed)"]
    (band,) = axes.collections  # a single seed has no s.d.
    vertices = band.get_paths()[0].vertices
    top = curves["lstm"].mean[-1] + curves["lstm"].sd[-1]
    assert np.asarray(vertices)[:, 1].max() == pytest.approx(top)
    assert axes.get_xlabel() == label
    ticks = [float(text.get_text()) for text in axes.get_xticklabels()]
    assert ticks == [0, 1, 2, 3, 4]  # millions, or minutes


def test_learning_curves_do_not_mix_frames_and_minutes() -> None:
    mixed = {"a": learning_curve([metrics(1)]), "b": learning_curve([metrics(1)], "minutes")}
    with styled():
        _, axes = panels()
    with pytest.raises(ValueError, match=r"curves run over \['frames', 'minutes'\]"):
        draw_learning_curves(axes[0, 0], mixed)
    with pytest.raises(ValueError, match="curves run over nothing"):
        draw_learning_curves(axes[0, 0], {})


def test_production(produced: Production) -> None:
    axes = drawn(lambda axes: draw_production(axes, produced))
    expected = [produced.sample_interval, produced.mean, produced.mean - produced.sd, produced.mean + produced.sd]
    np.testing.assert_allclose(bars_of(axes), np.transpose(expected))
    (tolerance,) = [artist for artist in axes.collections if isinstance(artist, PolyCollection)]
    corners = np.asarray(tolerance.get_paths()[0].vertices)
    np.testing.assert_allclose(np.unique(np.abs(corners[:, 1] - corners[:, 0])), produced.tolerance)
    identity = axes.lines[0]
    np.testing.assert_array_equal(identity.get_xdata(), identity.get_ydata())
    assert axes.get_ylim()[1] > (produced.mean + produced.sd).max()
    assert axes.get_xlabel() == "sample interval $t_s$ (frames)"


def test_production_of_an_interval_without_answers_or_with_one(produced: Production) -> None:
    mean, sd, answers = produced.mean.copy(), produced.sd.copy(), produced.n_productions.copy()
    mean[0], sd[0], answers[0] = np.nan, np.nan, 0
    sd[1], answers[1] = np.nan, 1
    poor = replace(produced, mean=mean, sd=sd, n_productions=answers)
    bars = bars_of(drawn(lambda axes: draw_production(axes, poor)))
    assert [bar[0] for bar in bars] == [20, 30, 40]
    assert np.isnan(bars[0][2])


def test_histograms_are_the_counts_of_each_row(produced: Production) -> None:
    axes = drawn(lambda axes: draw_histograms(axes, produced))
    steps = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    colours = interval_colours(produced.sample_interval.tolist())
    assert len(steps) == len(TRAINED)
    for row, step in enumerate(steps):
        values, edges, _ = step.get_data()
        heights = values - row
        counts = produced.histogram[row, : len(heights)]
        np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
        np.testing.assert_array_equal(edges, produced.histogram_edges[: len(heights) + 1])
        assert heights.max() < 1  # rows do not overlap
        assert same_color(step.get_facecolor(), colours[TRAINED[row]])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["10", "20", "30", "40"]
    assert not axes.texts


def test_histograms_count_what_lies_beyond() -> None:
    rows = [(10, 10), (10, 95), (10, 99), (20, 21), (20, 39)]
    table = pl.DataFrame(rows, schema=["sample_interval", "production_interval"], orient="row")
    table = table.with_columns(task=pl.lit("ready_set_go"), outcome=pl.lit("wrong"), lane=0)
    result = production(table, n_bootstrap=5)
    axes = drawn(lambda axes: draw_histograms(axes, result))
    assert [text.get_text() for text in axes.texts] == ["2 beyond"]
    assert axes.get_xlim() == (0, 40)


def test_bias_and_variance(produced: Production) -> None:
    biased = replace(produced, error=replace(produced.error, bias=9.0, variance=16.0, rmse=float(np.sqrt(97))))
    axes = drawn(lambda axes: draw_bias_variance(axes, {"lstm": produced, "gru": biased}))
    points = {str(line.get_label()): np.asarray(line.get_xydata())[0] for line in axes.lines}
    np.testing.assert_allclose(points["GRU"], [4, 9])
    np.testing.assert_allclose(points["LSTM"], [np.sqrt(produced.error.variance), produced.error.bias])
    assert axes.get_xlim() == axes.get_ylim()
    with pytest.raises(ValueError, match="results is empty"):
        draw_bias_variance(axes, {})


def test_a_perfect_agent_has_a_place_in_the_corner(produced: Production) -> None:
    perfect = replace(produced, error=replace(produced.error, bias=0.0, variance=0.0, rmse=0.0))
    axes = drawn(lambda axes: draw_bias_variance(axes, {"perfect": perfect}))
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[0, 0]])


def test_names_as_words() -> None:
    names = ("lstm", "frozen_lstm", "lstm_10step", "feedforward", "lstm32")
    assert [words(name) for name in names] == ["LSTM", "frozen LSTM", "LSTM 10-step", "feedforward", "LSTM 32"]


# Generalisation and scalar variability


def test_generalisation(generalised: Generalisation) -> None:
    axes = drawn(lambda axes: draw_generalisation(axes, generalised))
    by_kind = {str(container.get_label()).split(",")[0]: container for container in axes.containers}
    assert list(by_kind) == ["trained", "interpolated", "below", "above"]
    for kind, intervals in (("trained", TRAINED), ("interpolated", (25,)), ("below", (5,)), ("above", (50,))):
        container = by_kind[kind]
        assert isinstance(container, ErrorbarContainer)
        points = container.lines[0]
        assert points is not None
        chosen = np.isin(generalised.sample_interval, intervals)
        np.testing.assert_array_equal(points.get_xdata(), intervals)
        np.testing.assert_array_equal(points.get_ydata(), generalised.mean[chosen])
    markers = {str(container.lines[0].get_marker()) for container in by_kind.values()}  # pyright: ignore
    assert len(markers) == 4
    shade = axes.patches[0].get_extents().transformed(axes.transData.inverted())
    np.testing.assert_allclose([shade.x0, shade.x1], [10, 40])
    slopes = legend_of(axes)
    low, high = generalised.trained.slope_interval
    assert slopes[0] == f"trained, slope {generalised.trained.slope:.2f} ({low:.2f} to {high:.2f})"
    assert slopes[1] == "interpolated"  # one interval has no slope


def test_generalisation_without_trained_or_answered_intervals(generalised: Generalisation) -> None:
    untrained = replace(generalised, kind=("above",) * len(generalised.kind))
    axes = drawn(lambda axes: draw_generalisation(axes, untrained))
    assert not axes.patches
    assert len(axes.containers) == 1
    silent = generalised.n_productions * (np.array(generalised.kind) != "interpolated")
    axes = drawn(lambda axes: draw_generalisation(axes, replace(generalised, n_productions=silent)))
    assert len(axes.containers) == 3


def test_scalar_variability(spread: ScalarVariability) -> None:
    axes = drawn(lambda axes: draw_scalar_variability(axes, spread))
    expected = np.column_stack([spread.sample_interval, spread.sd, spread.sd_interval])
    np.testing.assert_allclose(bars_of(axes), expected)
    curve = axes.lines[0]
    t_s = np.asarray(curve.get_xdata())
    assert (t_s[0], t_s[-1]) == (5, 50)
    np.testing.assert_allclose(np.asarray(curve.get_ydata()), spread.a + spread.b * t_s**spread.c)
    corners = {tuple(corner) for corner in np.asarray(axes.collections[0].get_paths()[0].vertices).tolist()}
    for interval, (low, high) in zip(spread.sample_interval.tolist(), spread.curve_interval.tolist(), strict=True):
        assert {(interval, low), (interval, high)} <= corners
    assert f"$c$ = {spread.c:.2f}" in legend_of(axes)[0]


def test_scalar_variability_at_a_bound(spread: ScalarVariability) -> None:
    axes = drawn(lambda axes: draw_scalar_variability(axes, replace(spread, c=0.05 + 3e-9, b=0.0)))
    assert "at its bound" in legend_of(axes)[0]


def test_weber_fraction(spread: ScalarVariability) -> None:
    axes = drawn(lambda axes: draw_weber_fraction(axes, spread))
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), spread.weber_fraction)
    assert axes.get_ylim()[1] > spread.weber_fraction.max()
    fractions = spread.weber_fraction.copy()
    fractions[0] = np.inf  # of productions that are all 0
    drawn(lambda axes: draw_weber_fraction(axes, replace(spread, weber_fraction=fractions)))


def test_the_residual_of_the_power_law(spread: ScalarVariability) -> None:
    axes = drawn(lambda axes: draw_scalar_residual(axes, spread))
    expected = np.column_stack([spread.sample_interval, spread.residual])
    np.testing.assert_allclose([bar[:2] for bar in bars_of(axes)], expected)
    known = "c known" if spread.identified else "c not identified"
    assert legend_of(axes) == [f"$R^2$ = {spread.r_squared:.2f}, {known}, widest at {spread.widest} frames"]


def test_histograms_share_one_scale(produced: Production) -> None:
    axes = drawn(lambda axes: draw_histograms(axes, produced))
    shares = produced.histogram / produced.histogram.sum(axis=1, keepdims=True)
    steps = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    heights = [float((np.asarray(step.get_data()[0]) - row).max()) for row, step in enumerate(steps)]
    np.testing.assert_allclose(heights, 0.86 * shares.max(axis=1) / shares.max())
