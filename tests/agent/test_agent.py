"""The whole agent: one way to act, and the parts that may learn."""

import pytest
import torch

from gnomon.agent.agent import Agent, AgentConfig
from gnomon.agent.controllers import CONTROLLERS

T, B = 4, 3


def build(controller: str) -> Agent:
    config = AgentConfig(controller=controller, units=16, features=12)
    return Agent(config, (8, 8), 5, torch.Generator().manual_seed(6))


def frames() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    pixels = torch.randint(0, 256, (T * B, 8, 8, 3), dtype=torch.uint8, generator=generator)
    first = torch.zeros(T, B, dtype=torch.bool)
    first[0] = first[2, 1] = True
    return pixels, first


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_steps_equal_unroll(controller: str, precision: torch.dtype) -> None:
    agent = build(controller)
    agent.multiply_in(precision)
    pixels, first = frames()
    drive = agent.drive(pixels).view(T, B, -1)
    whole, _ = agent.unroll(drive, first, agent.initial_state(B))
    assert whole.logits.shape == (T, B, 5)
    assert whole.value.shape == (T, B)
    state = agent.initial_state(B)
    for t in range(T):
        output, state = agent.step(drive[t], first[t], state)
        torch.testing.assert_close(output.logits, whole.logits[t])
        torch.testing.assert_close(output.value, whole.value[t])
        assert tuple(output.units) == agent.controller.unit_names
        for name, tensor in output.units.items():
            torch.testing.assert_close(tensor, whole.units[name][t])


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_products_in_bfloat16_change_little_and_leave_no_tensor_behind(controller: str) -> None:
    pixels, first = frames()
    outputs = []
    for precision in (torch.float32, torch.bfloat16):
        agent = build(controller)
        agent.multiply_in(precision)
        drive = agent.drive(pixels)
        output, _ = agent.unroll(drive.view(T, B, -1), first, agent.initial_state(B))
        output.logits.square().sum().backward()
        gradients = [p.grad for p in agent.parameters() if p.grad is not None]
        assert {x.dtype for x in (drive, output.logits, output.value, *gradients)} == {torch.float32}
        outputs.append((drive, output.logits))
    for single, ours in zip(*outputs, strict=True):
        assert 1e-5 < (ours - single).norm() / single.norm() < 1 / 32


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_training_moves_everything_but_a_frozen_controller(controller: str) -> None:
    agent = build(controller)
    before = {name: parameter.detach().clone() for name, parameter in agent.named_parameters()}
    optimiser = torch.optim.Adam(agent.parameters(), lr=1e-2)
    pixels, first = frames()
    output, _ = agent.unroll(agent.drive(pixels).view(T, B, -1), first, agent.initial_state(B))
    (output.logits.square().sum() + output.value.square().sum()).backward()
    optimiser.step()
    stayed = {name for name, parameter in agent.named_parameters() if torch.equal(before[name], parameter)}
    frozen = {name for name in before if name.startswith("controller.")}
    assert stayed == (frozen if controller == "frozen_lstm" else set())


def test_the_seed_decides_the_weights() -> None:
    torch.manual_seed(1)
    one = build("lstm").state_dict()
    torch.manual_seed(2)
    two = build("lstm").state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_initial_state_has_a_row_per_lane() -> None:
    assert {name: tensor.shape for name, tensor in build("lstm").initial_state(4).items()} == {
        "cell": (4, 16),
        "hidden": (4, 16),
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"controller": "lsmt"}, "unknown controller 'lsmt'; choose lstm, feedforward"),
        ({"units": 0}, "units must be at least 1, got 0"),
        ({"controller": "rmc", "units": 24}, "multiple of its slots x heads, 16; got 24"),
        ({"features": 0}, "features is 0; it must be at least 1"),
    ],
)
def test_a_bad_setting_is_named(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AgentConfig(**settings)
