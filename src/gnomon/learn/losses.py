"""The IMPALA loss: policy gradient, value regression and an entropy bonus, summed over time and batch."""

import torch
from torch import Tensor

from gnomon.learn.vtrace import chunk_length, vtrace


def impala_loss(
    logits: Tensor,
    values: Tensor,
    bootstrap_value: Tensor,
    behaviour_log_prob: Tensor,
    actions: Tensor,
    r_t: Tensor,
    discount_t: Tensor,
    *,
    entropy_cost: float = 0.01,
    value_cost: float = 0.5,
    horizon: int | None = None,
    learned_values: Tensor | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss, and scalars worth logging.

    logits [T, B, A], values [T, B] and bootstrap_value [B] come from the learner; behaviour_log_prob [T, B]
    is what the actor gave the action it took, actions [T, B] int64; r_t and discount_t [T, B] follow that
    action.

    With learned_values [T, B], V-trace goes by `values` and these are what learns from the targets, up to the errors'
    mean (`gnomon.learn.critic` says why).

    The loss is a sum, not a mean: the optimiser's epsilon is only the paper's under a sum. With a `horizon`
    ("10-step RL") every chunk of so many steps has its own V-trace and its own sum, and the loss is the
    average over chunks.

    Metrics (detached): policy_loss and value_loss as they enter the loss, before value_cost; value_error, by which
    targets are above the values that learn, on average; entropy in nats per frame; mean_log_rho, the mean log
    importance ratio, and divergence, minus the same with less noise; clipped_share, the part of ratios above 1;
    mean_value; explained_variance of the value targets by the values (1 is perfect, nan if the targets do not vary).
    """
    log_policy = logits.log_softmax(-1)
    log_prob = log_policy.gather(-1, actions.unsqueeze(-1)).squeeze(-1)  # [T, B]
    log_rhos = log_prob.detach() - behaviour_log_prob
    vs, advantages = vtrace(log_rhos, discount_t, r_t, values, bootstrap_value, horizon)
    chunks = -(-len(values) // chunk_length(len(values), horizon))

    policy_loss = -(advantages * log_prob).sum() / chunks
    error = vs - (values if learned_values is None else learned_values)
    value_error = error.detach().mean()
    if learned_values is not None:
        error = error - error.mean()
    value_loss = 0.5 * error.square().sum() / chunks
    entropy = -(log_policy.exp() * log_policy).sum(-1)  # [T, B]
    loss = policy_loss + value_cost * value_loss - entropy_cost * entropy.sum() / chunks

    with torch.no_grad():
        spread = vs.var(correction=0)
        metrics = {
            "policy_loss": policy_loss.detach(),
            "value_loss": value_loss.detach(),
            "value_error": value_error,
            "entropy": entropy.mean(),
            "mean_log_rho": log_rhos.mean(),
            "divergence": (log_rhos.exp() - 1 - log_rhos).mean(),
            "clipped_share": (log_rhos > 0).to(values.dtype).mean(),
            "mean_value": values.mean(),
            "explained_variance": torch.where(
                spread > 0, 1 - (vs - values).var(correction=0) / spread, torch.full_like(spread, torch.nan)
            ),
        }
    return loss, metrics
