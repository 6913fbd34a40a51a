"""Products of matrices, in single precision on a processor by oneDNN.

torch multiplies such matrices with MKL. oneDNN, which torch has for convolutions and for bfloat16, was twice as fast on
the AMD processor that was tried; `python benchmarks/products.py` compares them on another.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

try:
    # Not a public function of torch, but the one that its own compiler calls.
    _onednn = torch.ops.mkldnn._linear_pointwise.default
except (AttributeError, RuntimeError):  # a torch without oneDNN
    _onednn = None

WORTH_IT = 8  # rows and columns; for less, what oneDNN prepares takes longer than the product


class Linear(nn.Linear):
    """torch's linear layer with the products of this module."""

    def forward(self, input: Tensor) -> Tensor:
        return affine(input, self.weight, self.bias)


def affine(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """inputs [..., K], weight [N, K], bias [N] -> inputs @ weight' + bias: [..., N], with its gradient."""
    smallest = min(inputs.shape[-1], len(weight), inputs.numel() // inputs.shape[-1])
    if smallest < WORTH_IT or not (_onednn and inputs.is_cpu and inputs.dtype == weight.dtype == torch.float32):
        return F.linear(inputs, weight, bias)
    if torch.is_grad_enabled() and any(part is not None and part.requires_grad for part in (inputs, weight, bias)):
        return _Linear.apply(inputs, weight, bias)
    return _onednn(inputs, weight, bias, "none", [], "")


def multiply(left: Tensor, right: Tensor) -> Tensor:
    """left [M, K] @ right [K, N], with its gradient."""
    return affine(left, right.t())


class _Linear(Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return affine(inputs, weight, bias)  # no gradient is recorded in here

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        inputs, weight = ctx.saved_tensors
        for_inputs, for_weight, for_bias = ctx.needs_input_grad
        rows = grad.flatten(0, -2)
        return (
            multiply(rows, weight).view_as(inputs) if for_inputs else None,
            multiply(rows.t(), inputs.flatten(0, -2)) if for_weight else None,
            rows.sum(0) if for_bias else None,
        )
