"""Evaluations are exact in number, fair to lanes and reproducible; their recordings line up with the trial table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
import xarray as xr
from small_run import OPTICS, TASK, small_agent

from gnomon.agent.agent import Agent
from gnomon.agent.feature_cache import FeatureCache
from gnomon.lab.laboratory import MOVES, Laboratory, distinct_drawings
from gnomon.lab.tasks import PAPER
from gnomon.lab.tasks.base import CROSS, CROSS_CENTRE
from gnomon.lab.tasks.ready_set_go import GO, GO_ON, READY_ON, SET_ON
from gnomon.records.recordings import read_recording, write_recording
from gnomon.records.trials import schema
from gnomon.subjects import evaluation
from gnomon.subjects.evaluation import COLLECT_FRAMES, Evaluation, evaluate, share_trials

LANES, RECORDED, TRIALS = 12, 9, 90


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    """Only to look things up in; each evaluation has its own."""
    return Laboratory(TASK, OPTICS)


@pytest.fixture(scope="module")
def agent(laboratory: Laboratory) -> Agent:
    return small_agent("lstm", laboratory)


@pytest.fixture(scope="module")
def recorded(agent: Agent) -> Evaluation:
    return evaluate(agent, TASK, OPTICS, trials=TRIALS, seed=4, lanes=LANES, record_lanes=RECORDED)


@pytest.fixture(scope="module")
def recording(recorded: Evaluation) -> xr.Dataset:
    assert recorded.recording is not None
    return recorded.recording


# The trial table.


def test_the_same_seed_gives_the_same_trials_and_another_does_not(agent: Agent, recorded: Evaluation) -> None:
    again = evaluate(agent, TASK, OPTICS, trials=TRIALS, seed=4, lanes=LANES)
    assert again.trials.equals(recorded.trials)
    assert again.recording is None
    other = evaluate(agent, TASK, OPTICS, trials=TRIALS, seed=5, lanes=LANES)
    assert not other.trials.equals(recorded.trials)


def test_the_agent_is_left_as_it_was(agent: Agent, laboratory: Laboratory, recorded: Evaluation) -> None:
    fresh = small_agent("lstm", laboratory).state_dict()
    assert all(torch.equal(tensor, fresh[name]) for name, tensor in agent.state_dict().items())
    assert all(parameter.grad is None for parameter in agent.parameters())


@pytest.mark.parametrize(("trials", "lanes", "each"), [(10, 4, 3), (8, 4, 2), (3, 200, 1), (5, None, 2), (1, None, 1)])
def test_every_lane_does_the_same_number(agent: Agent, trials: int, lanes: int | None, each: int) -> None:
    reports: list[tuple[int, int]] = []
    result = evaluate(
        agent, TASK, OPTICS, trials=trials, seed=1, lanes=lanes, report=lambda *counts: reports.append(counts)
    )
    assert result.complete
    expected = -(-trials // TASK.trials_per_episode) if lanes is None else min(lanes, trials)
    assert result.trials["lane"].value_counts().sort("lane")["count"].to_list() == [each] * expected
    assert reports == sorted(reports)
    assert reports[-1] == (each * expected, each * expected)


@pytest.mark.parametrize(
    ("trials", "shared"),
    [(60_000, (1200, 50)), (120_000, (1200, 100)), (5_000, (100, 50)), (2_001, (41, 49)), (50, (1, 50)), (6, (1, 6))],
)
def test_trials_are_shared_out_in_whole_episodes(trials: int, shared: tuple[int, int]) -> None:
    assert share_trials(trials, PAPER) == shared


def test_first_trials_of_an_episode_have_the_share_that_they_have_in_the_task(agent: Agent) -> None:
    task = replace(TASK, episode_seconds=100.0)
    trials = evaluate(agent, task, OPTICS, trials=12, seed=2).trials
    assert (trials["trial"] == 0).mean() == 1 / task.trials_per_episode


def test_they_are_the_first_finished_trials_of_each_lane(agent: Agent, recorded: Evaluation) -> None:
    few = evaluate(agent, TASK, OPTICS, trials=2 * LANES, seed=4, lanes=LANES).trials
    assert few.equals(recorded.trials.filter(pl.int_range(pl.len()).over("lane") < 2))
    assert recorded.trials["outcome"].value_counts().height > 1
    for column in ("lane", "episode", "trial"):
        assert recorded.trials[column].null_count() == 0
    keys = recorded.trials.select("lane", "episode", "trial")
    assert keys.equals(keys.sort("lane", "episode", "trial"))
    assert "cut_off" not in recorded.trials["outcome"]


def test_an_agent_that_never_fixates_does_not_get_its_trials(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "FRAMES_PER_TRIAL", 2 * COLLECT_FRAMES)
    upwards = small_agent("feedforward", laboratory)
    with torch.no_grad():
        upwards.policy.weight.zero_()
        upwards.policy.bias[list(MOVES).index("up")] = 100.0
    result = evaluate(upwards, TASK, OPTICS, trials=4, seed=0, lanes=2)
    assert not result.complete
    assert result.frames == 2 * 2 * COLLECT_FRAMES  # two trials a lane
    assert result.trials.is_empty()
    assert result.trials.schema == schema(TASK)


def test_an_evaluation_needs_a_trial(agent: Agent) -> None:
    with pytest.raises(ValueError, match="trials is 0"):
        evaluate(agent, TASK, OPTICS, trials=0, seed=0)


# The recording.


def test_a_recording_has_every_frame_of_its_lanes(recorded: Evaluation, recording: xr.Dataset) -> None:
    sizes = {"lane": RECORDED, "frame": recorded.frames, "unit_cell": 16, "unit_hidden": 16}
    assert dict(recording.sizes) == sizes
    assert recorded.frames % COLLECT_FRAMES == 0
    assert recording["units_cell"].dims == ("lane", "frame", "unit_cell")
    assert recording.attrs["task"] == "ready_set_go"
    # The frames of an episode are numbered from -1, the picture before its first frame.
    episode, frame = recording["episode"].values, recording["episode_frame"].values
    begins = np.diff(episode, axis=1, prepend=-1) == 1
    assert np.array_equal(begins, frame == -1)
    assert np.all(np.diff(frame, axis=1)[~begins[:, 1:]] == 1)
    assert np.all(recording["picture"].values[begins] == CROSS)
    assert np.all(recording["pitch"].values[begins] == 0)


def recorded_at(recording: xr.Dataset, trial: dict, event: str) -> xr.Dataset | None:
    """The frame on which something happened in a trial; none if a new episode began on it."""
    lane = recording.isel(lane=trial["lane"])
    here = (lane["episode"] == trial["episode"]) & (lane["episode_frame"] == trial[event])
    found = np.flatnonzero(here)
    assert len(found) <= 1
    return lane.isel(frame=int(found[0])) if len(found) else None


def test_gaze_and_picture_are_those_of_the_trial_table(
    recorded: Evaluation, recording: xr.Dataset, laboratory: Laboratory
) -> None:
    boxes = [laboratory.lattice.inside(box) for box in TASK.boxes()]
    trials = recorded.trials.filter(pl.col("lane") < RECORDED).to_dicts()
    entered = last = 0
    for trial in trials:
        start = recorded_at(recording, trial, "start_frame")
        assert start is not None
        assert boxes[CROSS_CENTRE][int(start["gaze_index"])]
        assert int(start["picture"]) == CROSS + GO_ON
        for event, bit in (("ready_frame", READY_ON), ("set_frame", SET_ON)):
            now = recorded_at(recording, trial, event)
            if now is not None and trial[event] < trial["end_frame"]:
                before = recorded_at(recording, {**trial, event: trial[event] - 1}, event)
                assert before is not None
                assert (int(before["picture"]) & bit, int(now["picture"]) & bit) == (0, bit)
        end = recorded_at(recording, trial, "end_frame")
        if end is None:
            last += 1
        elif trial["outcome"] in ("correct", "wrong", "early"):
            entered += 1
            assert boxes[GO][int(end["gaze_index"])]
            assert int(end["picture"]) == 0
    assert entered > 3
    assert last > 5  # the last of an episode: its end is the next one's beginning
    assert {"correct"} < set(recorded.trials["outcome"])


def test_actions_lead_from_each_gaze_to_the_next(recording: xr.Dataset, laboratory: Laboratory) -> None:
    side, count = laboratory.lattice.side, laboratory.lattice.count
    gaze, action = recording["gaze_index"].values, recording["action"].values
    moves = np.array(list(MOVES.values()))[action]  # [lane, frame, (right, up)]
    row, column = np.divmod(gaze, side)
    expected = np.clip(row + moves[..., 1], 0, side - 1) * side + np.clip(column + moves[..., 0], 0, side - 1)
    same_episode = np.diff(recording["episode"].values, axis=1) == 0
    assert np.array_equal(gaze[:, 1:][same_episode], expected[:, :-1][same_episode])
    points = laboratory.lattice.points[torch.from_numpy(gaze)].numpy().astype(np.float32)
    assert np.array_equal(np.stack([recording["x"].values, recording["y"].values], -1), points)
    assert gaze.max() < count


@torch.no_grad()
def test_units_and_values_are_what_the_agent_computes(
    recording: xr.Dataset, agent: Agent, laboratory: Laboratory
) -> None:
    _, drawing_of = distinct_drawings(list(TASK.pictures()))
    drawing = torch.tensor(drawing_of)[torch.from_numpy(recording["picture"].values).long()]
    ids = (drawing * laboratory.lattice.count + torch.from_numpy(recording["gaze_index"].values)).T  # [T, B]
    first = torch.from_numpy(recording["episode_frame"].values == -1).T
    eye = FeatureCache(agent, laboratory.render, laboratory.observations)
    drive = eye.look(ids.flatten()).unflatten(0, ids.shape)
    output, _ = agent.unroll(drive, first, agent.initial_state(RECORDED))
    np.testing.assert_allclose(recording["value"].values, output.value.T.numpy(), rtol=0, atol=1e-5)
    for name, units in output.units.items():
        stored = recording[f"units_{name}"].values
        assert stored.dtype == np.float16
        np.testing.assert_allclose(stored, units.transpose(0, 1).numpy(), rtol=1e-3, atol=1e-4)
        assert units.std() > 0.01


def test_a_recording_survives_its_file(tmp_path: Path, recording: xr.Dataset) -> None:
    path = tmp_path / "new" / "recording.zarr.zip"
    write_recording(recording, path)
    xr.testing.assert_identical(read_recording(path), recording)
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="no recording at"):
        read_recording(tmp_path / "other.zarr.zip")
