"""The IMPALA loss: policy gradient, value regression and an entropy bonus, summed over time and batch."""

import torch
from torch import Tensor

from gnomon.learn.vtrace import chunk_length, vtrace


def impala_loss(
    logits: Tensor,
    values: Tensor,
    behaviour_log_prob: Tensor,
    actions: Tensor,
    r_t: Tensor,
    discount_t: Tensor,
    *,
    entropy_cost: float,
    value_cost: float,
    horizon: int = 0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss, and scalars worth logging. A pure function.

    logits [T, B, A] and values [T + 1, B] learn; the last value, of the frame after the last step, only bootstraps the
    return. behaviour_log_prob [T, B] is what the actor gave the action it took, actions [T, B] int64; r_t and
    discount_t [T, B] follow that action.

    The loss is a sum, not a mean. With a `horizon` ("10-step RL") every chunk of that many steps has its own V-trace
    and its own sum, and the loss is the average over chunks; 0 is the whole unroll.

    Metrics (detached): policy_loss and value_loss, before value_cost, and entropy (nats), each per frame;
    mean_log_rho, the mean log importance ratio; kl, an estimate of the divergence of the policy that learns from the
    one that acted, in nats per frame; clipped_share, the part of ratios above 1; mean_value; explained_variance of the
    value targets by the values (1 is perfect, nan if the targets do not vary).
    """
    log_policy = logits.log_softmax(-1)
    log_prob = log_policy.gather(-1, actions.unsqueeze(-1)).squeeze(-1)  # [T, B]
    log_rhos = log_prob.detach() - behaviour_log_prob
    values, bootstrap = values[:-1], values[-1]
    vs, advantages = vtrace(log_rhos, discount_t, r_t, values, bootstrap, horizon)
    chunks = -(-len(values) // chunk_length(len(values), horizon))

    policy_loss = -(advantages * log_prob).sum() / chunks
    value_loss = 0.5 * (vs - values).square().sum() / chunks
    entropy = -(log_policy.exp() * log_policy).sum(-1)  # [T, B]
    loss = policy_loss + value_cost * value_loss - entropy_cost * entropy.sum() / chunks

    with torch.no_grad():
        spread = vs.var(correction=0)
        metrics = {
            "policy_loss": policy_loss.detach() / log_prob.numel(),
            "value_loss": value_loss.detach() / log_prob.numel(),
            "entropy": entropy.mean(),
            "mean_log_rho": log_rhos.mean(),
            "kl": (log_rhos.exp() - 1 - log_rhos).mean(),
            "clipped_share": (log_rhos > 0).to(values.dtype).mean(),
            "mean_value": values.mean(),
            "explained_variance": torch.where(
                spread > 0, 1 - (vs - values).var(correction=0) / spread, torch.full_like(spread, torch.nan)
            ),
        }
    return loss, metrics
