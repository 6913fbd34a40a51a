"""Products of matrices, and their gradients, against the same in double precision."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gnomon.agent.products import WORTH_IT, Linear, affine, multiply

ROWS = [(1,), (3,), (WORTH_IT,), (40,), (4, 10), (2, 3, 7)]
SIZES = [1, 5, WORTH_IT, 33]


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(("rows", "inputs", "outputs"), list(product(ROWS, SIZES, SIZES)))
def test_affine_maps_and_their_gradients(rows: tuple[int, ...], inputs: int, outputs: int) -> None:
    parts = [drawn(*rows, inputs), drawn(outputs, inputs), drawn(outputs)]
    grad = drawn(*rows, outputs)
    results = []
    for function, dtype in ((affine, torch.float32), (F.linear, torch.float64)):
        own = [part.clone().to(dtype).requires_grad_() for part in parts]
        result = function(*own)
        results.append([result, *torch.autograd.grad(result, own, grad.to(dtype))])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected.float(), rtol=1e-5, atol=1e-5)
    without_gradient = affine(*parts)
    assert not without_gradient.requires_grad
    torch.testing.assert_close(without_gradient, results[0][0].detach(), rtol=0, atol=0)


@pytest.mark.parametrize("only", range(3))
def test_one_part_alone_gets_its_gradient(only: int) -> None:
    parts = [drawn(40, 33), drawn(20, 33), drawn(20)]
    parts[only].requires_grad_()
    affine(*parts).sum().backward()
    expected = (parts[1].sum(0).expand(40, 33), parts[0].sum(0).expand(20, 33), torch.full((20,), 40.0))[only]
    assert parts[only].grad is not None
    torch.testing.assert_close(parts[only].grad, expected, rtol=1e-5, atol=1e-5)


def test_matrices_in_any_order_of_memory() -> None:
    left, right = drawn(33, 40).t(), drawn(20, 33).t()
    torch.testing.assert_close(multiply(left, right), left @ right, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(multiply(left[:, ::3], right[::3]), left[:, ::3] @ right[::3], rtol=1e-5, atol=1e-5)


def test_nothing_times_something_is_nothing() -> None:
    assert affine(torch.empty(0, 40), drawn(20, 40), drawn(20)).shape == (0, 20)


def test_a_layer_is_torchs_own_but_for_rounding() -> None:
    layer = Linear(33, 20)
    torch.testing.assert_close(layer(drawn(40, 33)), F.linear(drawn(40, 33), layer.weight, layer.bias))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(drawn(40, 33).bfloat16()).dtype == torch.bfloat16
