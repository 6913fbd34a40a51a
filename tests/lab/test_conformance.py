"""What every task must keep to, whatever it is about. A task is covered by being registered."""

from itertools import pairwise

import polars as pl
import pytest
import safetensors.torch
import torch
from task_cases import CASES, KINDS, LANES, run, usual_episodes

from gnomon.lab.laboratory import Laboratory, distinct_drawings
from gnomon.lab.screen import check_picture, paint
from gnomon.lab.tasks import TASKS, Task
from gnomon.lab.tasks.base import FIXATION, RESPONSE
from gnomon.records.trials import schema, take_trials
from gnomon.subjects.scripted import PerfectSubject

every_case = pytest.mark.parametrize("case", CASES)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@every_case
def test_equal_seeds_give_equal_episodes_and_saving_changes_nothing(case: str):
    laboratory, expected = Laboratory(CASES[case], lanes=LANES, seed=1), usual_episodes(case)
    for number, action in enumerate(expected.action):
        frame = laboratory.step(action)
        assert torch.equal(frame.observation, expected.observation[number])
        assert torch.equal(frame.reward, expected.reward[number])
        assert torch.equal(frame.episode_end, expected.episode_end[number])
        if number % 40 == 0:
            for tensor in laboratory.state_dict().values():
                tensor.zero_()  # what was saved is a copy
    assert take_trials(laboratory.trials).equals(expected.trials)


@every_case
def test_other_seeds_give_other_episodes(case: str):
    expected = usual_episodes(case)
    other = run(Laboratory(CASES[case], lanes=LANES, seed=2), expected.action[:30])
    assert not torch.equal(other.observation, expected.observation[:30])


@every_case
def test_a_saved_state_continues_identically(case: str):
    begun = Laboratory(CASES[case], lanes=LANES, seed=1)
    for action in usual_episodes(case).action[:80]:
        begun.step(action)
    assert begun.trials.running.any(), "this is to be a save in the middle of a trial"
    saved = safetensors.torch.save(begun.state_dict())
    actions = usual_episodes(case).action[80:].flip(0)
    expected = run(begun, actions)
    resumed = Laboratory(CASES[case], lanes=LANES, seed=99)
    resumed.step(actions[0])
    resumed.load_state_dict(safetensors.torch.load(saved))
    continued = run(resumed, actions)
    for name in ("observation", "reward", "episode_end", "gaze", "picture"):
        assert torch.equal(getattr(continued, name), getattr(expected, name)), name
    assert continued.trials.equals(expected.trials)
    assert torch.equal(resumed.generator.get_state(), begun.generator.get_state())


@every_case
def test_everything_stays_within_its_bounds(case: str):
    laboratory, episodes = Laboratory(CASES[case]), usual_episodes(case)
    lattice = laboratory.lattice
    assert 0 <= episodes.gaze.min() <= episodes.gaze.max() < lattice.count
    assert 0 <= episodes.picture.min() <= episodes.picture.max() < len(CASES[case].pictures())
    assert 0 <= episodes.observation.min() <= episodes.observation.max() < laboratory.observations
    assert torch.equal(episodes.observation % lattice.count, episodes.gaze)
    assert episodes.reward.isfinite().all()
    for coordinate in (episodes.gaze % lattice.side, episodes.gaze // lattice.side):
        moved = (coordinate[1:] - coordinate[:-1]).abs()
        assert (moved[~episodes.episode_end[1:]] <= 1).all(), "a gaze may turn one step a frame within an episode"


@every_case
def test_the_trial_table_keeps_to_its_schema(case: str):
    task, table = CASES[case], usual_episodes(case).trials
    assert table.schema == schema(task)
    assert len(table) >= 5, "too few trials to tell"
    assert set(table["task"]) == {task.name}
    whole = ["lane", "episode", "trial", "sample_interval", "outcome", "reward", "start_frame", "end_frame"]
    assert table.select(whole).null_count().sum_horizontal().item() == 0
    assert (table["sample_interval"] >= 1).all()
    assert (table["tolerance"].is_null() != task.produces).all(), "a tolerance belongs to what produces"
    answered = table["outcome"].is_in(["correct", "wrong"])
    assert (table["production_interval"].is_not_null() == (answered & task.produces)).all()


@every_case
def test_frames_of_a_trial_are_in_order(case: str):
    task, table = CASES[case], usual_episodes(case).trials
    assert (table["start_frame"] >= 0).all()
    assert (table["start_frame"] < table["end_frame"]).filter(table["outcome"] != "cut_off").all()
    for event in task.events:
        within = pl.col(f"{event}_frame").is_between(pl.col("start_frame"), pl.col("end_frame"))
        assert table.select(within.all()).item(), f"{event} lies outside its trial"


@every_case
def test_no_trial_is_lost(case: str):
    """Lanes count episodes, episodes trials, both without a gap, and one trial ends before the next."""
    task, episodes = CASES[case], usual_episodes(case)
    assert set(episodes.trials["lane"]) <= set(range(LANES))
    for (lane,), rows in episodes.trials.group_by("lane"):
        ends = int(episodes.episode_end[:, lane].sum())
        assert rows["episode"].is_sorted()
        assert all(episode <= ends for episode in rows["episode"])
        for _, episode in rows.group_by("episode"):
            assert episode["trial"].to_list() == list(range(len(episode)))
            frames = episode.select("start_frame", "end_frame").rows()
            assert all(end + task.pause <= start for (_, end), (start, _) in pairwise(frames))
            assert "cut_off" not in episode["outcome"][:-1]
    begun = len(episodes.trials) + episodes.unfinished
    paid = float(episodes.trials["reward"].sum()) + task.fixation_reward * begun
    assert float(episodes.reward.double().sum()) == pytest.approx(paid)


@every_case
def test_pictures_are_valid_and_drawn_once(case: str):
    task = CASES[case]
    pictures = list(task.pictures())
    assert pictures[:2] == [(), (task.cross(),)], "the first picture is blank, the second the cross alone"
    assert task.boxes()[0] == task.cross_centre(), "the first box is the centre of the cross"
    for picture in pictures:
        check_picture(picture)
    drawings, number_of = distinct_drawings(pictures)
    looks = [paint(drawing, task.background, 64).tobytes() for drawing in drawings]
    assert len(set(looks)) == len(looks)
    assert [looks[n] for n in number_of] == [paint(picture, task.background, 64).tobytes() for picture in pictures]


@every_kind
def test_conditions_are_what_the_task_declares(kind: type[Task]):
    task = kind()
    assert "sample_interval" in task.conditions
    for count in (0, 7):
        draws = task.draw(count, torch.Generator().manual_seed(0))
        assert set(draws) == set(task.conditions)
        assert all(len(values) == count and not values.is_floating_point() for values in draws.values())
        truths = [draws[name] for name, kind in task.conditions.items() if kind is bool]
        assert all(((values == 0) | (values == 1)).all() for values in truths)


@every_case
def test_intervals_lie_between_the_moments_that_the_task_declares(case: str):
    """t_s and t_p of the trial table are what its event frames say."""
    task, table = CASES[case], usual_episodes(case).trials.filter(pl.col("outcome").is_in(["correct", "wrong"]))
    columns = {FIXATION: "start_frame", RESPONSE: "end_frame"} | {name: f"{name}_frame" for name in task.events}
    if task.sample_bounds is not None and getattr(task, "flash", None) is None:
        begin, end = (columns[name] for name in task.sample_bounds)
        assert (table[end] - table[begin] == table["sample_interval"]).all()
    if task.production_bounds is not None:
        begin, end = (columns[name] for name in task.production_bounds)
        assert (table[end] - table[begin] == table["production_interval"]).all()
    assert list(task.usual_intervals) == sorted(task.usual_intervals)


@every_kind
def test_the_perfect_subject_is_right_in_every_trial(kind: type[Task]):
    laboratory = Laboratory(kind(pause=5), lanes=20, seed=2)
    subject = PerfectSubject(laboratory)
    for _ in range(120 + 3 * kind().usual_intervals[-1]):
        laboratory.step(subject.act().action)
    outcomes = take_trials(laboratory.trials)["outcome"]
    assert len(outcomes) >= 20
    assert set(outcomes) == {"correct"}


def test_the_cases_hold_every_kind_of_end():
    """The checks above see trials that end in every way, episodes that end in every way, and a fifth task."""
    tables = [usual_episodes(case).trials for case in CASES]
    assert {outcome for table in tables for outcome in table["outcome"]} == {
        "correct", "wrong", "early", "timeout", "aborted", "cut_off",
    }  # fmt: skip
    assert "delayed_look" in CASES
    assert "delayed_look" not in TASKS
