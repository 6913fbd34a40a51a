"""Whitened features: vision's own, centred, uncorrelated and alike in size, in a way that is fixed at the start."""

from dataclasses import replace

import pytest
import torch
from small_run import CONFIG
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.agent.vision import Vision
from gnomon.config import RunConfig
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.build import build_agent, untrained_agent

RETINA, F = (8, 8), 6


@pytest.fixture
def features() -> Tensor:
    """A large mean, and directions whose spreads differ a hundredfold. [500, 6]"""
    generator = torch.Generator().manual_seed(0)
    spread = torch.tensor([1.0, 0.3, 0.1, 0.05, 0.02, 0.01], dtype=torch.float64)
    mixing, _ = torch.linalg.qr(torch.randn(F, F, generator=generator, dtype=torch.float64))
    return (torch.randn(500, F, generator=generator, dtype=torch.float64) * spread) @ mixing + 3.0


def vision(*, whitened: bool) -> Vision:
    return Vision(RETINA, F, generator=torch.Generator().manual_seed(1), whitened=whitened).double()


def test_features_are_centred_uncorrelated_and_alike_in_size(features: Tensor) -> None:
    seeing = vision(whitened=True)
    seeing.whiten(features, 0.05)
    white = (features - seeing.mean) @ seeing.basis
    covariance = white.T @ white / len(white)
    assert white.mean(0).abs().max() < 1e-9
    assert (covariance - covariance.diag().diag()).abs().max() < 1e-9
    assert covariance.diag().max() <= 1
    assert (covariance.diag() > 0.4).sum() == 4  # spreads above a twentieth of the largest are brought to about 1


def test_vision_hands_out_what_has_been_whitened() -> None:
    plain, whitened = vision(whitened=False), vision(whitened=True)
    pixels = torch.randint(256, (40, *RETINA, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    features = plain(pixels).detach()
    assert torch.equal(whitened(pixels), features)  # until it is told how to whiten
    whitened.whiten(features, 0.05)
    torch.testing.assert_close(whitened(pixels), (features - features.mean(0)) @ whitened.basis)
    assert not torch.equal(whitened(pixels), features)


def test_features_that_never_differ_are_no_obstacle() -> None:
    seeing = vision(whitened=True)
    seeing.whiten(torch.ones(10, F, dtype=torch.float64), 0.05)
    assert seeing.basis.isfinite().all()
    assert seeing.basis.abs().max() < 100


def built(config: RunConfig) -> tuple[Agent, Agent, Laboratory]:
    """The agent as drawn, the one that begins to learn, and a laboratory."""
    laboratory = Laboratory(config.task, config.optics)
    return build_agent(config, laboratory), untrained_agent(config, laboratory), laboratory


def test_an_agent_begins_with_features_whitened_by_what_there_is_to_see() -> None:
    """All observations of this small laboratory are in the sample."""
    config = replace(CONFIG, agent=replace(CONFIG.agent, whitening=0.05))
    drawn, first, laboratory = built(config)
    assert laboratory.observations < 2048
    pixels = laboratory.render(torch.arange(laboratory.observations))
    with torch.no_grad():
        white, raw = first.vision(pixels), drawn.vision(pixels)
    torch.testing.assert_close(white.mean(0), torch.zeros(16), atol=1e-3, rtol=0)
    spread = white.std(0).sort().values
    assert spread[-1] == pytest.approx(1, abs=0.01)
    assert spread[-6] > 0.5
    expected = Vision(config.optics.retina, 16, generator=torch.Generator(), whitened=True)
    expected.whiten(raw, 0.05)
    torch.testing.assert_close(first.vision.mean, expected.mean, atol=1e-5, rtol=1e-4)
    for name, parameter in first.named_parameters():  # whitening is no part of the weights
        assert torch.equal(parameter, drawn.get_parameter(name)), name


def test_by_default_features_are_what_vision_makes_them() -> None:
    drawn, first, _ = built(CONFIG)
    assert not list(first.vision.named_buffers())
    for name, parameter in first.named_parameters():
        assert torch.equal(parameter, drawn.get_parameter(name)), name


def test_time_constants_are_among_the_first_weights() -> None:
    usual, _, laboratory = built(CONFIG)
    slow = build_agent(replace(CONFIG, agent=replace(CONFIG.agent, chrono_span=200.0)), laboratory)
    changed = [name for name, p in slow.named_parameters() if not torch.equal(p, usual.get_parameter(name))]
    assert changed == ["controller.bias"]
