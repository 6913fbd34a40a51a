"""V-trace (Espeholt et al. 2018): value targets and advantages from slightly stale behaviour.

Time-major: T steps, B lanes. Index t: `values[t]` is V(x_t); `r_t[t]` and `discount_t[t]` are the reward and
the discount that follow the action taken in x_t; the discount is 0 where the episode ended.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class VTrace(NamedTuple):
    """Both [T, B], without gradient."""

    vs: Tensor
    """Targets for the value of x_t."""
    advantages: Tensor
    """Weights of the policy gradient, min(1, rho_t) (r_t + discount_t v_{t+1} - V(x_t))."""


@torch.no_grad()
def vtrace(
    log_rhos: Tensor,
    discount_t: Tensor,
    r_t: Tensor,
    values: Tensor,
    bootstrap_value: Tensor,
    horizon: int = 0,
) -> VTrace:
    """V-trace targets with rho and c clipped at 1.

    log_rhos [T, B]: log of target over behaviour probability of the action taken; bootstrap_value [B]: V of
    the state after the last step. With a `horizon` above 0, each chunk of that many steps stands alone, bootstrapped
    with V of the state after it; the last chunk is shorter if T is not a multiple.
    """
    steps = len(values)
    chunk = chunk_length(steps, horizon)
    rhos = log_rhos.exp().clamp(max=1.0)
    v_tp1 = torch.cat([values[1:], bootstrap_value.unsqueeze(0)])
    deltas = rhos * (r_t + discount_t * v_tp1 - values)

    # error_t = vs_t - V(x_t) = delta_t + discount_t c_t error_{t+1}; beyond a chunk the error is 0.
    deltas_by_step = _by_step(deltas, chunk)  # chunk x [K, B]
    decays_by_step = _by_step(discount_t * rhos, chunk)
    error = torch.zeros_like(deltas_by_step[0])
    errors_by_step = [error]
    for delta, decay in zip(reversed(deltas_by_step), reversed(decays_by_step), strict=True):
        error = torch.addcmul(delta, decay, error)
        errors_by_step.append(error)
    errors_by_step.reverse()
    errors = torch.stack(errors_by_step[:-1], dim=1).flatten(0, 1)[:steps]  # [K, chunk, B] -> [T, B]
    errors_tp1 = torch.stack(errors_by_step[1:], dim=1).flatten(0, 1)[:steps]

    advantages = rhos * (r_t + discount_t * (v_tp1 + errors_tp1) - values)
    return VTrace(values + errors, advantages)


def chunk_length(steps: int, horizon: int) -> int:
    """How many steps a V-trace sees: the whole unroll (horizon 0), or at most `horizon` of them."""
    if horizon < 0:
        raise ValueError(f"horizon is {horizon}; it must be at least 1 step, or 0 for the whole unroll")
    return min(horizon, steps) if horizon else steps


def _by_step(sequence: Tensor, chunk: int) -> tuple[Tensor, ...]:
    """[T, B] -> for each step within a chunk, that step of all K chunks [K, B]; zeros fill the last."""
    padding = -len(sequence) % chunk
    return F.pad(sequence, (0, 0, 0, padding)).unflatten(0, (-1, chunk)).unbind(1)
