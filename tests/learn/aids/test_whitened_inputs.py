"""Learning in whitened coordinates: another beginning and other steps, the same network."""

import pytest
import torch
from torch import nn

from gnomon.agent.weights import linear
from gnomon.learn.aids.whitened_inputs import WhitenedMap


@pytest.fixture
def inputs() -> torch.Tensor:
    """Features with a large mean, and directions whose spreads differ a hundredfold. float64 [500, 6]"""
    generator = torch.Generator().manual_seed(0)
    spread = torch.tensor([1.0, 0.3, 0.1, 0.05, 0.02, 0.01], dtype=torch.float64)
    mixing, _ = torch.linalg.qr(torch.randn(6, 6, generator=generator, dtype=torch.float64))
    return torch.randn(500, 6, generator=generator, dtype=torch.float64) * spread @ mixing + 3.0


@pytest.fixture
def layer() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(6, 4, dtype=torch.float64)


def test_the_coordinates_are_centred_uncorrelated_and_alike_in_size(layer: nn.Linear, inputs: torch.Tensor) -> None:
    whitened = WhitenedMap(layer.weight, layer.bias, inputs)
    coordinates = (inputs - whitened.mean) @ whitened.basis
    covariance = coordinates.T @ coordinates / len(inputs)
    assert coordinates.mean(0).abs().max() < 1e-9
    assert (covariance - covariance.diag().diag()).abs().max() < 1e-9
    assert covariance.diag().max() <= 1
    assert (covariance.diag() > 0.4).sum() == 4  # spreads above `smallest` of the largest are brought to about 1


def test_the_map_begins_on_the_whitened_inputs_with_the_weights_that_were_drawn(
    layer: nn.Linear, inputs: torch.Tensor
) -> None:
    drawn = nn.Linear(6, 4, dtype=torch.float64)
    drawn.load_state_dict(layer.state_dict())
    whitened = WhitenedMap(layer.weight, layer.bias, inputs)
    coordinates = (inputs - whitened.mean) @ whitened.basis
    torch.testing.assert_close(layer(inputs).detach(), drawn(coordinates).detach())


def test_no_relu_begins_dead(inputs: torch.Tensor) -> None:
    """Drawn as the agent's are, most units would be active for all of these inputs or for none: their mean is large."""
    plain = linear(6, 200, torch.Generator().manual_seed(2)).double()

    def active() -> torch.Tensor:
        """The share of inputs for which each unit is active."""
        return (plain(inputs) > 0).double().mean(0)

    assert ((active() == 0) | (active() == 1)).sum() > 100
    WhitenedMap(plain.weight, plain.bias, inputs)
    assert ((active() > 0.4) & (active() < 0.6)).all()


def test_a_step_is_one_on_the_whitened_inputs(layer: nn.Linear, inputs: torch.Tensor) -> None:
    """Against the plain way: a layer of its own that is fed with the whitened inputs."""
    whitened = WhitenedMap(layer.weight, layer.bias, inputs)
    plain = nn.Linear(6, 4, dtype=torch.float64)
    with torch.no_grad():
        plain.weight.copy_(whitened.whitened_weight)
        plain.bias.copy_(whitened.whitened_bias)
    coordinates = (inputs - whitened.mean) @ whitened.basis
    ours = torch.optim.Adam(whitened.parameters(), lr=0.01)
    theirs = torch.optim.Adam(plain.parameters(), lr=0.01)
    for _ in range(5):
        layer(inputs).sin().sum().backward()
        whitened.transform_gradients()
        ours.step()
        ours.zero_grad()
        whitened.write_plain()
        plain(coordinates).sin().sum().backward()
        theirs.step()
        theirs.zero_grad()
    torch.testing.assert_close(layer(inputs), plain(coordinates))


def test_what_is_saved_is_what_was(layer: nn.Linear, inputs: torch.Tensor) -> None:
    first = WhitenedMap(layer.weight, layer.bias, inputs)
    second = WhitenedMap(layer.weight, layer.bias, inputs + torch.randn(inputs.shape, dtype=inputs.dtype))
    second.load_state_dict(first.state_dict())
    for mine, its in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(mine, its)


def test_inputs_that_never_differ_are_no_obstacle(layer: nn.Linear) -> None:
    inputs, bias = torch.ones(10, 6, dtype=torch.float64), layer.bias.detach().clone()
    WhitenedMap(layer.weight, layer.bias, inputs)
    torch.testing.assert_close(layer(inputs).detach(), bias.expand(10, 4))
    assert layer.weight.abs().max() < 100
