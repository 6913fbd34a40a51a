"""Scripted subjects: the perfect one earns every reward there is, the others miss just what they should."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import (
    PAPER,
    PSYCHLAB,
    TASKS,
    Bisection,
    CuedProduction,
    Discrimination,
    ReadySetGo,
    Task,
)
from gnomon.records.trials import take_trials
from gnomon.subjects.scripted import (
    SUBJECTS,
    BlindSubject,
    NoisySubject,
    PerfectSubject,
    RandomSubject,
    ScriptedSubject,
)
from gnomon.subjects.steering import Steering, cheapest_move, steps_to

SHORT: dict[str, Any] = {"pause": 5, "trials_per_episode": 6}
QUICK: dict[str, Any] = {**SHORT, "foreperiods": (8, 12), "timeout_factor": 20.0}
PSYCHLAB_SHORT = dataclasses.replace(PSYCHLAB, foreperiods=(8,), intervals=(20, 60), probe_intervals=(3, 70), **SHORT)

CASES: dict[str, tuple[Task, OpticsConfig]] = {
    "paper": (PAPER, OpticsConfig()),
    "psychlab, short": (PSYCHLAB_SHORT, OpticsConfig()),
    "very short intervals": (ReadySetGo(**QUICK, intervals=(1, 2, 5), base_tolerance=0.5), OpticsConfig()),
    "hold": (ReadySetGo(**SHORT, intervals=(10, 25), hold_probability=0.5), OpticsConfig()),
    "strict hold": (
        ReadySetGo(**QUICK, intervals=(10,), hold_probability=1.0, hold_frames=0),
        OpticsConfig(),
    ),
    "hold, fine gaze": (
        ReadySetGo(**QUICK, intervals=(5,), hold_probability=1.0),
        OpticsConfig(gaze_step=10),
    ),
    "restrained": (
        ReadySetGo(**SHORT, intervals=(10, 25), hold_probability=0.5, restrained=True),
        OpticsConfig(gaze_step=10),
    ),
    "coarse gaze": (ReadySetGo(**SHORT, intervals=(12, 20)), OpticsConfig(gaze_step=40, retina=(8, 8))),
    "slow fixation": (ReadySetGo(pause=0, intervals=(12,), frames_to_fixate=7), OpticsConfig()),
    "cued production": (CuedProduction(), OpticsConfig()),
    "cued production on the cross": (
        CuedProduction(**SHORT, intervals=(2, 3), tolerance_factors=(0.4, 0.01), target_location=(0.5, 0.5)),
        OpticsConfig(),
    ),
    "cued production, complement": (
        CuedProduction(**SHORT, intervals=(10, 30), wait_complement=True, fixation_reward=0.5),
        OpticsConfig(),
    ),
    "bisection": (Bisection(durations=(20, 80)), OpticsConfig()),
    "bisection, short": (Bisection(**SHORT, durations=(3, 9), incorrect_reward=-1.0), OpticsConfig()),
    "bisection, fine gaze": (Bisection(**SHORT, durations=(10, 20), axes=5), OpticsConfig(gaze_step=10)),
    "discrimination": (Discrimination(), OpticsConfig()),
    "discrimination, flashes": (Discrimination(**SHORT, flash=5), OpticsConfig()),
    "discrimination, spread": (
        Discrimination(**SHORT, durations=(20, 24), duration_spread=(4.0, 4.0), random_sides=False),
        OpticsConfig(),
    ),
    "discrimination, a square over the cross": (
        Discrimination(**SHORT, durations=(10, 20), centre=(0.3, 0.5)),
        OpticsConfig(),
    ),
    "discrimination, one square behind the other": (
        Discrimination(**SHORT, durations=(10, 20), centre=(0.25, 0.5), target_distance=0.12),
        OpticsConfig(),
    ),
}
every_case = pytest.mark.parametrize("case", CASES)


def run(subject: ScriptedSubject, frames: int) -> tuple[pl.DataFrame, float]:
    """The trials that ended within `frames` frames, and the rewards of all lanes."""
    laboratory = subject.laboratory
    earned = sum(float(laboratory.step(subject.act().action).reward.sum()) for _ in range(frames))
    return take_trials(laboratory.trials), earned


def sit(case: str, kind: type[ScriptedSubject], lanes: int = 50, frames: int = 0) -> tuple[pl.DataFrame, float]:
    task, optics = CASES[case]
    laboratory = Laboratory(task, optics, lanes=lanes, seed=3)
    return run(kind(laboratory, seed=4), frames or 110 + 3 * task.usual_intervals[-1])


@every_case
def test_the_perfect_subject_earns_every_reward(case: str):
    task = CASES[case][0]
    trials, earned = sit(case, PerfectSubject)
    ended = trials.filter(pl.col("outcome") != "cut_off")
    assert set(ended["lane"]) == set(range(50)), "it should end a trial in every lane"
    assert set(ended["outcome"]) == {"correct"}
    unrewarded = isinstance(task, ReadySetGo) and not task.reward_probes
    payable = ended.filter(~pl.col("probe")) if unrewarded else ended
    assert payable["reward"].to_list() == [task.correct_reward] * len(payable)
    assert earned >= payable["reward"].sum()
    if task.produces:
        assert (ended["production_interval"] == ended["sample_interval"]).all()


def test_a_second_click_takes_two_frames_at_least():
    """The button has to go up in between."""
    laboratory = Laboratory(CuedProduction(**SHORT, intervals=(1, 20)), lanes=20, seed=1)
    trials, _ = run(PerfectSubject(laboratory), 60)
    produced = trials.filter(pl.col("outcome") != "cut_off").select("sample_interval", "production_interval")
    assert set(produced.rows()) == {(1, 2), (20, 20)}


def test_fixation_is_held_as_long_as_it_must_be_even_if_the_answer_then_comes_late():
    task = ReadySetGo(**QUICK, intervals=(1,), hold_probability=1.0, hold_frames=3)
    trials, _ = run(PerfectSubject(Laboratory(task, lanes=20)), 90)
    assert set(trials["outcome"]) == {"correct"}
    # Go is seven steps away, and three may be taken before Set: the seventh falls 3 frames after its onset.
    assert set(trials["production_interval"]) == {3}


@pytest.mark.parametrize(
    "case", ["paper", "psychlab, short", "cued production, complement", "bisection, short", "discrimination"]
)
def test_the_blind_subject_ignores_the_interval(case: str):
    trials, _ = sit(case, BlindSubject)
    ended = trials.filter(pl.col("outcome") != "cut_off")
    correct = (ended["outcome"] == "correct").to_numpy().mean()
    assert correct < 0.9
    if CASES[case][0].produces:
        assert ended["production_interval"].n_unique() == 1
        assert ended["sample_interval"].n_unique() > 1
    else:
        assert correct == pytest.approx(0.5, abs=0.15)


def test_the_blind_subject_produces_the_mean_interval_and_says_long():
    assert set(sit("paper", BlindSubject)[0]["production_interval"].drop_nulls()) == {55}
    trials = sit("discrimination", BlindSubject)[0].filter(pl.col("outcome") != "cut_off")
    assert ((trials["outcome"] == "correct") == trials["long"]).all()


@pytest.mark.parametrize(("w_m", "w_p"), [(0.2, 0.0), (0.0, 0.15), (0.12, 0.1)])
@pytest.mark.parametrize("task", [ReadySetGo(intervals=(40, 80)), CuedProduction()], ids=lambda task: task.name)
def test_the_noisy_subject_has_the_standard_deviation_it_was_given(task: Task, w_m: float, w_p: float):
    laboratory = Laboratory(task, lanes=2000, seed=1)
    trials, _ = run(NoisySubject(laboratory, seed=2, w_m=w_m, w_p=w_p), 320)
    trials = trials.filter(pl.col("trial") == 0)
    assert len(trials) == 2000, "trials that are still running are the longer ones: without them all is biased"
    for interval in (40, 80):
        produced = trials.filter(pl.col("sample_interval") == interval)["production_interval"].drop_nulls().to_numpy()
        assert len(produced) > 900
        # var t_p = var t_m + E (w_p t_m)^2, and rounding to frames adds 1/12.
        variance = interval**2 * (w_m**2 + w_p**2 * (1 + w_m**2)) + 1 / 12
        # Four standard errors of a mean and of a standard deviation.
        error = np.sqrt(variance / len(produced))
        assert produced.mean() == pytest.approx(interval, abs=4 * error)
        assert produced.std() == pytest.approx(np.sqrt(variance), abs=4 * error / np.sqrt(2))


def test_the_noisy_subject_confuses_close_durations_as_often_as_its_noise_says():
    task = Discrimination(durations=(40, 50), pause=1)
    trials, _ = run(NoisySubject(Laboratory(task, lanes=1000, seed=1), seed=2, w_m=0.2, w_p=0.0), 200)
    ended = trials.filter(pl.col("outcome") != "cut_off")
    standard = torch.distributions.Normal(0.0, 1.0)
    criterion = (40 * 50) ** 0.5
    for long, duration in ((False, 40), (True, 50)):
        below = float(standard.cdf(torch.tensor((criterion - duration) / (0.2 * duration))))
        correct = ended.filter(pl.col("long") == long)["outcome"] == "correct"
        assert correct.mean() == pytest.approx(1 - below if long else below, abs=0.05)


def test_a_noisy_subject_without_noise_is_perfect():
    laboratory = Laboratory(PAPER, lanes=50)
    trials, _ = run(NoisySubject(laboratory, w_m=0.0, w_p=0.0), 250)
    assert len(trials) >= 50
    assert (trials["production_interval"] == trials["sample_interval"]).all()


@pytest.mark.parametrize("name", ["w_m", "w_p"])
def test_a_negative_weber_fraction_is_refused(name: str):
    with pytest.raises(ValueError, match=f"{name} is -0.1"):
        NoisySubject(Laboratory(PAPER), 0, **{name: -0.1})


def test_the_random_subject_takes_every_action_equally_often():
    laboratory = Laboratory(CuedProduction(), lanes=1000)
    subject = RandomSubject(laboratory, seed=1)
    counts = torch.bincount(torch.cat([subject.act().action for _ in range(20)]), minlength=10)
    assert counts.shape == (10,)
    assert (counts - 2000).abs().max() < 4 * 45  # binomial s.d. sqrt(20000 * 0.1 * 0.9) = 42


def test_the_random_subject_is_at_chance():
    task = Discrimination(durations=(5, 10), pause=1, target_size=0.2)
    trials, _ = run(RandomSubject(Laboratory(task, lanes=2000, seed=1), seed=2), 250)
    chosen = trials.filter(pl.col("outcome").is_in(["correct", "wrong"]))
    assert len(chosen) > 400
    assert (chosen["outcome"] == "correct").mean() == pytest.approx(0.5, abs=0.1)
    production = ReadySetGo(intervals=(10, 20), pause=1)
    rewarded = run(RandomSubject(Laboratory(production, lanes=500, seed=1), seed=2), 250)[1]
    perfect = run(PerfectSubject(Laboratory(production, lanes=500, seed=1), seed=2), 250)[1]
    assert rewarded < 0.02 * perfect


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("kind", TASKS.values(), ids=TASKS)
def test_equal_seeds_give_equal_actions(kind: type[Task], name: str):
    def actions(seed: int) -> torch.Tensor:
        laboratory = Laboratory(kind(pause=1), lanes=20)
        subject = SUBJECTS[name](laboratory, seed=seed)
        log = []
        for _ in range(40):
            log.append(subject.act().action)
            laboratory.step(log[-1])
        return torch.stack(log)

    first = actions(1)
    assert first.dtype == torch.int64
    assert torch.equal(first, actions(1))
    if name == "random":
        assert not torch.equal(first, actions(2))


class Unplanned(ReadySetGo):
    """A task that says nothing to scripted subjects."""

    name = "unplanned"
    plan = Task.plan


def test_a_task_without_a_plan_takes_random_subjects_only():
    laboratory = Laboratory(Unplanned())
    laboratory.step(RandomSubject(laboratory).act().action)
    perfect = PerfectSubject(laboratory)
    with pytest.raises(ValueError, match="the task 'unplanned' has no plan for scripted subjects"):
        perfect.act()


# Steering


def test_steps_lead_around_what_is_to_be_avoided():
    goal = torch.zeros(1, 5, 5, dtype=torch.bool)
    goal[0, 2, 4] = True
    wall = torch.zeros_like(goal)
    wall[0, 1:, 2] = True
    free = steps_to(goal, torch.zeros_like(goal))[0]
    assert free[2].tolist() == [4, 3, 2, 1, 0]
    around = steps_to(goal, wall)[0]
    assert around[0].tolist() == [4, 3, 2, 2, 2]
    assert around[2, :2].tolist() == [4, 4]
    assert around[4, :2].tolist() == [6, 6]
    assert (around[1:, 2] > 25).all()


def test_every_move_brings_the_gaze_one_step_nearer_and_then_rests():
    laboratory = Laboratory(ReadySetGo(), lanes=1225)
    steering = Steering(laboratory)
    lattice = laboratory.lattice
    laboratory.gaze = torch.arange(lattice.count)
    go = torch.ones(lattice.count, dtype=torch.int64)
    inside = lattice.inside(laboratory.task.boxes()[1])
    column, row = lattice.angles(laboratory.gaze)[0], lattice.angles(laboratory.gaze)[1]
    target = torch.stack([column[inside], row[inside]], 1)
    apart = (torch.stack([column, row], 1)[:, None] - target).abs().amax(2).amin(1)  # the larger of the two angles
    needed = (apart / lattice.step_angle).round().long()
    for step in range(int(needed.max()) + 1):
        assert torch.equal(inside[laboratory.gaze], needed <= step)
        moves = steering.towards(go)
        laboratory.gaze = laboratory._next_gaze[moves * lattice.count + laboratory.gaze]


def test_the_cheapest_of_equal_moves_is_to_stay():
    assert (cheapest_move(torch.zeros(1, 3, 3)) == 0).all()
