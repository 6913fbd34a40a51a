"""Configs of the first format, those of the published agents among them, keep their meaning."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from gnomon.config import LearningConfig, RunConfig, read_config
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PAPER
from gnomon.learn.aids import Aids
from gnomon.published.agents import SHIPPED

PUBLISHED = sorted(path.parent.name for path in SHIPPED.glob("*/config.json"))


# The first format.

# Learning of the published agents, as their configs of the first format have it.
LSTM = {
    "lanes": 512,
    "unroll": 100,
    "batch": 128,
    "optimiser": {
        "learning_rate": 1e-3,
        "vision_learning_rate": 1e-4,
        "betas": (0.9, 0.95),
        "epsilon": 1e-4,
        "clip_norm": 1000.0,
        "vision_every": 1,
        "vision_sample": 0,
    },
    "loss": {"discount": 0.99, "value_cost": 0.5, "entropy_cost": 0.003, "horizon": 0, "trace_decay": 1.0},
    "schedule": {
        "frames": 60_000_000,
        "anneal_from": 0.5,
        "anneal_until": 0.94,
        "final_learning_rate": 0.0005,
        "final_entropy": 1.0,
    },
    "aids": {
        "chrono": {"span": 200.0},
        "initial_state": {"rate": 0.1},
        "success_annealing": {
            "final_learning_rate": 0.1,
            "mastery": 0.85,
            "polish_frames": 8_000_000,
            "final_entropy_cost": 0.0002,
        },
        "vision_freeze": {"frames": 2_000_000},
        "reward_shaping": {"width": 20.0, "final_width": 8.0, "repay_discount": False},
        "lstd_critic": {"memory": 0.95, "privileged": False, "until": 0.75},
        "kl_limit": {"nats": 3e-3},
        "rollback": {"below": 0.5},
    },
    "pipeline": "off",
    "device": "cpu",
}
FEEDFORWARD = {
    "lanes": 512,
    "unroll": 100,
    "batch": 32,
    "optimiser": {
        "learning_rate": 1e-3,
        "vision_learning_rate": 1e-4,
        "betas": (0.9, 0.999),
        "epsilon": 1e-4,
        "clip_norm": 40.0,
        "vision_every": 64,
        "vision_sample": 0,
    },
    "loss": {"discount": 0.99, "value_cost": 0.5, "entropy_cost": 0.003, "horizon": 0, "trace_decay": 1.0},
    "schedule": {
        "frames": 80_000_000,
        "anneal_from": 0.5,
        "anneal_until": 0.94,
        "final_learning_rate": 0.05,
        "final_entropy": 1.0,
    },
    "aids": {
        "whitened_inputs": {"smallest": 0.05},
        "initial_state": {"rate": 0.1},
        "success_annealing": {
            "final_learning_rate": 1.0,
            "mastery": 0.42,
            "polish_frames": 30_000_000,
            "final_entropy_cost": 0.00003,
        },
        "vision_freeze": {"frames": 300_000},
        "reward_shaping": {"width": 50.0, "final_width": 15.0, "repay_discount": True},
        "lstd_critic": {"memory": 0.98, "privileged": True, "until": 0.3},
        "kl_limit": {"nats": 5e-3},
        "rollback": {"below": 0.6},
    },
    "pipeline": "off",
    "device": "cpu",
}
AGENTS: dict[str, tuple[dict[str, Any], dict[str, Any], OpticsConfig]] = {
    "lstm-0": (
        {"controller": "lstm", "units": 128, "features": 256, "value_units": 0},
        LSTM,
        OpticsConfig(retina=(32, 32), field_of_view=63.4, gaze_step=60, gaze_limit=20.0),
    ),
    "feedforward-0": (
        {"controller": "feedforward", "units": 128, "features": 256, "value_units": 0},
        FEEDFORWARD,
        OpticsConfig(retina=(32, 32), field_of_view=90.0, gaze_step=5, gaze_limit=36.0),
    ),
}


def in_use(aids: Aids) -> dict[str, dict[str, Any]]:
    """The aids that are on, with their settings."""
    return {name: asdict(getattr(aids, name)) for name in aids.use}


@pytest.mark.parametrize("name", AGENTS)
def test_published_agents_keep_every_setting(name: str) -> None:
    config = read_config(SHIPPED / name / "config.json")
    agent, learning, optics = AGENTS[name]
    assert asdict(config.agent) == agent
    assert {**asdict(config.learning), "aids": in_use(config.learning.aids)} == learning
    assert (config.task, config.optics, config.seed) == (PAPER, optics, 0)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_agent_is_the_one_that_was_saved(name: str) -> None:
    path = SHIPPED / name / "config.json"
    config, saved = read_config(path), json.loads(path.read_text())
    assert (config.agent.controller, config.agent.units) == (saved["agent"]["controller"], saved["agent"]["units"])
    assert config.agent.features == saved["agent"]["features"]
    assert json.loads(json.dumps(asdict(config.optics))) == saved["optics"]
    task = json.loads(json.dumps({"name": config.task.name, **asdict(config.task)}))
    assert {name: task[name] for name in saved["task"]} == saved["task"]  # there may be newer settings besides
    assert (config.learning.loss.horizon or None) == saved["learning"]["horizon"]
    assert RunConfig.from_json(config.to_json()) == config


def first_format(**learning: Any) -> LearningConfig:
    return RunConfig.from_json(json.dumps({"learning": learning})).learning


# What switched each aid off in the first format.
OFF: dict[str, dict[str, Any]] = {
    "initial_state": {"settling": None},
    "success_annealing": {"mastery": 1.5, "careful_learning_rate": 1.0},
    "vision_freeze": {"vision_frames": 60_000_000},
    "reward_shaping": {"grading": None},
    "lstd_critic": {"critic_memory": None},
    "kl_limit": {"trust": None},
    "rollback": {"lost": None},
}


@pytest.mark.parametrize("aid", OFF)
def test_what_was_off_in_the_first_format_is_off(aid: str) -> None:
    assert set(first_format().aids.use) == set(OFF)
    assert set(first_format(**OFF[aid]).aids.use) == set(OFF) - {aid}


def test_what_no_longer_exists_is_left_out() -> None:
    assert first_format(dedup=False, stagger=False, rewards_per_batch=3.0) == first_format()


def test_the_other_meanings_of_the_first_format() -> None:
    assert first_format(whiten=True).aids.use[0] == "whitened_inputs"
    assert RunConfig.from_json('{"agent": {"memory_span": 50}}').learning.aids.chrono.span == 50
    assert first_format(horizon=10).loss.horizon == 10
    constant = first_format(final_learning_rate=1.0).schedule
    assert constant.final_learning_rate == 1.0
    assert first_format(final_grading=None).aids.reward_shaping.final_width == 20.0
    assert first_format(value_until=None).aids.lstd_critic.until > 1  # the value loss shapes the controller all along
    careful = first_format(final_entropy_cost=None).aids.success_annealing
    assert careful.final_learning_rate == 0.1
    assert careful.mastery > 1  # no polishing
