"""Evaluation: fresh lanes, frozen weights, sampled actions, until every lane has done its share of trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl
import torch
import xarray as xr

from gnomon.agent.agent import Agent
from gnomon.agent.eye import Eye
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import Task
from gnomon.learn.actor import sample
from gnomon.records.recordings import Recorder
from gnomon.records.trials import take_trials

FRAMES_PER_TRIAL = 3_000  # an agent that needs more than this on average does not get all its trials
COLLECT_FRAMES = 200  # frames between two looks at how many trials are done


@dataclass(frozen=True)
class Evaluation:
    trials: pl.DataFrame
    recording: xr.Dataset | None
    frames: int
    complete: bool
    """Whether every lane finished its share of trials."""


@torch.no_grad()
def evaluate(
    agent: Agent,
    task: Task,
    optics: OpticsConfig,
    *,
    trials: int,
    seed: int,
    lanes: int = 200,
    record_lanes: int = 0,
    units: Sequence[str] | None = None,
    report: Callable[[int, int], None] = lambda done, wanted: None,
) -> Evaluation:
    """Let the agent do `trials` trials; the first `record_lanes` lanes are recorded frame by frame.

    `units` names the units to record, by default all of them: "cell" and "hidden" of an LSTM, ...

    Each lane does the same number of trials, so that fast trials are not over-represented. `report` is told how many
    are done and wanted.
    """
    if trials < 1:
        raise ValueError(f"trials is {trials}; an evaluation needs at least 1")
    known = agent.controller.unit_names
    for name in units or ():
        if name not in known:
            raise ValueError(f"unknown units {name!r}; this controller has {', '.join(known)}")
    lanes = min(lanes, trials)
    share = -(-trials // lanes)
    device = agent.policy.weight.device
    laboratory = Laboratory(task, optics, lanes=lanes, seed=seed, device=device)
    generator = torch.Generator(device).manual_seed(seed + 1)
    eye = Eye(agent, laboratory.render, laboratory.observations)
    recorder = Recorder(laboratory, min(record_lanes, lanes)) if record_lanes else None
    state, first = agent.initial_state(lanes), torch.ones(lanes, dtype=torch.bool, device=device)
    tables: list[pl.DataFrame] = []
    frames, done = 0, 0
    while done < lanes * share and frames < share * FRAMES_PER_TRIAL:
        for _ in range(COLLECT_FRAMES):
            output, state = agent.step(eye.look(laboratory.observation), first, state)
            action = sample(output.logits.softmax(1), generator)
            if recorder is not None:
                recorder.add(action, output.value, {name: output.units[name] for name in units or known})
            first = laboratory.step(action).episode_end
        frames += COLLECT_FRAMES
        tables.append(take_trials(laboratory.trials))
        done = sum(min(count, share) for count in finished(pl.concat(tables)).group_by("lane").len()["len"])
        report(min(done, trials), trials)
    table = first_trials(pl.concat(tables), share, trials)
    return Evaluation(table, recorder.dataset() if recorder else None, frames, done == lanes * share)


def finished(trials: pl.DataFrame) -> pl.DataFrame:
    """Without the trials that an episode's end cut off."""
    return trials.filter(pl.col("outcome") != "cut_off")


def first_trials(trials: pl.DataFrame, share: int, count: int) -> pl.DataFrame:
    """The first `share` finished trials of each lane, at most `count` in all, by lane and time."""
    ordered = finished(trials).sort("lane", "episode", "trial", maintain_order=True)
    number = pl.int_range(pl.len()).over("lane")
    chosen = ordered.with_columns(number.alias("_number")).filter(pl.col("_number") < share)
    # If lanes x share is more than asked for, the last trials of the last lanes go.
    ranked = chosen.with_row_index("_row").sort("_number", "_row").head(count).sort("_row")
    return ranked.drop("_number", "_row")
