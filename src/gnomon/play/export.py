"""A trained agent as JSON for the browser.

A recurrent agent is its weights: vision, controller, heads. The page renders what it sees and runs vision once for each
observation. An agent without a memory is a function of the observation, which is a whole number: it is a table of
its actions' log probabilities, its value and its units' first principal component, of all drawings that occur.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from sklearn.decomposition import PCA
from torch import Tensor, nn

from gnomon.agent.agent import Agent
from gnomon.agent.feature_cache import run_vision
from gnomon.analysis.performance import share_within
from gnomon.analysis.units import default_units
from gnomon.config import RunConfig
from gnomon.lab.laboratory import Laboratory, action_names
from gnomon.play.packing import pack
from gnomon.published.agents import TRIALS, find_agent, load_agent
from gnomon.records.recordings import locate_trials
from gnomon.records.trials import read_trials
from gnomon.subjects.evaluation import evaluate
from gnomon.subjects.scripted import PerfectSubject

LOGIT_STEP = 0.002  # nats; a probability is then off by at most 0.00025
LEAST_LOG_PROBABILITY = -14.0  # nats; what is rarer than once in a million frames counts as that
VALUE_STEP = 0.0005
PROJECTION_STEP = 0.01  # standard deviations
LOOK_AT_ONCE = 4_096  # observations between two reports of progress
PROBE_TRIALS, PROBE_LANES = 100, 20  # of the short evaluation that the principal component comes from
SHOW_LANES, SHOW_FRAMES = 64, 3_000  # of the perfect subject that makes every drawing appear
MOST_TRIALS = 2_000  # of the agent's own evaluation, for comparison

Report = Callable[[str], None]


def export_agent(path: Path, report: Report = lambda line: None) -> dict[str, Any]:
    """The trained agent in this folder (a run's, a published one's, or `published/NAME`), ready for JSON."""
    folder = find_agent(path)
    agent, config = load_agent(path, report)
    exported = export(agent.cpu(), config, folder.resolve().name, report)
    if (folder / TRIALS).exists():
        exported |= results(read_trials(folder / TRIALS))
    return exported


@torch.no_grad()
def export(agent: Agent, config: RunConfig, name: str, report: Report = lambda line: None) -> dict[str, Any]:
    """An agent that is in memory."""
    laboratory = Laboratory(config.task, config.optics)
    if config.task.restraint(laboratory.trials) is not None:
        raise ValueError(f"{name} was trained with a restrained gaze, which the browser's laboratory does not have")
    report(f"{name}: a short evaluation")
    probe = evaluate(
        agent, config.task, config.optics, trials=PROBE_TRIALS, seed=1, lanes=PROBE_LANES, record_lanes=PROBE_LANES
    )
    assert probe.recording is not None
    units = default_units(probe.recording)
    mean, axis = first_component(probe.recording[f"units_{units}"].values, locate_trials(probe.recording, probe.trials))
    exported = {
        "name": name,
        "controller": config.agent.controller,
        "units": config.agent.units,
        "recurrent": agent.controller.recurrent,
        "actions": len(action_names(config.task)),
        "task": {"name": config.task.name, "settings": asdict(config.task)},
        "optics": asdict(config.optics),
        **results(probe.trials),
    }
    if agent.controller.recurrent:
        component = {"units": units, "mean": rounded(mean), "axis": rounded(axis)}
        return exported | weights_of(agent) | {"component": component}
    return exported | table_of(agent, config, mean, axis, lambda line: report(f"{name}: {line}"))


def weights_of(agent: Agent) -> dict[str, Any]:
    """A recurrent agent's weights under the names of its modules, its initial state, its heads."""
    beginning = agent.initial_state(1)
    whitening = {name: pack(tensor.numpy()) for name, tensor in agent.vision.named_buffers()}
    return {
        "vision": {name: pack(matrix(name, tensor)) for name, tensor in agent.vision.named_parameters()} | whitening,
        "weights": {name: pack(matrix(name, tensor)) for name, tensor in agent.controller.named_parameters()},
        "initial_state": {name: rounded(tensor[0].flatten().numpy()) for name, tensor in beginning.items()},
        "policy": layers(agent.policy),
        "value": layers(agent.value),
    }


def table_of(agent: Agent, config: RunConfig, mean: np.ndarray, axis: np.ndarray, report: Report) -> dict[str, Any]:
    """What an agent without a memory does at each observation: drawings that occur, one after the other, by gaze."""
    laboratory = Laboratory(config.task, config.optics)
    gazes = laboratory.lattice.count
    first_id = laboratory._first_id[sorted(shown_pictures(config))].unique()
    ids = (first_id[:, None] + torch.arange(gazes)).flatten()
    logits, values, projections = [], [], []
    for piece in ids.split(LOOK_AT_ONCE):
        hidden = agent.controller.drive(run_vision(agent, laboratory.render, piece))
        logits.append(agent.policy(hidden).log_softmax(1).clamp(min=LEAST_LOG_PROBABILITY))
        values.append(agent.value(hidden))
        projections.append((hidden.double().numpy() - mean) @ axis)
        report(f"{sum(map(len, logits)):,} of {len(ids):,} observations")
    projection = np.concatenate(projections)[:, None]
    return {
        "drawings": (first_id // gazes).tolist(),
        "tables": {
            "log_probabilities": pack(torch.cat(logits).numpy(), LOGIT_STEP),
            "value": pack(torch.cat(values).numpy(), VALUE_STEP),
            "projection": pack(projection, PROJECTION_STEP),
        },
    }


def matrix(name: str, parameter: Tensor) -> np.ndarray:
    """A parameter as [inputs, outputs], or a bias as [1, outputs].

    A convolution's inputs are a 3 x 3 patch, row by row, with all maps of a pixel together.
    """
    parameter = parameter.detach()
    if parameter.dim() == 1:
        return parameter[None].numpy()
    if parameter.dim() == 4:  # [maps, maps in, 3, 3]
        return parameter.permute(2, 3, 1, 0).flatten(0, 2).numpy()
    return parameter.numpy() if name == "recurrent_weight" else parameter.T.numpy()  # the former is that way already


def layers(head: nn.Module) -> list[dict[str, Any]]:
    """A head as a list of layers: weights [inputs, outputs], bias, and the activation that follows."""
    parts = list(head) if isinstance(head, nn.Sequential) else [head]
    packed: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, nn.Linear):
            packed.append({"weight": pack(matrix("weight", part.weight)), "bias": pack(matrix("bias", part.bias))})
        elif isinstance(part, nn.ReLU | nn.Tanh | nn.ELU) and packed:
            packed[-1]["activation"] = type(part).__name__.lower()
        else:
            raise ValueError(
                f"a head has a layer that the page cannot run: {part}; it knows Linear, ReLU, Tanh and ELU"
            )
    return packed


def first_component(activity: np.ndarray, trials: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean and first principal axis, each [units], of units [lane, frame, unit] while trials run.

    The axis points to where the units go in the course of a trial; its length makes the projection's s.d. 1.
    """
    spans = trials.select("lane", "origin", "start_frame", "end_frame").rows()
    rows = [activity[lane, origin + start : origin + end].astype(np.float64) for lane, origin, start, end in spans]
    if not rows:
        return np.zeros(activity.shape[-1]), np.zeros(activity.shape[-1])
    pca = PCA(1).fit(np.concatenate(rows))
    mean, axis = np.asarray(pca.mean_), np.asarray(pca.components_)[0]
    score = (np.concatenate(rows) - mean) @ axis
    time = np.concatenate([np.arange(len(row)) for row in rows])
    sign = 1 if np.dot(score, time - time.mean()) >= 0 else -1
    return mean, sign * axis / (score.std() or 1.0)


def shown_pictures(config: RunConfig) -> set[int]:
    """The pictures that a perfect subject meets."""
    laboratory = Laboratory(config.task, lanes=SHOW_LANES)
    subject, seen = PerfectSubject(laboratory), torch.zeros(len(config.task.pictures()), dtype=torch.bool)
    for _ in range(SHOW_FRAMES):
        seen[laboratory.trials.picture.long()] = True
        laboratory.step(subject.act().action)
    return set(seen.nonzero().squeeze(1).tolist())


def results(trials: pl.DataFrame) -> dict[str, Any]:
    """Sample and production intervals of answered trials, one list each, and the share of good answers of all."""
    answered = trials.filter(pl.col("production_interval").is_not_null()).head(MOST_TRIALS)
    share = share_within(trials)
    return {
        "trials": [answered["sample_interval"].to_list(), answered["production_interval"].to_list()],
        "share_within": share.value if share.n_trials else 0.0,
    }


def rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.7g}") for value in values]
