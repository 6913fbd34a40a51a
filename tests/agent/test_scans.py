"""The scans against plain autograd loops over the textbook formulas, and against finite differences."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gnomon.agent.scans import gru_scan, lstm_scan, rnn_scan

T, B, U = 5, 3, 4


def lstm_loop(drive: Tensor, first: Tensor, cell: Tensor, hidden: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    cells, hiddens = [], []
    for t in range(len(drive)):
        cell, hidden = begun(cell, first[t]), begun(hidden, first[t])
        i, f, g, o = (drive[t] + hidden @ weight).split(weight.shape[0], dim=1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        cells.append(cell)
        hiddens.append(hidden)
    return torch.stack(cells), torch.stack(hiddens)


def begun(state: Tensor, first: Tensor) -> Tensor:
    return torch.stack([torch.zeros_like(row) if new else row for row, new in zip(state, first, strict=True)])


def gru_loop(drive: Tensor, first: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    weight_r, weight_z, weight_a = weight.split(weight.shape[0], dim=1)
    hiddens = []
    for t in range(len(drive)):
        hidden = begun(hidden, first[t])
        drive_r, drive_z, drive_a = drive[t].split(weight.shape[0], dim=1)
        r = torch.sigmoid(drive_r + hidden @ weight_r)
        z = torch.sigmoid(drive_z + hidden @ weight_z)
        a = torch.tanh(drive_a + (r * hidden) @ weight_a)
        hidden = (1 - z) * hidden + z * a
        hiddens.append(hidden)
    return torch.stack(hiddens)


def rnn_loop(drive: Tensor, first: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    hiddens = []
    for t in range(len(drive)):
        hidden = begun(hidden, first[t])
        hidden = torch.tanh(drive[t] + hidden @ weight)
        hiddens.append(hidden)
    return torch.stack(hiddens)


SCANS = [  # scan, loop, gates, tensors of state
    pytest.param(lstm_scan, lstm_loop, 4, 2, id="lstm"),
    pytest.param(gru_scan, gru_loop, 3, 1, id="gru"),
    pytest.param(rnn_scan, rnn_loop, 1, 1, id="rnn"),
]


def draw(gates: int, states: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    """drive, first, states, weight; resets on the first frame, twice in a row, on the last, and never."""
    generator = torch.Generator().manual_seed(3)

    def leaf(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=dtype, generator=generator).requires_grad_()

    first = torch.zeros(T, B, dtype=torch.bool)
    first[0, 0] = first[2, 1] = first[3, 1] = first[4, 0] = True
    carried = [leaf(B, U) for _ in range(states)]
    return leaf(T, B, gates * U), first, *carried, leaf(U, gates * U)


def pair(result: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(("scan", "loop", "gates", "states"), SCANS)
def test_scan_equals_an_autograd_loop(scan: Callable, loop: Callable, gates: int, states: int) -> None:
    results = []
    for run in (scan, loop):
        inputs = draw(gates, states)
        outputs = pair(run(*inputs))
        sum(((k + 1) * out.sin().sum() for k, out in enumerate(outputs)), torch.zeros(())).backward()
        results.append([*outputs, *(x.grad for x in inputs if x.requires_grad)])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("scan", "loop", "gates", "states"), SCANS)
def test_gradcheck_with_resets_inside(scan: Callable, loop: Callable, gates: int, states: int) -> None:
    assert torch.autograd.gradcheck(scan, draw(gates, states))


@pytest.mark.parametrize(("scan", "loop", "gates", "states"), SCANS)
def test_single_precision(scan: Callable, loop: Callable, gates: int, states: int) -> None:
    inputs = draw(gates, states, torch.float32)
    for ours, expected in zip(pair(scan(*inputs)), pair(loop(*inputs)), strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize(("scan", "loop", "gates", "states"), SCANS)
def test_products_in_bfloat16(scan: Callable, loop: Callable, gates: int, states: int) -> None:
    """A product is off by a part in 256 at most; what is added up has single precision."""
    results = []
    for products in (torch.bfloat16, torch.float32):
        inputs = draw(gates, states, torch.float32)
        outputs = pair(scan(*inputs, products))
        outputs[-1].sin().sum().backward()
        results.append([*outputs, *(x.grad for x in inputs if x.requires_grad)])
    for ours, expected in zip(*results, strict=True):
        assert ours.dtype == torch.float32
        assert 1e-5 < (ours - expected).norm() / expected.norm() < 1 / 64


@pytest.mark.parametrize(("scan", "loop", "gates", "states"), SCANS)
def test_a_reset_cuts_the_gradient_to_the_past(scan: Callable, loop: Callable, gates: int, states: int) -> None:
    inputs = draw(gates, states)
    last = pair(scan(*inputs))[-1][-1]
    grad_drive, *grad_states = torch.autograd.grad(last.sum(), [inputs[0], *inputs[2 : 2 + states]])
    reached = grad_drive.abs().sum(-1) > 0  # [T, B]
    assert reached.T.tolist() == [
        [False, False, False, False, True],  # reset before frame 4
        [False, False, False, True, True],  # reset before frame 3
        [True, True, True, True, True],
    ]
    for grad in grad_states:
        assert (grad.abs().sum(-1) > 0).tolist() == [False, False, True]


@pytest.mark.parametrize(("scan", "loop", "gates", "states"), SCANS)
def test_a_frozen_weight_gets_no_gradient_but_passes_it_on(
    scan: Callable, loop: Callable, gates: int, states: int
) -> None:
    inputs = list(draw(gates, states))
    expected = torch.autograd.grad(pair(scan(*inputs))[-1].sum(), inputs[0])[0]
    frozen = inputs[2 + states] = inputs[2 + states].detach()
    pair(scan(*inputs))[-1].sum().backward()
    assert frozen.grad is None
    torch.testing.assert_close(inputs[0].grad, expected)


def test_lstm_cell_alone_may_carry_the_loss() -> None:
    grads = []
    for run in (lstm_scan, lstm_loop):
        drive, first, cell, hidden, weight = inputs = draw(4, 2)
        run(drive, first, cell, hidden, weight)[0].square().sum().backward()
        grads.append([x.grad for x in inputs if x.requires_grad])
    for ours, expected in zip(*grads, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)
