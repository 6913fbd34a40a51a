"""Films of trials keep what happened: each frame against the laboratory and the trial table."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_films import names, record
from small_run import OPTICS, TASK, small_agent

from gnomon.lab.laboratory import CLICK, MOVES, Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import TASKS, ReadySetGo
from gnomon.records.films import NO_ACTION, TrialFilm
from gnomon.subjects import trial_film
from gnomon.subjects.agent import AgentSubject
from gnomon.subjects.scripted import PerfectSubject, RandomSubject
from gnomon.subjects.trial_film import LEAD, TAIL, film_trial


@pytest.fixture(scope="module")
def ready_set_go() -> TrialFilm:
    return record(ReadySetGo(intervals=(25,)))


@pytest.mark.parametrize("name", TASKS)
def test_a_whole_trial_is_recorded_frame_by_frame(name: str):
    film = record(TASKS[name]())
    assert film.row["outcome"] == "correct"
    assert (np.diff(film.frames) == 1).all()
    assert film.frames[0] == max(-film.row["start_frame"] - 1, -LEAD)
    assert film.frames[-1] == film.end + TAIL
    assert names(film, -1) == {"fixation"}
    assert names(film, film.end - 1) != set()
    assert names(film, film.end) == set()
    assert len(film.pictures) == len(film.gaze) == len(film.retina) == len(film.clicks) == len(film.frames)
    assert film.retina.shape[1:] == (8, 12, 3)
    on_cross = film.task.cross_centre().contains(*film.gaze[np.searchsorted(film.frames, 0)])
    assert on_cross, "frame 0 is the one on which the gaze enters the cross"
    assert film.clicks.any() == film.task.clicks


def test_ready_set_go_is_shown_as_it_happened(ready_set_go: TrialFilm):
    film = ready_set_go
    ready, set_ = film.events["ready"], film.events["set"]
    assert film.events == {"fixation": 0, "ready": 30, "set": 55, "response": 80}
    assert film.end == 80
    assert names(film, ready - 1) == {"fixation", "go"}
    assert names(film, ready) == names(film, ready + 9) == {"fixation", "go", "ready"}
    assert names(film, set_) == {"fixation", "go", "set"}
    assert names(film, set_ + 10) == {"go"}
    go = ReadySetGo().squares()[2].box
    inside = [go.contains(*point) for point in film.gaze]
    assert inside.index(True) == np.searchsorted(film.frames, film.end)


def test_retina_sees_what_the_monitor_shows(ready_set_go: TrialFilm):
    laboratory = Laboratory(ready_set_go.task, OpticsConfig(retina=(8, 12)))
    index = int(np.searchsorted(ready_set_go.frames, 30))  # looking at the cross, with Ready and Go on
    laboratory.trials.picture[:] = 7
    laboratory.gaze[:] = laboratory.lattice.nearest(*ready_set_go.gaze[index])
    np.testing.assert_array_equal(ready_set_go.retina[index], laboratory.render(laboratory.observation)[0].numpy())


def test_recording_goes_on_with_the_next_trial_and_stops_with_the_episode():
    laboratory = Laboratory(ReadySetGo(trials_per_episode=2), OpticsConfig(retina=(4, 4)))
    subject = PerfectSubject(laboratory)
    first, second = film_trial(subject), film_trial(subject)
    assert (first.row["trial"], second.row["trial"]) == (0, 1)
    assert first.frames[-1] == first.end + TAIL
    assert second.frames[-1] == second.end, "the episode ends with its last trial"
    assert second.frames[0] == -LEAD
    assert second.pictures[-1] == ()


def test_trials_that_began_before_or_are_cut_off_are_not_shown():
    laboratory = Laboratory(ReadySetGo(episode_seconds=4.0), OpticsConfig(retina=(4, 4)))
    subject = PerfectSubject(laboratory)
    for _ in range(25):  # into the first trial
        laboratory.step(subject.act().action)
    film = film_trial(subject)
    assert film.row["trial"] > 0 or film.row["episode"] > 0
    assert film.frames[0] < 0
    assert film.row["outcome"] == "correct"


def test_recording_refuses_what_it_cannot_show(monkeypatch: pytest.MonkeyPatch):
    crowd = Laboratory(ReadySetGo(), OpticsConfig(retina=(4, 4)), lanes=2)
    with pytest.raises(ValueError, match="2 lanes"):
        film_trial(PerfectSubject(crowd))
    monkeypatch.setattr(trial_film, "PATIENCE", 20)
    alone = Laboratory(ReadySetGo(), OpticsConfig(retina=(4, 4)))
    with pytest.raises(ValueError, match="random subject ended no trial of ready_set_go in 20 frames"):
        film_trial(RandomSubject(alone))


def test_caption_and_title(ready_set_go: TrialFilm):
    assert ready_set_go.title == "Ready Set Go, perfect subject"
    assert ready_set_go.caption.split("    ") == [
        "$t_s$ = 25 frames (0.42 s)", "$t_p$ = 25 frames (0.42 s)", "correct, reward 1",
    ]  # fmt: skip
    early = replace(
        ready_set_go, row=ready_set_go.row | {"outcome": "early", "production_interval": None, "reward": 0.0}
    )
    assert early.caption.endswith("(0.42 s)    early, reward 0")
    assert early.ending == "early response"


def test_actions_are_those_that_lead_from_each_gaze_to_the_next():
    film = record(TASKS["cued_production"]())
    assert film.values is None, "only agents have values"
    assert film.actions[-1] == NO_ACTION
    assert np.array_equal(film.actions[:-1] == CLICK, film.clicks[1:])
    moves = np.array([*MOVES.values(), (0, 0)])[film.actions[:-1]]  # [frames - 1, (right, up)]
    moved = np.sign(np.diff(film.gaze, axis=0) * (1, -1))
    assert np.array_equal(np.sign(np.where(np.abs(moved) > 1e-9, moved, 0)), moves)


def test_an_agent_is_filmed_with_its_values():
    laboratory = Laboratory(TASK, OPTICS, seed=1)
    agent = small_agent("lstm", laboratory)
    subject = AgentSubject(laboratory, agent, torch.Generator().manual_seed(2), name="agent small")
    film = film_trial(subject, trial=1)
    assert film.title == "Ready Set Go, agent small"
    assert film.row["trial"] == 1
    assert film.values is not None
    assert np.isnan(film.values[-1])
    # The last value kept is that of the last frame before: what the agent sees then, with the state it has.
    assert np.isfinite(film.values[:-1]).all()
    assert len(np.unique(film.values[:-1])) > 5
    assert set(film.actions[:-1]) <= set(range(len(laboratory.actions)))
