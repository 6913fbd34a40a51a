"""Evaluation: fresh lanes, frozen weights, sampled actions, until every lane has done its share of trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import polars as pl
import torch
import xarray as xr

from gnomon.agent.agent import Agent
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import Task
from gnomon.records.recordings import Recorder
from gnomon.records.trials import take_trials
from gnomon.subjects.agent import AgentDecision, AgentSubject
from gnomon.subjects.subject import AnyDecision, Moment, Subject, frames

MOST_LANES = 1_200  # of 50 trials each: 60,000, as many as the figure of the paper has
FRAMES_PER_TRIAL = 3_000  # an agent that needs more than this on average does not get all its trials
COLLECT_FRAMES = 200  # frames between two looks at how many trials are done

Report = Callable[[int, int], None]
"""Is told how many trials are done, and how many are wanted."""


@dataclass(frozen=True)
class Evaluation:
    """What a subject did in every lane of a laboratory."""

    trials: pl.DataFrame
    """The first finished trials of each lane, the same number in every lane, by lane and time."""
    frames: int
    complete: bool
    """Whether every lane finished its share of trials."""
    recording: xr.Dataset | None = None
    """The first lanes frame by frame, if asked for."""


def share_trials(trials: int, task: Task, lanes: int | None = None) -> tuple[int, int]:
    """How many lanes do at least `trials` trials, and how many each does: the same number in every lane.

    By default there are as many lanes as the trials fill episodes, at most 1,200: so first trials of an episode, in
    which the state is still the initial one, have the share that they have in the task.
    """
    if trials < 1:
        raise ValueError(f"trials is {trials}; it must be at least 1")
    lanes = min(MOST_LANES, -(-trials // task.trials_per_episode)) if lanes is None else min(lanes, trials)
    return lanes, -(-trials // lanes)


def do_trials(
    subject: Subject[AnyDecision],
    share: int,
    *,
    watch: Callable[[Moment[AnyDecision]], None] = lambda moment: None,
    report: Report = lambda done, wanted: None,
) -> Evaluation:
    """Let a subject act until it has finished `share` trials in every lane of its laboratory.

    `watch` sees every frame. Each lane does the same number of trials, so that fast trials are not over-represented.
    """
    laboratory = subject.laboratory
    life, wanted = frames(laboratory, subject), laboratory.lanes * share
    tables: list[pl.DataFrame] = []
    each = torch.zeros(laboratory.lanes, dtype=torch.int64)  # trials finished
    done = passed = 0
    while done < wanted and passed < share * FRAMES_PER_TRIAL:
        for moment in islice(life, COLLECT_FRAMES):
            watch(moment)
        passed += COLLECT_FRAMES
        tables.append(finished(take_trials(laboratory.trials)))
        each += torch.bincount(torch.tensor(tables[-1]["lane"].to_numpy()), minlength=laboratory.lanes)
        done = int(each.clamp(max=share).sum())
        report(done, wanted)
    ordered = pl.concat(tables).sort("lane", "episode", "trial", maintain_order=True)
    return Evaluation(ordered.filter(pl.int_range(pl.len()).over("lane") < share), passed, done == wanted)


def evaluate(
    agent: Agent,
    task: Task,
    optics: OpticsConfig,
    *,
    trials: int,
    seed: int,
    lanes: int | None = None,
    record_lanes: int = 0,
    units: Sequence[str] | None = None,
    report: Report = lambda done, wanted: None,
) -> Evaluation:
    """Let the agent do at least `trials` trials, see `share_trials`; the first lanes are recorded frame by frame.

    `units` names the units to record, by default all of them: "cell" and "hidden" of an LSTM, ...
    """
    known = agent.controller.unit_names
    for name in units or ():
        if name not in known:
            raise ValueError(f"unknown units {name!r}; this controller has {', '.join(known)}")
    lanes, share = share_trials(trials, task, lanes)
    device = agent.policy.weight.device
    laboratory = Laboratory(task, optics, lanes=lanes, seed=seed, device=device)
    subject = AgentSubject(laboratory, agent, torch.Generator(device).manual_seed(seed + 1))
    if not record_lanes:
        return do_trials(subject, share, report=report)
    recorder = Recorder(laboratory, min(record_lanes, lanes))

    def keep(moment: Moment[AgentDecision]) -> None:
        decision = moment.decision
        recorder.add(decision.action, decision.value, {name: decision.units[name] for name in units or known})

    done = do_trials(subject, share, watch=keep, report=report)
    return replace(done, recording=recorder.dataset())


def finished(trials: pl.DataFrame) -> pl.DataFrame:
    """Without the trials that an episode's end cut off."""
    return trials.filter(pl.col("outcome") != "cut_off")
