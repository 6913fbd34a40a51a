"""Figures of units and gaze show the numbers of their results, whatever these hold."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from gnomon.analysis.bootstrap import Estimate
from gnomon.analysis.counter import counter
from gnomon.analysis.decoder import Decoder
from gnomon.analysis.gaze import GazePaths, IntervalGaze, Movement
from gnomon.analysis.gaze_strategy import Branch, Expansion, GazeStrategy, Hold, Shift
from gnomon.analysis.units import Population, Trajectory
from gnomon.lab.tasks.ready_set_go import PAPER
from gnomon.report.figures.gaze import (
    MEASURES,
    draw_branch,
    draw_mean_paths,
    draw_movement,
    draw_shift,
    draw_single_paths,
)
from gnomon.report.figures.style import interval_colours, styled
from gnomon.report.figures.units import (
    FEWEST,
    draw_component,
    draw_decoder,
    draw_interval_key,
    draw_trajectories,
)

INTERVALS = (10, 20, 30)
RNG = np.random.default_rng(0)


def decoder(event: str) -> Decoder:
    n = np.array([9, 9, 7, FEWEST, FEWEST - 1])
    return Decoder(
        event=event, r2_interval=(0.7, 0.9), n_trials=9,
        n_frames=int(n.sum()), r2=0.81, absolute_error=2.34, chance_r2=0.05, chance_r2_interval=(0.0, 0.1),
        chance_absolute_error=9.87, elapsed=np.arange(5), n_at_elapsed=n, decoded_mean=np.linspace(0.5, 4.5, 5),
        decoded_sd=np.full(5, 0.25), absolute_error_at_elapsed=np.full(5, 2.34),
    )  # fmt: skip


@pytest.fixture(scope="module")
def units() -> Population:
    paths = tuple(Trajectory(t_s, 4, RNG.normal(size=(2 * t_s, 3))) for t_s in INTERVALS)
    found = counter([path.projection[:, 0] for path in paths], np.array(INTERVALS), np.zeros(3, np.int64))
    shares, decoders = np.array([0.6, 0.25, 0.1]), (decoder("ready"), decoder("set"))
    return Population("ready_set_go", "cell", 128, np.zeros((12, 3), np.int64), shares, paths, found, decoders)


def movement(phase: str, t_s: int) -> Movement:
    nothing = float("nan") if t_s == INTERVALS[0] else 0.1
    return Movement(phase, nothing, nothing, 0.001 * t_s, 0.02 * t_s, 0.0)


@pytest.fixture(scope="module")
def gaze() -> GazePaths:
    def interval(t_s: int) -> IntervalGaze:
        phases = (movement("ready_to_set", t_s), movement("set_to_response", 2 * t_s))
        singles = tuple(RNG.uniform(0.2, 0.8, (t_s + n, 2)) for n in (3, 8))
        return IntervalGaze(t_s, 7, RNG.uniform(0.3, 0.6, (t_s + 5, 2)), singles, phases)

    overall = (movement("ready_to_set", 20), movement("set_to_response", 40))
    monitor = (PAPER.cross(), *PAPER.squares())
    return GazePaths("ready_set_go", monitor, np.zeros((21, 3), np.int64), tuple(map(interval, INTERVALS)), overall)


@pytest.fixture
def axes() -> Iterator[Axes]:
    with styled():
        figure = Figure(layout="constrained")
        yield figure.subplots()
        figure.canvas.draw()  # what cannot be drawn, or warns, fails here


def data(line: Line2D) -> NDArray[np.float64]:
    """x, y of a line: [points, 2]."""
    return np.array(line.get_xydata())


def lines(axes: Axes) -> dict[str, Line2D]:
    """The lines of a panel that have a label of their own."""
    return {str(line.get_label()): line for line in axes.lines if not str(line.get_label()).startswith("_")}


def marks(axes: Axes, marker: str) -> NDArray[np.float64]:
    """Where events are marked in this way: [n, 2]."""
    return np.concatenate([data(line) for line in axes.lines if line.get_marker() == marker])


def legend_words(legend: Legend | None) -> list[str]:
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


# Units.


def test_trajectories_lie_in_the_plane_asked_for(axes: Axes, units: Population) -> None:
    draw_trajectories(axes, units, (1, 3))
    colours = interval_colours(INTERVALS)
    paths = [path.projection[:, [0, 2]] for path in units.trajectories]
    for path, plane in zip(units.trajectories, paths, strict=True):
        line = lines(axes)[f"{path.sample_interval}"]
        assert np.array_equal(data(line), plane)
        assert line.get_color() == colours[path.sample_interval]
    assert np.array_equal(marks(axes, "o"), [path[0] for path in paths])
    assert np.array_equal(marks(axes, "s"), [path[t_s] for path, t_s in zip(paths, INTERVALS, strict=True)])
    assert np.array_equal(marks(axes, "^"), [path[-1] for path in paths])
    assert axes.get_ylabel() == "PC 3 (10 % of variance)"


@pytest.mark.parametrize("event", ["ready", "set"])
def test_a_component_is_drawn_in_time(axes: Axes, units: Population, event: str) -> None:
    draw_component(axes, units, event, 2)
    for path in units.trajectories:
        start = -path.sample_interval if event == "set" else 0
        expected = np.column_stack([start + np.arange(len(path.projection)), path.projection[:, 1]])
        assert np.array_equal(data(lines(axes)[f"{path.sample_interval}"]), expected)
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    onsets = [float(np.asarray(line.get_xdata())[0]) for line in dashed]
    assert onsets == ([0.0] if event == "set" else list(INTERVALS))
    assert axes.get_xlabel() == f"frames since {event.capitalize()}"
    assert legend_words(axes.get_legend()) == ["Go"]


def test_the_decoder_is_drawn_where_trials_are_enough(axes: Axes, units: Population) -> None:
    draw_decoder(axes, units, "ready")
    assert np.array_equal(data(axes.lines[-1]), [[0, 0.5], [1, 1.5], [2, 2.5], [3, 3.5]])
    (band,) = (each for each in axes.collections if isinstance(each, FillBetweenPolyCollection))
    corners = np.array(band.get_paths()[0].vertices)
    assert (corners[:, 1].min(), corners[:, 1].max()) == (0.25, 3.75)
    words = " ".join(text.get_text() for text in axes.texts)
    for number in ("R² 0.81 (chance 0.05)", "error 2.3 frames (chance 9.9)", "9 trials"):
        assert number in words


def test_the_key_of_intervals_leaves_the_legend_that_is_there(axes: Axes, units: Population) -> None:
    draw_trajectories(axes, units)
    draw_interval_key(axes, INTERVALS)
    assert legend_words(axes.get_legend()) == ["10", "20", "30"]
    (kept,) = (each for each in axes.artists if isinstance(each, Legend))
    assert legend_words(kept) == ["Ready", "Set", "Go"]


def test_mistakes_about_units_are_named(axes: Axes, units: Population) -> None:
    with pytest.raises(ValueError, match="unknown event 'go'"):
        draw_decoder(axes, units, "go")
    with pytest.raises(ValueError, match="component is 4; trajectories have components 1 to 3"):
        draw_trajectories(axes, units, (1, 4))
    with pytest.raises(ValueError, match="component is 0"):
        draw_component(axes, units, "ready", 0)


# Gaze.


def test_mean_paths_run_over_the_monitor(axes: Axes, gaze: GazePaths) -> None:
    draw_mean_paths(axes, gaze)
    for interval in gaze.intervals:
        assert np.array_equal(data(lines(axes)[f"{interval.sample_interval}"]), interval.mean_path)
    backwards = gaze.intervals[::-1]
    assert np.array_equal(marks(axes, "o"), [interval.mean_path[0] for interval in backwards])
    assert np.array_equal(marks(axes, "s"), [interval.mean_path[interval.sample_interval] for interval in backwards])
    squares = [patch.get_xy() for patch in axes.patches if isinstance(patch, Rectangle)][-3:]
    assert np.array(squares) == pytest.approx(np.array([(0.35, 0.2), (0.45, 0.2), (0.55, 0.2)]))
    assert axes.yaxis_inverted()
    assert {"Ready", "Set", "Go"} <= {text.get_text() for text in axes.texts}


def test_everything_is_in_view(axes: Axes, gaze: GazePaths) -> None:
    for draw in (lambda: draw_mean_paths(axes, gaze), lambda: draw_single_paths(axes, gaze, 30)):
        axes.clear()
        draw()
        points = np.concatenate([data(line) for line in axes.lines] + [[(0.35, 0.2), (0.65, 0.55)]])
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        assert left < points[:, 0].min() <= points[:, 0].max() < right
        assert top < points[:, 1].min() <= points[:, 1].max() < bottom
        assert right - left == pytest.approx(bottom - top)


def test_single_paths_are_those_of_their_interval(axes: Axes, gaze: GazePaths) -> None:
    draw_single_paths(axes, gaze, 20)
    interval = gaze.intervals[1]
    drawn = [data(line) for line in axes.lines if line.get_linestyle() == "-"]
    for path, expected in zip(drawn, (*interval.single_paths, interval.mean_path), strict=True):
        assert np.array_equal(path, expected)
    assert np.array_equal(marks(axes, "^"), [path[-1] for path in interval.single_paths])
    assert axes.get_title(loc="left") == "20 frames: 2 of 7 trials, and the mean"


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_is_drawn_per_interval_for_both_phases(axes: Axes, gaze: GazePaths, measure: str) -> None:
    draw_movement(axes, gaze, measure)
    assert axes.get_ylim()[0] == 0
    for index, line in enumerate(axes.lines):
        expected = [(each.sample_interval, getattr(each.movements[index], measure)) for each in gaze.intervals]
        np.testing.assert_array_equal(data(line), expected)
    assert len(axes.lines) == 2
    words = legend_words(axes.get_legend())
    assert words[1] == f"Set to response (mean {getattr(gaze.overall[1], measure):.2g})"


@pytest.fixture(scope="module")
def strategy() -> GazeStrategy:
    number, t_s = Estimate(0.5, (0.4, 0.6)), np.array(INTERVALS)
    hold = Hold(number, (number,) * 3, number, number, number, t_s, np.ones(3))
    shift = Shift(np.linspace(0, 1, 5), t_s, RNG.uniform(0, 9, (3, 5)), np.ones(3), number, number)
    since = np.arange(-2, 4)
    branch = Branch(t_s[:-1], since, RNG.uniform(0, 5, (2, 6)), number, Estimate(4.0, (3.0, 5.0)), number)
    return GazeStrategy(9, hold, shift, branch, Expansion(t_s, np.ones(3), number))


def test_the_shift_to_go_and_the_branch_at_set(axes: Axes, strategy: GazeStrategy) -> None:
    draw_shift(axes, strategy)
    for t_s, distance in zip(INTERVALS, strategy.shift.distance, strict=True):
        assert np.array_equal(data(lines(axes)[f"{t_s}"]), np.column_stack([strategy.shift.time, distance]))
    axes.clear()
    draw_branch(axes, strategy)
    assert set(lines(axes)) == {"10", "20"}
    colours = interval_colours(INTERVALS)
    for t_s, separation in zip((10, 20), strategy.branch.separation, strict=True):
        line = lines(axes)[f"{t_s}"]
        assert np.array_equal(data(line), np.column_stack([strategy.branch.since_set, separation]))
        assert line.get_color() == colours[t_s]  # as in every other panel
    assert axes.get_title(loc="left") == "before Set 0.5, after it 4.0"


def test_mistakes_about_gaze_are_named(axes: Axes, gaze: GazePaths) -> None:
    with pytest.raises(ValueError, match="unknown measure 'speed'; choose spread"):
        draw_movement(axes, gaze, "speed")
    with pytest.raises(ValueError, match="sample_interval is 25; the result has 10, 20, 30"):
        draw_single_paths(axes, gaze, 25)
