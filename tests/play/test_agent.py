"""The exported agents act in the browser as they do in Python, on every frame of recorded episodes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from node import run_node
from small_run import CONFIG
from torch import nn

from gnomon.agent.agent import Agent, AgentConfig
from gnomon.agent.feature_cache import FeatureCache
from gnomon.config import RunConfig
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.build import build_agent
from gnomon.play.export import export, layers
from gnomon.play.packing import LEVELS, pack, unpack
from gnomon.published.agents import load_agent
from gnomon.subjects.agent import sample

CLOSE = 1e-3  # of a probability
LANES, FRAMES = 4, 500


@torch.no_grad()
def record(agent, config):
    """Whether an episode begins, what is seen, and what the agent makes of it: one list per lane of one per frame."""
    laboratory = Laboratory(config.task, config.optics, lanes=LANES, seed=5)
    cache, generator = FeatureCache(agent, laboratory.render, laboratory.observations), torch.Generator().manual_seed(6)
    state, first = agent.initial_state(LANES), torch.ones(LANES, dtype=torch.bool)
    seen, made = [], []
    for _ in range(FRAMES):
        observation = laboratory.observation
        output, state = agent.step(cache.look(observation), first, state)
        probabilities = output.logits.softmax(1)
        seen.append(torch.stack([first.long(), laboratory.trials.picture.long(), laboratory.gaze], 1))
        made.append(torch.cat([probabilities, output.value[:, None]], 1))
        first = laboratory.step(sample(probabilities, generator)).episode_end
        if len(seen) == FRAMES // 2:  # episodes are long: begin one in the midst
            laboratory.begin_episode(torch.tensor([0]))
            first[0] = True
    return torch.stack(seen, 1).tolist(), torch.stack(made, 1).numpy(), laboratory


def shipped(name: str) -> tuple[Agent, RunConfig]:
    agent, config = load_agent(Path("published") / name)
    if name == "feedforward-0":  # its own lattice is fine; a coarser one is the same test
        config = replace(config, optics=replace(config.optics, gaze_step=40))
    return agent, config


def untrained(controller: str) -> tuple[Agent, RunConfig]:
    config = replace(CONFIG, agent=AgentConfig(controller, units=32, features=32, value_units=16))
    return build_agent(config, Laboratory(config.task, config.optics)), config


@pytest.mark.parametrize("name", ["lstm-0", "gru", "rnn", "rmc", "frozen_lstm", "feedforward-0"])
def test_action_probabilities_are_those_of_python(name: str):
    agent, config = shipped(name) if name.endswith("-0") else untrained(name)
    lanes, expected, laboratory = record(agent, config)
    spec = export(agent, config, name)
    pictures, gazes = [1, 3, 7, 11, 2, 0], [0, laboratory.lattice.count // 2, laboratory.lattice.count - 2]
    images = [(picture, gaze) for picture in pictures for gaze in gazes]
    answer = run_node("agent.js", {"spec": spec, "lanes": lanes, "images": images})

    assert answer["fast"] is (True if agent.controller.recurrent else None), "the fast product did not run"
    for lane, frames in enumerate(answer["answers"]):
        probabilities = np.array([frame[0] for frame in frames])
        assert np.abs(probabilities - expected[lane, :, :-1]).max() < CLOSE
        assert np.abs(np.array([frame[1] for frame in frames]) - expected[lane, :, -1]).max() < 5 * CLOSE
    projections = np.array([frame[2] for frames in answer["answers"] for frame in frames])
    assert projections.std() > 0.2, "the principal component does not move"

    ids = torch.tensor([int(laboratory._first_id[picture]) + gaze for picture, gaze in images])
    pixels = np.array(answer["pixels"], dtype=np.uint8).reshape(len(images), *config.optics.retina, 4)
    np.testing.assert_array_equal(pixels[..., :3], laboratory.render(ids).numpy())


def test_packing_keeps_numbers_to_half_a_step():
    table = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 10.0, 0.0]
    assert np.abs(unpack(pack(table, 0.01)) - table).max() <= 0.005 + 1e-9
    span = table.max(0) - table.min(0)
    assert (np.abs(unpack(pack(table)) - table) <= span / LEVELS / 2 + 1e-9).all()


def test_a_table_with_a_hole_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        pack(np.array([[0.0, np.nan]]))


def test_a_head_of_several_layers_is_a_list():
    head = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    first, second = layers(head)
    assert (first["weight"]["rows"], first["weight"]["columns"], first["activation"]) == (4, 3, "relu")
    assert (second["weight"]["rows"], "activation" in second) == (3, False)
    with pytest.raises(ValueError, match="cannot run"):
        layers(nn.Sequential(nn.Linear(4, 3), nn.Softplus()))
