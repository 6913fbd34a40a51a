"""Whitened inputs: the controller's input weights start and learn in coordinates in which features are white.

What vision makes of all observations has much in common: the mean of the features is longer than any spread around it,
and where the gaze is shows in directions with a twentieth of the largest spread. Adam's steps are alike in size for
every weight, so they hardly tell places apart; and many ReLU units start dead, on the side of zero where the mean is.
So the input weights W and bias b, whose output is W f + b for features f, are learned as

    W f + b = V g + c,    g = P' (f - mean),

with the mean and P taken once from the first features of the run (data-dependent initialisation). The weights drawn for
W and b are where V and c begin. V and c are what the optimiser moves; W and b are the same map in plain coordinates,
and what is saved with the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from gnomon.learn.aids.base import Aid

if TYPE_CHECKING:
    from gnomon.learn.learner import Learner

SAMPLE = 2_048  # observations from which the mean and the spread are taken
NO_SPREAD = 1e-12  # variance below which inputs are all the same


@dataclass(frozen=True)
class WhitenedInputsSettings:
    """Whitened inputs: the controller's input weights start and learn in coordinates in which features are white."""

    smallest: float = 0.05
    """Share of the largest spread; directions with less of it are not blown up to the full size."""

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= 1:
            raise ValueError(f"whitened_inputs.smallest is {self.smallest}; it is a share, above 0 and at most 1")


class WhitenedInputs(Aid):
    name = "whitened_inputs"

    def __init__(self, settings: WhitenedInputsSettings, learner: Learner) -> None:
        controller = learner.agent.controller
        if controller.input_map is None:
            raise ValueError(
                f"whitened_inputs is on, but a {learner.agent.config.controller} has no input weights that learn"
            )
        self.map = WhitenedMap(*controller.input_map, learner.cache.sample(SAMPLE), settings.smallest)

    def parameters(self, parameters: list[nn.Parameter]) -> list[nn.Parameter]:
        plain = {id(self.map.weight), id(self.map.bias)}
        return [p for p in parameters if id(p) not in plain] + self.map.parameters()

    def before_step(self) -> None:
        self.map.transform_gradients()

    def after_step(self) -> None:
        self.map.write_plain()

    def state_dict(self) -> dict[str, Tensor]:
        return self.map.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.map.load_state_dict(state)


class WhitenedMap:
    """One linear map in whitened coordinates."""

    def __init__(self, weight: Tensor, bias: Tensor, inputs: Tensor, smallest: float = 0.05) -> None:
        """weight [D, F] and bias [D] of the map, just drawn; inputs [N, F], what it may be fed with.

        They are taken for those of whitened inputs, and changed accordingly.
        """
        self.weight, self.bias = weight, bias
        self.mean = inputs.mean(0)
        centred = (inputs - self.mean).double()
        spread, directions = torch.linalg.eigh(centred.T @ centred / len(inputs))
        largest = spread.max() if spread.max() > NO_SPREAD else 1.0
        size = (spread.clamp(min=0) + smallest**2 * largest).sqrt()
        self.basis = (directions / size).to(inputs.dtype)  # P: [F, F]
        self.whitened_weight = nn.Parameter(weight.detach().clone())
        self.whitened_bias = nn.Parameter(bias.detach().clone())
        self.write_plain()

    def parameters(self) -> list[nn.Parameter]:
        """V [D, F] and c [D], for the optimiser."""
        return [self.whitened_weight, self.whitened_bias]

    def transform_gradients(self) -> None:
        """Turn the gradients of weight and bias into those of V and c: call it before the optimiser's step."""
        by_weight, by_bias = self.weight.grad, self.bias.grad
        if by_weight is None or by_bias is None:
            return
        self.whitened_weight.grad = (by_weight - torch.outer(by_bias, self.mean)) @ self.basis
        self.whitened_bias.grad = by_bias
        self.weight.grad = self.bias.grad = None

    @torch.no_grad()
    def write_plain(self) -> None:
        """Turn V and c into weight and bias: call it after the step."""
        self.weight.copy_(self.whitened_weight @ self.basis.T)
        self.bias.copy_(self.whitened_bias - self.weight @ self.mean)

    def state_dict(self) -> dict[str, Tensor]:
        return {
            "mean": self.mean,
            "basis": self.basis,
            "weight": self.whitened_weight.detach(),
            "bias": self.whitened_bias.detach(),
        }

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, own in self.state_dict().items():
            own.copy_(state[name])
