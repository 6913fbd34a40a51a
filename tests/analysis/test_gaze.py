"""Gazes of known paths: means, spread and speed are what was put in, on the monitor and off it."""

import numpy as np
import polars as pl
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray

from gnomon.analysis.gaze import GazePaths, Movement, gaze_paths, projected
from gnomon.analysis.results import from_json, to_json
from gnomon.lab.optics import MONITOR_HALF_SIDE, GazeLattice, OpticsConfig
from gnomon.lab.tasks.ready_set_go import PAPER

READY = 4  # frames from a trial's start


def angles(points: NDArray) -> tuple[NDArray, NDArray]:
    """Yaw and pitch, in degrees, of a gaze that meets the monitor's plane at points [..., 2]."""
    right, up = (points[..., 0] - 0.5) * 2 * MONITOR_HALF_SIDE, (0.5 - points[..., 1]) * 2 * MONITOR_HALF_SIDE
    # The direction is (right, up, 1): pitch is its angle to the horizontal plane.
    return np.rad2deg(np.arctan2(right, 1)), np.rad2deg(np.arctan2(up, np.hypot(right, 1)))


def evaluation(trials: list[tuple[int, int, str, NDArray]]) -> tuple[xr.Dataset, pl.DataFrame]:
    """One lane; each trial (t_s, t_p, outcome, path) an episode of its own. A path runs from Ready to the response.

    The last trial's response ends its episode, so it is missing; every other is followed by a frame far away.
    """
    points, episode, episode_frame, rows = [], [], [], []
    for number, (t_s, t_p, outcome, path) in enumerate(trials):
        assert len(path) == t_s + t_p + 1
        far = np.full((READY + 1, 2), 0.9)  # the episode's frame -1 and the foreperiod
        seen = np.concatenate([far, path, far[:1]] if number < len(trials) - 1 else [far, path[:-1]])
        points.append(seen)
        episode += [number] * len(seen)
        episode_frame += range(-1, len(seen) - 1)
        frames = {"start_frame": 0, "ready_frame": READY, "set_frame": READY + t_s, "end_frame": READY + t_s + t_p}
        rows.append({"lane": 0, "episode": number, "trial": 0, "sample_interval": t_s, "outcome": outcome, **frames})
    yaw, pitch = angles(np.concatenate(points))
    axes = ("lane", "frame")
    minus_one = (axes, np.full((1, len(yaw)), -1.0))  # as if all were off the monitor: never to be averaged
    variables = {
        "episode": (axes, np.array([episode])),
        "episode_frame": (axes, np.array([episode_frame])),
        "yaw": (axes, yaw[None].astype(np.float32)),
        "pitch": (axes, pitch[None].astype(np.float32)),
        "x": minus_one,
        "y": minus_one,
    }
    return xr.Dataset(variables, attrs={"task": "ready_set_go"}), pl.DataFrame(rows)


def line(frames: int, start: tuple[float, float], step: tuple[float, float]) -> NDArray:
    return np.array(start) + np.arange(frames)[:, None] * np.array(step)


def shares(movement: Movement) -> tuple[float, ...]:
    return movement.spread, movement.travelled, movement.share_moved, movement.share_off_monitor


def test_angles_are_projected_as_the_laboratory_does_and_beyond_the_edge() -> None:
    lattice = GazeLattice(OpticsConfig())
    yaw, pitch = lattice.angles(torch.arange(lattice.count))
    points, on = projected(yaw.numpy(), pitch.numpy()), lattice.on_monitor.numpy()
    np.testing.assert_allclose(points[on], lattice.points.numpy()[on], atol=1e-12)
    off = points[~on]
    assert len(off) > 50
    assert np.all((off < 0).any(1) | (off > 1).any(1))
    there = np.array([[1.05, 0.3], [-0.1, 1.2], [0.5, 0.5]])
    np.testing.assert_allclose(projected(*angles(there)), there, atol=1e-12)


def test_a_steady_path_has_its_speed_and_its_spread() -> None:
    # Two trials side by side, 0.02 from their mean, moving 0.01 to the right on each frame.
    trials = [(20, 15, "correct", line(36, (0.3, y), (0.01, 0))) for y in (0.48, 0.52)]
    result = gaze_paths(*evaluation(trials), PAPER)
    (interval,) = result.intervals
    assert (interval.sample_interval, interval.n_trials) == (20, 2)
    np.testing.assert_allclose(
        interval.mean_path, np.append(line(35, (0.3, 0.5), (0.01, 0)), [[0.65, 0.48]], 0), atol=1e-6
    )
    before, after = interval.movements
    assert (before.phase, after.phase) == ("ready_to_set", "set_to_response")
    assert shares(before) == pytest.approx((0.02, 0.01, 1, 0), abs=1e-6)
    # On the response's frame one trial is left (the other's is not recorded), and is its own mean.
    assert shares(after) == pytest.approx((0.02 * 30 / 31, 0.01, 1, 0), abs=1e-6)
    along = np.var(0.01 * np.arange(20))
    assert before.stereotypy == pytest.approx(along / (along + 0.02**2), abs=1e-4)
    assert [shares(overall) for overall in result.overall] == [shares(before), shares(after)]


def test_single_paths_are_the_first_trials_to_their_response() -> None:
    paths = [line(10 + t_p + 1, (0.2 + 0.05 * t_p, 0.5), (0, 0.01)) for t_p in (8, 12, 10)]
    trials = [(10, len(path) - 11, "wrong", path) for path in paths]
    (interval,) = gaze_paths(*evaluation(trials), PAPER, single_trials=2).intervals
    assert interval.n_trials == 3
    for single, path in zip(interval.single_paths, paths[:2], strict=True):
        np.testing.assert_allclose(single, path, atol=1e-6)
    (interval,) = gaze_paths(*evaluation(trials), PAPER).intervals
    np.testing.assert_allclose(interval.single_paths[2], paths[2][:-1], atol=1e-6)  # its response ended the episode
    assert len(interval.mean_path) == 20  # the longest that two of three trials share: 19, 23 and 20 frames


def test_the_step_into_sets_frame_belongs_to_the_wait_and_that_into_go_to_the_production() -> None:
    resting = np.full((31, 2), 0.5)
    jumps = resting.copy()
    jumps[10:, 0] += 0.2  # seen on Set's own frame
    jumps[30:, 1] -= 0.3  # seen on the response's
    trials = [(10, 20, "correct", jumps), (10, 20, "correct", resting)]
    (interval,) = gaze_paths(*evaluation(trials), PAPER).intervals
    before, after = interval.movements
    # 10 steps to Set in both trials; 20 to the response in the first, 19 in the second, whose response is missing.
    assert before.travelled == pytest.approx(0.2 / 20)
    assert after.travelled == pytest.approx(0.3 / 39, rel=1e-4)
    assert (before.share_moved, after.share_moved) == (1 / 20, 1 / 39)
    assert before.spread == pytest.approx(0, abs=1e-6)
    assert after.spread == pytest.approx(0.1 * 40 / 41, rel=1e-4)
    assert np.isnan(before.stereotypy)  # nobody moved before Set


def test_a_gaze_off_the_monitor_keeps_its_place() -> None:
    trials = [(10, 5, "correct", line(16, (x, 0.5), (0, 0.01))) for x in (1.02, 1.06, 0.95)]
    result = gaze_paths(*evaluation(trials), PAPER)
    np.testing.assert_allclose(result.intervals[0].mean_path[:15, 0], (1.02 + 1.06 + 0.95) / 3, atol=1e-6)
    assert result.intervals[0].movements[0].share_off_monitor == pytest.approx(2 / 3)


def test_intervals_count_once_and_only_completed_trials_do() -> None:
    slow, fast = (0, 0.01), (0, 0.03)
    trials = [
        (10, 5, "correct", line(16, (0.2, 0.1), fast)),
        (10, 5, "early", line(16, (0.9, 0.1), (0, 0))),
        (20, 5, "wrong", line(26, (0.2, 0.1), slow)),
        (20, 5, "timeout", line(26, (0.9, 0.1), (0, 0))),
        (20, 5, "wrong", line(26, (0.4, 0.1), slow)),
    ]
    result = gaze_paths(*evaluation(trials), PAPER)
    assert [each.sample_interval for each in result.intervals] == [10, 20]
    assert result.trials.tolist() == [[0, 0, 0], [0, 2, 0], [0, 4, 0]]
    assert result.overall[0].travelled == pytest.approx(0.02, abs=1e-6)
    assert np.isnan(result.intervals[0].movements[0].spread)  # a single trial
    assert result.overall[0].spread == pytest.approx(0.1, abs=1e-6)


def test_answers_on_sets_own_frame_leave_only_that_frame() -> None:
    trials = [(10, 0, "wrong", line(11, (0.2, 0.1), (0, 0.01)))] * 3
    before, after = gaze_paths(*evaluation(trials), PAPER).intervals[0].movements
    assert before.travelled == pytest.approx(0.01, abs=1e-6)
    assert np.isnan(after.travelled)
    assert after.spread == pytest.approx(0, abs=1e-9)


def test_the_result_knows_the_monitor_and_survives_json() -> None:
    result = gaze_paths(*evaluation([(10, 5, "correct", line(16, (0.2, 0.1), (0.01, 0)))] * 2), PAPER)
    assert {widget.name: widget.box.left for widget in result.monitor} == pytest.approx(
        {"fixation": 0.45, "ready": 0.35, "set": 0.45, "go": 0.55}
    )
    text = to_json(result)
    again = from_json(GazePaths, text)
    assert to_json(again) == text
    assert again.monitor == result.monitor


def test_mistakes_are_named() -> None:
    recording, trials = evaluation([(10, 5, "correct", line(16, (0.2, 0.1), (0.01, 0)))] * 2)
    with pytest.raises(ValueError, match="the recording lacks yaw; it has"):
        gaze_paths(recording.drop_vars("yaw"), trials, PAPER)
    with pytest.raises(ValueError, match="lacks yaw, pitch; it has nothing"):
        gaze_paths(xr.Dataset(), trials, PAPER)
    with pytest.raises(ValueError, match="none of the 0 trials"):
        gaze_paths(recording, trials.clear(), PAPER)
    with pytest.raises(ValueError, match="only ready_set_go trials"):
        gaze_paths(recording, trials.drop("set_frame"), PAPER)
    with pytest.raises(ValueError, match="single_trials is -1"):
        gaze_paths(recording, trials, PAPER, single_trials=-1)
