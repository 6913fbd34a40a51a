"""Trials and recordings of a participant: agents and scripted subjects do the task in fresh lanes.

Each lane does whole episodes where there are enough trials, so that an episode's first trial is as rare as in the task.
"""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import torch
import xarray as xr

from gnomon.agent.feature_cache import run_vision
from gnomon.analysis.units import DEFAULT_UNITS, recorded_units
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.learn.build import untrained_agent
from gnomon.published.agents import load_agent
from gnomon.records.people import read_people
from gnomon.records.recordings import read_recording, write_recording
from gnomon.records.trials import write_trials
from gnomon.study.participants import Participant
from gnomon.subjects.evaluation import do_trials, evaluate, finished, share_trials
from gnomon.subjects.scripted import SUBJECTS

FEWEST_LANES = 20  # lanes are what bootstraps resample
MOST_LANES = 1200  # at once
RECORDED_TRIALS = 320  # at least about: how many are recorded frame by frame
RECORDED_LANES = 12  # at least, if there are as many
PROBE_PROBABILITY = 0.7
UNROLL = 500  # frames that an untrained network is shown at once
FIRST_FRAME = -1  # number of the frame with an episode's first picture, in a recording


def lanes_for(task: ReadySetGo, trials: int) -> int:
    """As many lanes as whole episodes make up the trials, within limits."""
    return min(trials, max(FEWEST_LANES, min(MOST_LANES, trials // task.trials_per_episode)))


def with_probes(task: ReadySetGo) -> ReadySetGo:
    """The task with trials between the intervals of training, below the shortest, and up to 1.5 times the longest.

    Below the shortest there is none that is as short as Ready's flash: Set would appear while Ready is still on, a
    picture that training does not show.
    """
    trained = sorted(task.intervals)
    between = {(low + high) // 2 for low, high in pairwise(trained)}
    step = max(1, trained[-1] // 10)
    below = {trained[0] // 2} if trained[0] // 2 > task.flash else set()
    above = {trained[-1] + step * number for number in range(1, 6)}
    probes = sorted((below | between | above) - set(trained))
    return replace(task, probe_intervals=tuple(probes), probe_probability=PROBE_PROBABILITY)


def make_trials(
    each: Participant, task: ReadySetGo, trials: int, seed: int, path: Path, recording: Path | None
) -> None:
    """Let a participant do the task; writes the trial table, and a recording if it has a path."""
    if each.person is not None:
        write_trials(people_trials(each.person), path)
        return
    if each.path is None:
        write_trials(scripted_trials(each.name, task, trials, seed), path)
        return
    agent, _ = load_agent(each.path)
    lanes = lanes_for(task, trials)
    recorded = max(RECORDED_LANES, -(-RECORDED_TRIALS * lanes // trials)) if recording is not None else 0
    shown = [name for name in DEFAULT_UNITS if name in agent.controller.unit_names][:1]
    result = evaluate(
        agent, task, each.config.optics, trials=trials, seed=seed, lanes=lanes, record_lanes=recorded, units=shown
    )
    write_trials(result.trials, path)
    if recording is not None and result.recording is not None:
        write_recording(result.recording, recording)


def people_trials(path: Path) -> pl.DataFrame:
    """A person's finished trials. Each counts as a lane of its own: with one person, bootstraps resample trials."""
    table = finished(read_people(path))
    return table.with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("lane"))


@torch.no_grad()
def scripted_trials(name: str, task: ReadySetGo, trials: int, seed: int) -> pl.DataFrame:
    """The trial table of a scripted subject, as an agent's evaluation makes it."""
    lanes, share = share_trials(trials, task, lanes_for(task, trials))
    laboratory = Laboratory(task, lanes=lanes, seed=seed)
    return do_trials(SUBJECTS[name](laboratory, seed + 1), share).trials


# A random network for comparison --------------------------------------------------------------------------


def record_untrained(each: Participant, recording: Path, path: Path) -> None:
    """Write the recording anew with the units of the same network before training, shown the same frames.

    It sees what the trained agent saw, frame by frame, and does nothing: what can be read from its units was not
    learned.
    """
    write_recording(untrained_recording(each, read_recording(recording)), path)


@torch.no_grad()
def untrained_recording(each: Participant, recorded: xr.Dataset) -> xr.Dataset:
    """The recording with every array of units replaced by that of the untrained network."""
    lanes, _ = recorded["episode"].shape
    laboratory = Laboratory(each.task, each.config.optics, lanes=lanes)
    agent = untrained_agent(each.config, laboratory)
    pictures, gazes, number = (
        torch.from_numpy(recorded[name].values.T.astype(np.int64))  # [frames, lanes]
        for name in ("picture", "gaze_index", "episode_frame")
    )
    laboratory.trials.picture, laboratory.gaze = pictures.flatten(), gazes.flatten()
    distinct, place = laboratory.observation.unique(return_inverse=True)
    drive = agent.controller.drive(run_vision(agent, laboratory.render, distinct))
    state, names = agent.initial_state(lanes), recorded_units(recorded)
    parts: list[dict[str, torch.Tensor]] = []  # name -> [frames, lanes, unit]
    for places, first in zip(place.view_as(gazes).split(UNROLL), (number == FIRST_FRAME).split(UNROLL), strict=True):
        _, state, units = agent.controller.unroll(drive[places], first, state)
        parts.append({f"units_{name}": units[name].flatten(2).to(torch.float16) for name in names})
    whole = {name: torch.cat([part[name] for part in parts]).transpose(0, 1).numpy() for name in parts[0]}
    return recorded.assign({name: (recorded[name].dims, values) for name, values in whole.items()})
