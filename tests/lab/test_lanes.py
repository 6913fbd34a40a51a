"""A lane among 512 behaves as if it were alone, whatever the task."""

from dataclasses import dataclass, field
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from wandering import WanderingSubject

from gnomon.lab.laboratory import Frame, Laboratory
from gnomon.lab.tasks import Bisection, CuedProduction, Discrimination, ReadySetGo, Task
from gnomon.records.trials import take_trials

LANES = 512
TRIALS_DRAWN = 64  # conditions drawn ahead for every lane


# A batch of 512 lanes against batches of one

frames = st.integers(2, 9)
lengths = st.lists(frames, min_size=2, max_size=2, unique=True).map(lambda pair: tuple(sorted(pair)))
factors = st.sampled_from([(1.0,), (2.5, 1.5, 1.0), (0.8, 0.3)])
shared: dict[str, Any] = {
    "pause": st.integers(0, 6),
    "frames_to_fixate": st.integers(1, 3),
    "trials_per_episode": st.integers(1, 4),
    "episode_seconds": st.sampled_from([0.9, 2.0, 300.0]),
    "frames_off_monitor": st.sampled_from([0, 3, 300]),
    "fixation_reward": st.sampled_from([0.0, 0.25]),
    "incorrect_reward": st.sampled_from([0.0, -0.5]),
}
tasks = st.one_of(
    st.builds(
        ReadySetGo,
        **shared,
        intervals=lengths,
        probe_intervals=st.just((4,)),
        probe_probability=st.sampled_from([0.0, 0.5]),
        reward_probes=st.booleans(),
        hold_probability=st.sampled_from([0.0, 0.5]),
        hold_frames=st.integers(0, 4),
        restrained=st.booleans(),
        foreperiods=st.just((0, 5)),
        flash=st.integers(1, 4),
        base_tolerance=st.sampled_from([2.0, 8.0]),
        tolerance_factors=factors,
        timeout_factor=st.sampled_from([3.0, 9.0]),
    ),
    st.builds(CuedProduction, **shared, intervals=lengths, tolerance_factors=factors, wait_complement=st.booleans()),
    st.builds(Bisection, **shared, durations=lengths, axes=st.sampled_from([1, 4, 12])),
    st.builds(
        Discrimination,
        **shared,
        durations=lengths,
        duration_spread=st.sampled_from([(0.0, 0.0), (1.0, 2.0)]),
        random_sides=st.booleans(),
    ),
)


@dataclass
class Injected:
    """Conditions drawn ahead, trial by trial, for each of the lanes that a laboratory runs."""

    conditions: dict[str, torch.Tensor]  # each int [lanes, trials]
    lanes: torch.Tensor
    trial: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.trial = torch.zeros(len(self.lanes), dtype=torch.int64)

    def __call__(self, begun: torch.Tensor) -> dict[str, torch.Tensor]:
        trial = self.trial[begun]
        self.trial[begun] += 1
        return {name: values[self.lanes[begun], trial] for name, values in self.conditions.items()}


def draw_ahead(task: Task, seed: int) -> dict[str, torch.Tensor]:
    draws = task.draw(LANES * TRIALS_DRAWN, torch.Generator().manual_seed(seed))
    return {name: values.view(LANES, TRIALS_DRAWN) for name, values in draws.items()}


@dataclass
class Log:
    """What 512 lanes did, frame by frame, and where they looked before the first frame."""

    start: torch.Tensor
    actions: list[torch.Tensor] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    gazes: list[torch.Tensor] = field(default_factory=list)


def run_batch(task: Task, conditions: dict[str, torch.Tensor], seed: int, count: int) -> tuple[Log, Laboratory]:
    batch = Laboratory(task, lanes=LANES, seed=seed)
    batch.trials.draw = Injected(conditions, torch.arange(LANES))
    subject = WanderingSubject(batch, seed)
    log = Log(batch.gaze.clone())
    for _ in range(count):
        log.actions.append(subject.act().action)
        log.frames.append(batch.step(log.actions[-1]))
        log.gazes.append(batch.gaze.clone())
    return log, batch


def check_alone(single: Laboratory, lane: int, log: Log, conditions: dict[str, torch.Tensor]) -> None:
    """Run one lane of the log in a laboratory of its own; everything must be as it was among the others."""
    single.restart(0)
    single.trials.draw = Injected(conditions, torch.tensor([lane]))
    single.gaze = log.start[lane : lane + 1].clone()
    for action, expected, gaze in zip(log.actions, log.frames, log.gazes, strict=True):
        alone = single.step(action[lane : lane + 1])
        if alone.episode_end.item():
            single.gaze = gaze[lane : lane + 1].clone()  # where an episode begins is drawn as well
        mine = (single.gaze, single.observation, alone.final_observation, alone.reward, alone.timed_out)
        theirs = (gaze, expected.observation, expected.final_observation, expected.reward, expected.timed_out)
        assert alone.episode_end.item() == expected.episode_end[lane].item()
        assert [value.item() for value in mine] == [value[lane].item() for value in theirs]


@settings(deadline=None, derandomize=True, max_examples=8)
@given(tasks, st.integers(0, 2**31))
def test_a_lane_among_512_behaves_as_if_alone(task: Task, seed: int):
    conditions = draw_ahead(task, seed)
    log, batch = run_batch(task, conditions, seed, count=100)
    trials = take_trials(batch.trials)
    assert len(trials) > 20, "too little happens to compare"
    single = Laboratory(task)
    busiest = trials["lane"].value_counts(sort=True)["lane"][:2].to_list()
    for lane in {seed % LANES, *busiest}:
        check_alone(single, lane, log, conditions)
        rows = take_trials(single.trials).drop("lane")
        assert rows.equals(trials.filter(trials["lane"] == lane).drop("lane"))


def test_each_of_512_lanes_behaves_as_if_alone():
    task = CuedProduction(intervals=(2, 4), pause=2, fixation_size=0.9, target_size=0.7, target_location=(0.5, 0.5))
    conditions = draw_ahead(task, 5)
    log, batch = run_batch(task, conditions, seed=5, count=7)
    assert len(take_trials(batch.trials)) > 50, "too little happens to compare"
    single = Laboratory(task)
    for lane in range(LANES):
        check_alone(single, lane, log, conditions)
