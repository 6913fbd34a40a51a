"""Recurrent networks over whole unrolls, each with its own backward pass.

Autograd through a loop over time keeps hundreds of small tensors alive and sums the recurrent weight's
gradient step by step. Here the forward pass fills one buffer per quantity, the backward pass walks them once,
and the weight's gradient is one matrix product over all T*B steps.

Shapes: T frames, B lanes, U units. `drive` is what the present frame alone contributes to the gates (input
weights and bias already applied). Where `first[t, b]` is true an episode begins: before frame t, the state of lane b
is 0, and no gradient goes there.

`products` is the precision in which matrices are multiplied (by default the weight's): all else, and every sum of
products, has that of the weight.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from gnomon.agent.products import multiply

# Fused derivatives, given y = sigmoid(x) or tanh(x): grad * y * (1 - y) and grad * (1 - y * y).
_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


def lstm_scan(
    drive: Tensor,
    first: Tensor,
    cell: Tensor,
    hidden: Tensor,
    weight: Tensor,
    products: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Run an LSTM over an unroll.

    drive [T, B, 4U] in the order i, f, g, o; first [T, B] bool; cell and hidden [B, U] before frame 0; weight
    [U, 4U]. Returns cell and hidden after each frame, both [T, B, U].
    """
    return _LSTMScan.apply(drive, first, cell, hidden, weight, products or weight.dtype)


def gru_scan(
    drive: Tensor, first: Tensor, hidden: Tensor, weight: Tensor, products: torch.dtype | None = None
) -> Tensor:
    """Run a GRU over an unroll; the reset gate acts before the recurrent weight, as in Cho et al. (2014).

    drive [T, B, 3U] in the order reset, update, candidate; first [T, B] bool; hidden [B, U]; weight [U, 3U].
    Returns hidden after each frame [T, B, U].
    """
    return _GRUScan.apply(drive, first, hidden, weight, products or weight.dtype)


def rnn_scan(
    drive: Tensor, first: Tensor, hidden: Tensor, weight: Tensor, products: torch.dtype | None = None
) -> Tensor:
    """Run a tanh (Elman) network over an unroll.

    drive [T, B, U]; first [T, B] bool; hidden [B, U]; weight [U, U].
    Returns hidden after each frame [T, B, U].
    """
    return _RNNScan.apply(drive, first, hidden, weight, products or weight.dtype)


class _LSTMScan(Function):
    @staticmethod
    def forward(
        ctx: Any,
        drive: Tensor,
        first: Tensor,
        cell: Tensor,
        hidden: Tensor,
        weight: Tensor,
        products: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        units, factor = weight.shape[0], weight.to(products)
        gates = torch.empty_like(drive, memory_format=torch.contiguous_format)  # after their sigmoid or tanh
        cells = gates.new_empty(*first.shape, units)
        hiddens, squashed = torch.empty_like(cells), torch.empty_like(cells)  # squashed: tanh of the cells
        c, h = cell, hidden
        for t, resets in enumerate(first.any(1).tolist()):
            if resets:
                c, h = _reset(c, first[t]), _reset(h, first[t])
            add_product(drive[t], h, factor, out=gates[t])
            i_and_f, g, o = gates[t].split([2 * units, units, units], dim=1)
            i, f = i_and_f.sigmoid_().chunk(2, dim=1)
            _tanh(g, out=g)
            o.sigmoid_()
            c = torch.mul(f, c, out=cells[t]).addcmul_(i, g)
            h = torch.mul(_tanh(c, out=squashed[t]), o, out=hiddens[t])
        ctx.save_for_backward(first, cell, hidden, weight, gates, cells, hiddens, squashed)
        ctx.products = products
        ctx.set_materialize_grads(False)
        return cells, hiddens

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, grad_cells: Tensor | None, grad_hiddens: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        first, cell, hidden, weight, gates, cells, hiddens, squashed = ctx.saved_tensors
        resets = first.any(1).tolist()
        grad_drive = torch.empty_like(gates)
        dc, dh = torch.zeros_like(cell), torch.zeros_like(hidden)  # with respect to the state after frame t
        product, factor = torch.empty_like(cell), weight.to(ctx.products).t()
        for t in reversed(range(len(gates))):
            i, f, g, o = gates[t].chunk(4, dim=1)
            di, df, dg, do = grad_drive[t].chunk(4, dim=1)
            c_before = cells[t - 1] if t else cell
            if resets[t]:
                c_before = _reset(c_before, first[t])
            if grad_hiddens is not None:
                dh.add_(grad_hiddens[t])
            if grad_cells is not None:
                dc.add_(grad_cells[t])
            _sigmoid_backward(torch.mul(dh, squashed[t], out=product), o, grad_input=do)
            dc.add_(_tanh_backward(torch.mul(dh, o, out=product), squashed[t], grad_input=product))
            _sigmoid_backward(torch.mul(dc, g, out=product), i, grad_input=di)
            _sigmoid_backward(torch.mul(dc, c_before, out=product), f, grad_input=df)
            _tanh_backward(torch.mul(dc, i, out=product), g, grad_input=dg)
            dc.mul_(f)
            dh = _multiply(grad_drive[t], factor)
            if resets[t]:
                dc, dh = _reset(dc, first[t]), _reset(dh, first[t])
        grad_weight = None
        if ctx.needs_input_grad[4]:
            grad_weight = _weight_gradient(_before(hidden, hiddens, first), grad_drive, ctx.products)
        return grad_drive, None, dc, dh, grad_weight, None


class _GRUScan(Function):
    @staticmethod
    def forward(
        ctx: Any, drive: Tensor, first: Tensor, hidden: Tensor, weight: Tensor, products: torch.dtype
    ) -> Tensor:
        units = weight.shape[0]
        gates = torch.empty_like(drive, memory_format=torch.contiguous_format)  # after their sigmoid or tanh
        hiddens = gates.new_empty(*first.shape, units)
        weight_gates, weight_candidate = weight.to(products).split([2 * units, units], dim=1)
        h, selected = hidden, torch.empty_like(hidden)
        for t, resets in enumerate(first.any(1).tolist()):
            if resets:
                h = _reset(h, first[t])
            drive_gates, drive_candidate = drive[t].split([2 * units, units], dim=1)
            reset_and_update, candidate = gates[t].split([2 * units, units], dim=1)
            add_product(drive_gates, h, weight_gates, out=reset_and_update)
            reset, update = reset_and_update.sigmoid_().chunk(2, dim=1)
            torch.mul(reset, h, out=selected)
            _tanh(add_product(drive_candidate, selected, weight_candidate, out=candidate), out=candidate)
            h = torch.lerp(h, candidate, update, out=hiddens[t])
        ctx.save_for_backward(first, hidden, weight, gates, hiddens)
        ctx.products = products
        return hiddens

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, grad_hiddens: Tensor
    ) -> tuple[Tensor | None, ...]:
        first, hidden, weight, gates, hiddens = ctx.saved_tensors
        units = weight.shape[0]
        weight_gates, weight_candidate = weight.to(ctx.products).split([2 * units, units], dim=1)
        resets = first.any(1).tolist()
        h_before = _before(hidden, hiddens, first)
        grad_drive = torch.empty_like(gates)
        dh = torch.zeros_like(hidden)  # with respect to the state after frame t
        product = torch.empty_like(hidden)
        for t in reversed(range(len(gates))):
            reset, update, candidate = gates[t].chunk(3, dim=1)
            dreset, dupdate, dcandidate = grad_drive[t].chunk(3, dim=1)
            dh.add_(grad_hiddens[t])
            _tanh_backward(torch.mul(dh, update, out=product), candidate, grad_input=dcandidate)
            torch.sub(candidate, h_before[t], out=product).mul_(dh)
            _sigmoid_backward(product, update, grad_input=dupdate)
            dselected = _multiply(dcandidate, weight_candidate.t())
            _sigmoid_backward(torch.mul(dselected, h_before[t], out=product), reset, grad_input=dreset)
            dh.sub_(torch.mul(dh, update, out=product)).addcmul_(dselected, reset)
            add_product(dh, grad_drive[t, :, : 2 * units], weight_gates.t(), out=dh)
            if resets[t]:
                dh = _reset(dh, first[t])
        grad_weight = None
        if ctx.needs_input_grad[3]:
            grad_gates, grad_candidate = grad_drive.split([2 * units, units], dim=2)
            selected = gates[..., :units] * h_before
            parts = ((h_before, grad_gates), (selected, grad_candidate))
            grad_weight = torch.cat([_weight_gradient(read, grad, ctx.products) for read, grad in parts], dim=1)
        return grad_drive, None, dh, grad_weight, None


class _RNNScan(Function):
    @staticmethod
    def forward(
        ctx: Any, drive: Tensor, first: Tensor, hidden: Tensor, weight: Tensor, products: torch.dtype
    ) -> Tensor:
        hiddens = torch.empty_like(drive, memory_format=torch.contiguous_format)
        h, factor = hidden, weight.to(products)
        for t, resets in enumerate(first.any(1).tolist()):
            if resets:
                h = _reset(h, first[t])
            h = _tanh(add_product(drive[t], h, factor, out=hiddens[t]), out=hiddens[t])
        ctx.save_for_backward(first, hidden, weight, hiddens)
        ctx.products = products
        return hiddens

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, grad_hiddens: Tensor
    ) -> tuple[Tensor | None, ...]:
        first, hidden, weight, hiddens = ctx.saved_tensors
        resets = first.any(1).tolist()
        grad_drive, factor = torch.empty_like(hiddens), weight.to(ctx.products).t()
        dh = torch.zeros_like(hidden)  # with respect to the state after frame t
        for t in reversed(range(len(hiddens))):
            _tanh_backward(dh.add_(grad_hiddens[t]), hiddens[t], grad_input=grad_drive[t])
            dh = _multiply(grad_drive[t], factor)
            if resets[t]:
                dh = _reset(dh, first[t])
        grad_weight = None
        if ctx.needs_input_grad[3]:
            grad_weight = _weight_gradient(_before(hidden, hiddens, first), grad_drive, ctx.products)
        return grad_drive, None, dh, grad_weight, None


def add_product(terms: Tensor, left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """terms + left @ right; the product in the precision of `right`, the sum in that of the others."""
    return torch.add(terms, multiply(left.to(right.dtype), right), out=out)


def _multiply(left: Tensor, right: Tensor) -> Tensor:
    """left @ right, multiplied in the precision of `right`; the result has that of `left`."""
    return multiply(left.to(right.dtype), right).to(left.dtype)


def _weight_gradient(read: Tensor, gradient: Tensor, products: torch.dtype) -> Tensor:
    """Of a weight [U, G] by which states [T, B, U] were multiplied, given the gradient [T, B, G] of the products."""
    read, steps = read.flatten(0, 1), gradient.flatten(0, 1)
    return _multiply(read.t(), steps.to(products))


def fast_tanh(x: Tensor) -> Tensor:
    """tanh(x) = 2 sigmoid(2x) - 1: torch's sigmoid is several times as fast as its tanh on a CPU."""
    return 2 * (2 * x).sigmoid() - 1


def _tanh(x: Tensor, out: Tensor) -> Tensor:
    """The same into a buffer, without a gradient."""
    return torch.mul(x, 2, out=out).sigmoid_().mul_(2).sub_(1)


def _reset(state: Tensor, first: Tensor) -> Tensor:
    """A state, or its gradient, [..., B, U]: 0 where an episode begins."""
    return state.masked_fill(first.unsqueeze(-1), 0.0)


def _before(initial: Tensor, states: Tensor, first: Tensor) -> Tensor:
    """The state each frame started from, resets applied: [T, B, U]."""
    return _reset(torch.cat([initial.unsqueeze(0), states[:-1]]), first)
