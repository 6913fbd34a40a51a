"""The laboratory's frame loop: lanes keep to themselves, episodes end when they should, the gaze obeys."""

import math

import pytest
import torch

from gnomon.lab.laboratory import CLICK, MOVES, Frame, Laboratory, distinct_drawings
from gnomon.lab.optics import START_YAW, OpticsConfig
from gnomon.lab.tasks import CuedProduction, Discrimination, ReadySetGo
from gnomon.records.trials import take_trials
from gnomon.subjects.scripted import PerfectSubject

STAY, UP, LEFT = (list(MOVES).index(name) for name in ("stay", "up", "left"))


# The gaze


def lane(laboratory: Laboratory, *actions: int) -> list[Frame]:
    return [laboratory.step(torch.tensor([action])) for action in actions]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_each_action_turns_the_gaze_one_step(dtype: torch.dtype):
    laboratory = Laboratory(CuedProduction(), OpticsConfig(gaze_step=10), lanes=10)
    laboratory.gaze[:] = laboratory.lattice.index(3, -4)
    laboratory.step(torch.arange(10).to(dtype))
    expected = [laboratory.lattice.index(3 + right, -4 + up) for right, up in (*MOVES.values(), (0, 0))]
    assert laboratory.gaze.tolist() == expected
    assert laboratory.actions == (*MOVES, "click")


def test_the_border_of_the_lattice_stops_the_gaze():
    laboratory = Laboratory(ReadySetGo(), lanes=9)
    lattice, reach = laboratory.lattice, laboratory.lattice.reach
    laboratory.gaze[:] = lattice.index(-reach, reach)
    laboratory.step(torch.arange(9))
    expected = [lattice.index(max(-reach, -reach + right), min(reach, reach + up)) for right, up in MOVES.values()]
    assert laboratory.gaze.tolist() == expected


def test_episodes_begin_level_with_a_yaw_drawn_within_22_5_degrees():
    laboratory = Laboratory(ReadySetGo(), lanes=2000)
    yaw, pitch = laboratory.lattice.angles(laboratory.gaze)
    assert (pitch == 0).all()
    assert set(yaw.unique().tolist()) == {i * 2.112 for i in range(-10, 11)}  # 10 steps are 21.12 deg
    assert yaw.abs().max() <= START_YAW
    assert yaw.mean().abs() < 0.9  # its s.d. is 12.8 deg, so that of the mean of 2,000 is 0.29


def test_a_box_out_of_the_gazes_reach_is_refused():
    with pytest.raises(ValueError, match=r"box 1 of ready_set_go.*gaze_step \(now 20 engine pixels\)"):
        Laboratory(ReadySetGo(target_size=0.02, centre=(0.495, 0.3)))
    with pytest.raises(ValueError, match=r"lanes is 0"):
        Laboratory(ReadySetGo(), lanes=0)


# Observations


def test_an_observation_tells_drawing_and_gaze_and_not_which_square_is_right():
    task = Discrimination(durations=(2, 4))
    drawings, number_of = distinct_drawings(list(task.pictures()))
    assert len(drawings) == 5  # blank, cross, stimulus, short left, short right
    assert number_of == [0, 1, 2, 3, 4, 4, 3]
    laboratory = Laboratory(task, lanes=7)
    laboratory.trials.picture = torch.arange(7, dtype=torch.int32)
    laboratory.gaze = torch.arange(7) * 100
    assert laboratory.observation.tolist() == [n * 1225 + 100 * k for k, n in enumerate(number_of)]
    assert laboratory.render(laboratory.observation).shape == (7, 32, 32, 3)


# Episodes


def test_an_episode_ends_when_its_time_is_up():
    laboratory = Laboratory(ReadySetGo(episode_seconds=0.5))
    ends = [frame.episode_end.item() for frame in lane(laboratory, *[UP] * 65)]
    assert [number for number, end in enumerate(ends) if end] == [29, 59]
    assert laboratory.trials.episode.item() == 2


def test_an_episode_ends_after_too_many_frames_off_the_monitor():
    laboratory = Laboratory(ReadySetGo(frames_off_monitor=7))
    laboratory.gaze[:] = laboratory.lattice.index(0, 14)
    edge = math.floor(31.7 / 2.112)  # the highest step on the monitor
    actions = [UP] * (edge - 14) + [UP] * 7 + [STAY]
    frames = lane(laboratory, *actions)
    assert [frame.episode_end.item() for frame in frames] == [False] * (len(actions) - 1) + [True]
    assert not frames[-1].timed_out.item()


def test_an_episode_ends_with_its_last_trial_and_shows_its_last_frame():
    laboratory = Laboratory(CuedProduction(intervals=(2, 4), trials_per_episode=1, target_location=(0.5, 0.55)))
    centre = laboratory.lattice.index(0, 0)
    laboratory.gaze[:] = centre
    *_, last = lane(laboratory, STAY, CLICK, STAY, CLICK)
    assert last.episode_end.item()
    assert last.final_observation.item() == centre  # blank, still looking at the target
    assert last.observation.item() // 1225 == 1  # the next episode's cross
    assert last.observation.item() == laboratory.observation.item()
    assert laboratory.trials.trial.item() == 0


def test_each_episode_begins_with_the_widest_tolerance_and_tightens_it_with_success_at_that_interval():
    task = ReadySetGo(intervals=(11, 12), foreperiods=(8,), timeout_factor=9.0, pause=1, trials_per_episode=14)
    laboratory = Laboratory(task, lanes=4, seed=1)
    subject = PerfectSubject(laboratory)
    for _ in range(1000):
        laboratory.step(subject.act().action)
    trials = take_trials(laboratory.trials)
    whole = 0
    for (_, _, interval), rows in trials.group_by("lane", "episode", "sample_interval", maintain_order=True):
        gammas = [2.5, 2.5, 1.5, 1.5, *[1.0] * 10]
        assert rows["tolerance"].to_list() == [gamma * 8.0 for gamma in gammas[: len(rows)]], interval
        whole += len(rows) > 5
    assert set(trials["episode"]) >= {0, 1}
    assert whole >= 4


def test_lanes_out_of_step_do_not_end_together():
    task = ReadySetGo(episode_seconds=1.0, trials_per_episode=1000)
    ends = {}
    for stagger in (False, True):
        laboratory = Laboratory(task, lanes=300, stagger=stagger)
        stays = torch.full((300,), UP)
        ends[stagger] = torch.stack([laboratory.step(stays).episode_end for _ in range(60)]).sum(1)
    assert ends[False].tolist() == [0] * 59 + [300]
    assert ends[True].sum() == 300
    assert ends[True].max() < 20


# The button


def test_holding_the_button_is_one_click_and_an_episode_begins_with_it_up():
    laboratory = Laboratory(CuedProduction(intervals=(3, 6), target_location=(0.5, 0.5)))
    laboratory.gaze[:] = laboratory.lattice.index(0, 0)
    lane(laboratory, STAY, CLICK, CLICK, CLICK)
    assert laboratory.trials.running.item()
    lane(laboratory, STAY, CLICK)
    assert not laboratory.trials.running.item()
    assert take_trials(laboratory.trials)["production_interval"].to_list() == [4]
    laboratory.begin_episode(torch.tensor([0]))
    assert not laboratory.button.item()


@pytest.mark.parametrize("action", [-1, CLICK])  # there is no button in Ready-Set-Go
def test_an_action_beyond_the_first_or_the_last_is_refused(action: int):
    laboratory = Laboratory(ReadySetGo(), lanes=3)
    with pytest.raises(ValueError, match=f"action is {action}; ready_set_go has 0 to 8"):
        laboratory.step(torch.tensor([0, action, 8]))
    assert laboratory.trials.now == 0


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed is -1; it must be a whole number of at least 0"):
        Laboratory(ReadySetGo(), seed=-1)


# Saving


def test_a_state_of_other_lanes_is_refused():
    state = Laboratory(ReadySetGo(), lanes=3).state_dict()
    with pytest.raises(ValueError, match=r"saved picture has shape \(3,\), this laboratory needs \(2,\)"):
        Laboratory(ReadySetGo(), lanes=2).load_state_dict(state)


def test_restarting_is_as_good_as_new():
    used, new = Laboratory(ReadySetGo(), lanes=5, seed=1), Laboratory(ReadySetGo(), lanes=5, seed=2)
    for _ in range(20):
        used.step(torch.full((5,), LEFT))
    used.restart(2)
    for name, tensor in new.state_dict().items():
        assert torch.equal(used.state_dict()[name], tensor), name
