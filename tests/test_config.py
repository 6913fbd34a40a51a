"""Configs: what is saved comes back, old ones keep their meaning, and what is wrong is said in one line."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gnomon.agent.controllers import CONTROLLERS
from gnomon.config import LearningConfig, RunConfig, read_config
from gnomon.declared import as_declared
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import TASKS
from gnomon.presets import PRESETS, preset

# Saving and reading.


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_every_preset_survives_json(name: str, task: str, controller: str) -> None:
    config = preset(name, task, controller)
    text = config.to_json()
    assert json.loads(text)["format"] == 6
    assert RunConfig.from_json(text) == config


def test_settings_that_are_not_named_keep_their_defaults() -> None:
    assert RunConfig.from_json('{"format": 6}') == RunConfig()
    some = RunConfig.from_json('{"format": 6, "learning": {"lanes": 7, "loss": {"discount": 1}}, "seed": 5}')
    assert (some.learning.lanes, some.learning.loss.discount, some.seed) == (7, 1.0, 5)
    assert (some.learning.batch, some.learning.loss.entropy_cost) == (32, 0.01)


def test_on_a_laptop_all_agents_see_alike_and_learn_from_the_tasks_own_reward() -> None:
    """Agents differ in what learns, not in what they see."""
    configs = {name: preset("laptop", controller=name) for name in CONTROLLERS}
    assert {config.optics for config in configs.values()} == {OpticsConfig()}
    assert {config.agent.value_units for config in configs.values()} == {256}
    assert {name for name, config in configs.items() if config.agent.whitening != 0.05} == {"frozen_lstm"}
    assert {name for name, config in configs.items() if config.agent.chrono_span == 200} == {
        name for name, controller in CONTROLLERS.items() if controller.gated
    }


def test_the_default_of_learning_is_the_paper() -> None:
    assert asdict(LearningConfig()) == {
        "lanes": 200,
        "unroll": 100,
        "batch": 32,
        "optimiser": {
            "learning_rate": 1e-5,
            "vision_learning_rate": 1e-5,
            "betas": (0.9, 0.999),
            "epsilon": 1e-4,
            "clip_norm": 40.0,
            "vision_every": 1,
            "vision_sample": 0,
        },
        "loss": {"discount": 0.99, "value_cost": 0.5, "entropy_cost": 0.01, "horizon": 0},
        "schedule": {
            "frames": 3_200_000_000,
            "final_learning_rate": 1.0,
            "final_entropy": 1.0,
        },
        "workers": 1,
        "device": "cpu",
        "precision": "single",
    }
    assert PRESETS["paper"].learning == LearningConfig()


# Mistakes.

WHOLE, TABLE = "it must be a whole number", "it must be an object with settings"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"learning": {"lanes": "many"}}, f"lanes is 'many'; {WHOLE}"),
        ({"learning": {"lanes": 1.5}}, f"lanes is 1.5; {WHOLE}"),
        ({"learning": {"lanes": True}}, f"lanes is True; {WHOLE}"),
        ({"learning": {"lanes": None}}, f"lanes is None; {WHOLE}"),
        ({"learning": {"lanes": 0}}, "lanes is 0; it must be at least 1"),
        ({"learning": {"loss": {"discount": "0.9"}}}, "discount is '0.9'; it must be a number"),
        ({"learning": {"loss": {"entropy_cost": float("nan")}}}, "entropy_cost is nan; it must be at least 0"),
        ({"learning": {"optimiser": {"betas": [0.9]}}}, "betas is (0.9,); it must be a list (2, each a number)"),
        ({"learning": {"device": 0}}, "device is 0; it must be a text in quotes"),
        ({"learning": {"precision": "half"}}, "unknown precision 'half'; choose single, bfloat16"),
        ({"agent": {"chrono_span": 0.5}}, "chrono_span is 0.5; it must be at least 1 frame, or 0 for none"),
        ({"agent": {"chrono_span": float("nan")}}, "chrono_span is nan; it must be at least 1 frame, or 0 for none"),
        ({"agent": {"chrono_span": float("inf")}}, "chrono_span is inf; it must be at least 1 frame, or 0 for none"),
        (
            {"agent": {"controller": "rnn", "chrono_span": 9.0}},
            "chrono_span is 9.0, but a rnn has no gates",
        ),
        ({"agent": {"whitening": -0.1}}, "whitening is -0.1; a share from 0.001 to 1, or 0 for none"),
        # Whole numbers beyond 64 bits.
        ({"seed": 2**63}, f"seed is {2**63}; it must fit into 64 bits"),
        ({"learning": {"lanes": -(2**63) - 1}}, f"lanes is {-(2**63) - 1}; it must fit into 64 bits"),
        ({"learning": {"loss": {"discount": 10**400}}}, f"discount is {10**400}; it must fit into 64 bits"),
        ({"learning": {"optimiser": {"betas": [10**400, 0]}}}, f"betas is ({10**400}, 0); it must be a list (2, each"),
        # Nothing where a table belongs.
        ({"learning": None}, f"LearningConfig is None; {TABLE}"),
        ({"learning": {"loss": None}}, f"Loss is None; {TABLE}"),
        ({"optics": []}, f"OpticsConfig is []; {TABLE}"),
        ({"agent": "lstm"}, f"AgentConfig is 'lstm'; {TABLE}"),
        ({"task": None}, "task is None; it must be an object with a name"),
        # Unknown names.
        ({"laerning": {}}, "RunConfig has no setting laerning; it has agent, learning, optics, seed, task"),
        ({"learning": {"frames": 5}}, "LearningConfig has no setting frames; it has batch, "),
        ({"task": {"name": "bisect"}}, f"unknown task 'bisect'; choose {', '.join(TASKS)}"),
        ({"task": {"name": []}}, "unknown task []; choose "),
        ({"learning": {"aids": {}}}, "LearningConfig has no setting aids; it has batch, "),
        # Unknown formats.
        ({"format": 5}, "format is 5; this version of gnomon reads 6"),
        ({"format": 7}, "format is 7; this version of gnomon reads 6"),
        ({"format": "5"}, "format is '5'; this version of gnomon reads 6"),
        ({"format": None}, "format is None; this version of gnomon reads 6"),
    ],
)
def test_a_mistake_is_said_in_one_line(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"format": 6, **settings}))
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the message is compared below)
        read_config(path)
    assert str(error.value).startswith(f"{path}: {said}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000])
def test_what_is_no_config_is_said_to_be_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"config\.json: \S"):
        read_config(path)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_whole_numbers_of_64_bits_are_taken(value: int) -> None:
    assert as_declared("x", int, value) == value
    assert as_declared("x", float | None, value) == float(value)
