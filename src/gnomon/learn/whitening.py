"""Whitening: a linear map learns in coordinates in which its inputs are centred, uncorrelated and alike in size.

What vision makes of all observations has much in common and differs by little: their mean is longer than any spread
around it, and much of where the eye looks is told by directions with a twentieth of the largest spread. Adam, which
takes steps of like size along every weight, then hardly tells places apart, and every step moves all frames together.
And many a unit that is a relu of the features begins on the side of zero where their mean is: it answers to
everything, or to nothing, and then never learns. So the controller's input weights W and bias b, whose output is
W f + b for features f, learn as

    W f + b = V g + c,    g = P' (f - mean),

with the mean and P taken once from the first features of the run, and the weights that were drawn for W and b are
where V and c begin: so each unit begins to answer to its own half of what there is to see. That changes the first
weights and the steps, not the network and not what it can express. W and b are what acts, and what is saved with the
agent.
"""

import torch
from torch import Tensor, nn

NO_SPREAD = 1e-12  # variance below which inputs are all the same
SMALLEST = 0.05  # share of the largest spread; directions with less of it are not blown up to the full size


class Whitened:
    """The weights of one linear map, in whitened coordinates."""

    def __init__(self, weight: Tensor, bias: Tensor, inputs: Tensor) -> None:
        """weight [D, F] and bias [D] of the map, just drawn; inputs [N, F], what it may be fed with.

        They are taken for those of whitened inputs, and changed accordingly.
        """
        self.weight, self.bias = weight, bias
        self.mean = inputs.mean(0)
        centred = (inputs - self.mean).double()
        spread, directions = torch.linalg.eigh(centred.T @ centred / len(inputs))
        largest = spread.max() if spread.max() > NO_SPREAD else 1.0
        size = (spread.clamp(min=0) + SMALLEST**2 * largest).sqrt()
        self.basis = (directions / size).to(inputs.dtype)  # P: [F, F]
        self.whitened_weight = nn.Parameter(weight.detach().clone())
        self.whitened_bias = nn.Parameter(bias.detach().clone())
        self.put_back()

    def parameters(self) -> list[nn.Parameter]:
        """V [D, F] and c [D], for the optimiser."""
        return [self.whitened_weight, self.whitened_bias]

    def take_gradients(self) -> None:
        """Turn the gradients of weight and bias into those of V and c: call it before the optimiser's step."""
        by_weight, by_bias = self.weight.grad, self.bias.grad
        if by_weight is None or by_bias is None:
            return
        self.whitened_weight.grad = (by_weight - torch.outer(by_bias, self.mean)) @ self.basis
        self.whitened_bias.grad = by_bias
        self.weight.grad = self.bias.grad = None

    @torch.no_grad()
    def put_back(self) -> None:
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
