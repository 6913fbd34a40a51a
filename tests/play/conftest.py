"""A small agent that has learned nothing, exported for the page."""

from typing import Any

import pytest
import torch

from gnomon.agent.agent import AgentConfig
from gnomon.config import RunConfig
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import ReadySetGo
from gnomon.learn.build import build_agent
from gnomon.play import export as export_module

SMALL = RunConfig(
    task=ReadySetGo(intervals=(10, 20), trials_per_episode=20, timeout_factor=4.0),
    optics=OpticsConfig(retina=(8, 8), gaze_step=60, gaze_limit=20.0),
    agent=AgentConfig(controller="rnn", units=16, features=8),
)


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The agent; a short evaluation shows few of its trials, or none."""
    monkeypatch.setattr(export_module, "PROBE_TRIALS", 2)
    monkeypatch.setattr(export_module, "PROBE_LANES", 2)
    torch.manual_seed(0)
    return export_module.export(build_agent(SMALL, Laboratory(SMALL.task, SMALL.optics)), SMALL, "small")
