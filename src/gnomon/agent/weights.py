"""How every weight of the agent starts: as in the library Sonnet, from a generator and nothing else."""

from typing import TypeVar

import torch
from torch import Generator, Tensor, nn

from gnomon.agent.products import Linear

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)


def truncated_normal_(weight: Tensor, fan_in: int, generator: Generator) -> Tensor:
    """Fill with a normal of s.d. 1/sqrt(fan_in), cut at two s.d. (which leaves 0.88 of that s.d.)."""
    std = fan_in**-0.5
    with torch.no_grad():
        return nn.init.trunc_normal_(weight, std=std, a=-2 * std, b=2 * std, generator=generator)


def linear(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """A linear layer with zero biases."""
    return _fill(Linear(inputs, outputs, device="meta"), inputs, generator)


def conv3x3(maps_in: int, maps_out: int, generator: Generator) -> nn.Conv2d:
    """A 3x3 convolution that keeps the image's size, with zero biases."""
    return _fill(nn.Conv2d(maps_in, maps_out, 3, padding=1, device="meta"), maps_in * 9, generator)


def chrono_biases(span: float, units: int, generator: Generator) -> Tensor:
    """Biases [units] of a forget gate whose time constants are drawn uniformly from 1 to `span` frames.

    A unit whose forget gate is sigmoid(b) keeps 1/e of its value for about exp(b) frames (Tallec & Ollivier 2018).
    """
    return (1 + (span - 1) * torch.rand(units, generator=generator)).log()


def _fill(layer: Layer, fan_in: int, generator: Generator) -> Layer:
    """Give a layer made on the meta device (so that torch drew no weights of its own) its first weights.

    Not by `to_empty`, for which torch imports much that nobody else needs.
    """
    assert layer.bias is not None
    layer.weight = nn.Parameter(truncated_normal_(torch.empty(layer.weight.shape), fan_in, generator))
    layer.bias = nn.Parameter(torch.zeros(layer.bias.shape))
    return layer
