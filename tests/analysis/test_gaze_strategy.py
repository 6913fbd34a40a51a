"""Scripted gazes: one holds and shifts in a straight line, one drifts, one follows a path and branches."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
import xarray as xr
from numpy.typing import NDArray

from gnomon.analysis.gaze_strategy import GazeStrategy, angle_to, direction, gaze_strategy
from gnomon.analysis.results import from_json, to_json
from gnomon.lab.tasks.ready_set_go import PAPER

LANES, READY = 10, 4  # frames from a trial's start
T_S = (10, 20, 40, 60)
Path = Callable[[int, np.random.Generator], NDArray]  # t_s -> (yaw, pitch) [2 t_s + 1, 2] from Ready to the response


def go() -> NDArray:
    """Yaw and pitch, in degrees, of the middle of Go."""
    right, up, forward = direction(PAPER.squares()[2].box)
    return np.rad2deg([np.arctan2(right, forward), np.arcsin(up)])


def evaluation(path: Path) -> tuple[xr.Dataset, pl.DataFrame]:
    """Every lane does each sample interval three times, each trial an episode of its own."""
    rng = np.random.default_rng(0)
    lanes, rows = [], []
    for lane in range(LANES):
        seen, episode, frame = [], [], []
        for number, t_s in enumerate(T_S * 3):
            walked = path(t_s, rng)
            assert len(walked) == 2 * t_s + 1
            seen += [np.full((READY + 1, 2), 25.0), walked]
            episode += [number] * (READY + 1 + len(walked))
            frame += range(-1, READY + len(walked))
            frames = {"start_frame": 0, "ready_frame": READY, "set_frame": READY + t_s, "end_frame": READY + 2 * t_s}
            where = {"lane": lane, "episode": number, "trial": 0}
            rows.append({**where, "sample_interval": t_s, "outcome": "correct", **frames})
        lanes.append((np.concatenate(seen), episode, frame))
    axes = ("lane", "frame")
    angles = np.stack([seen for seen, _, _ in lanes])
    variables = {
        "episode": (axes, np.array([each for _, each, _ in lanes])),
        "episode_frame": (axes, np.array([each for _, _, each in lanes])),
        "yaw": (axes, angles[..., 0]),
        "pitch": (axes, angles[..., 1]),
    }
    return xr.Dataset(variables, attrs={"task": "ready_set_go"}), pl.DataFrame(rows)


def found(path: Path) -> GazeStrategy:
    return gaze_strategy(*evaluation(path), PAPER, n_bootstrap=100)


def hold_and_shift(t_s: int, rng: np.random.Generator) -> NDArray:
    """On the cross until Set, then in a straight line to Go."""
    along = np.concatenate([np.zeros(t_s), np.linspace(0, 1, t_s + 1)])
    return along[:, None] * go() + rng.normal(0, 0.1, (1, 2))


def drift(t_s: int, rng: np.random.Generator) -> NDArray:
    """0.2 degrees to the left on each frame until Set, then a wait, and a jump to Go on the last frame."""
    yaw = np.concatenate([-0.2 * np.arange(t_s), np.full(t_s + 1, -0.2 * (t_s - 1))])
    path = np.column_stack([yaw, np.zeros(len(yaw))]) + rng.normal(0, 0.1, (1, 2))
    path[-1] = go()
    return path


def branch(t_s: int, rng: np.random.Generator) -> NDArray:
    """Along one path to the left until Set, whence straight up: further away for longer intervals."""
    before, after = np.arange(t_s), np.arange(t_s + 1)
    path = np.concatenate(
        [np.column_stack([-0.3 * before, 0 * before]), np.column_stack([0 * after - 0.3 * t_s, 0.3 * after])]
    )
    return path + rng.normal(0, 0.3, path.shape)


def test_directions_and_angles() -> None:
    cross = direction(PAPER.cross().box)
    np.testing.assert_allclose(cross, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(angle_to(cross, np.array([[0.0, 0], [3, 0], [0, -4]])), [0, 3, 4], atol=1e-6)
    np.testing.assert_allclose(angle_to(direction(PAPER.squares()[2].box), go()[None]), 0, atol=1e-5)


def test_a_gaze_that_holds_and_shifts_in_a_straight_line() -> None:
    result = found(hold_and_shift)
    assert result.n_trials == LANES * len(T_S) * 3
    assert result.hold.distance.below(0.3)
    assert all(share.above(0.95) for share in result.hold.within)
    assert result.hold.displacement.value == pytest.approx(0, abs=1e-9)
    # the only step before Set is the one seen on Set's own frame, and that is none
    assert result.hold.share_moved.value == 0
    assert result.shift.linearity.above(0.99)
    assert result.shift.half_way.value == pytest.approx(0.5, abs=0.06)
    np.testing.assert_allclose(result.shift.r2, 1, atol=0.01)
    assert not result.expansion.slope.above(0.01)  # every path ends at Go, whatever the interval


def test_a_gaze_that_drifts_is_seen_to() -> None:
    result = found(drift)
    assert result.hold.share_moved.value == pytest.approx(sum(t_s - 1 for t_s in T_S) / sum(T_S))
    assert result.hold.drift.value == pytest.approx(0.2 * np.mean([t_s - 1 for t_s in T_S]), rel=1e-6)
    assert result.hold.displacement.value == pytest.approx(result.hold.drift.value, rel=1e-6)
    np.testing.assert_allclose(result.hold.distance_at_set, 0.2 * (np.array(T_S) - 1), atol=0.2)
    frames = np.concatenate([0.2 * np.arange(t_s) for t_s in T_S])
    assert [share.value for share in result.hold.within] == pytest.approx(
        [np.mean(frames <= radius) for radius in (1, 2, 5)], abs=0.03
    )
    assert result.shift.linearity.below(0.5)  # it waits and jumps
    assert result.shift.half_way.value > 0.9


def test_a_gaze_that_leaves_its_path_at_set() -> None:
    result = found(branch)
    assert result.branch.branching.above(3)
    after = result.branch.separation[1, result.branch.since_set == 15].item()  # of 20 frames, when 40 and 60 still wait
    # 15 frames after Set the others are 15 steps further left, and this one 15 steps up; noise of 0.3 in two directions
    assert after == pytest.approx(0.3 * 15 * np.sqrt(2) / (0.3 * np.sqrt(2)), rel=0.15)
    assert result.branch.before.value < 0.6
    extents = np.sqrt(2) * 0.3 * np.array(T_S)
    np.testing.assert_allclose(result.expansion.extent, extents, atol=0.8)
    assert result.expansion.slope.value == pytest.approx(0.3 * np.sqrt(2), rel=0.05)
    assert result.expansion.slope.known


def test_a_gaze_that_knows_no_set_does_not_branch() -> None:
    def onwards(t_s: int, rng: np.random.Generator) -> NDArray:
        frames = np.arange(2 * t_s + 1)
        return np.column_stack([-0.1 * frames, 0 * frames]) + rng.normal(0, 0.3, (len(frames), 2))

    assert not found(onwards).branch.branching.above(0.5)


def test_survives_json_and_names_what_is_missing() -> None:
    recording, trials = evaluation(drift)
    result = gaze_strategy(recording, trials, PAPER, n_bootstrap=20)
    text = to_json(result)
    assert to_json(from_json(GazeStrategy, text)) == text
    with pytest.raises(ValueError, match="lacks pitch; it has episode"):
        gaze_strategy(recording.drop_vars("pitch"), trials, PAPER)
