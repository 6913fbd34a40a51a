"""The loss against a frame-by-frame reading of the formula; its gradient against the policy gradient."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from gnomon.learn.losses import impala_loss
from gnomon.learn.vtrace import vtrace

T, B, A = 23, 3, 4


def draw() -> dict[str, Any]:
    rng = np.random.default_rng(12)
    shapes = {"logits": (T, B, A), "values": (T + 1, B), "r_t": (T, B)}
    batch: dict[str, Any] = {name: torch.from_numpy(rng.normal(size=shape)) for name, shape in shapes.items()}
    batch["behaviour_log_prob"] = torch.from_numpy(rng.uniform(-2.5, -0.5, (T, B)))
    batch["actions"] = torch.from_numpy(rng.integers(0, A, (T, B)))
    batch["discount_t"] = torch.from_numpy(np.where(rng.random((T, B)) < 0.1, 0.0, 0.9))
    return batch


def loss_of(batch: dict[str, Any], entropy_cost: float = 0.01, **settings: Any) -> torch.Tensor:
    return impala_loss(**batch, entropy_cost=entropy_cost, **{"value_cost": 0.5, **settings})[0]


def read(batch: dict[str, Any], horizon: int, entropy_cost: float, value_cost: float) -> tuple[float, float]:
    """The loss and the entropy per frame, one frame at a time."""
    log_prob, entropy = torch.zeros(T, B, dtype=torch.float64), 0.0
    for t in range(T):
        for b in range(B):
            weights = [math.exp(x) for x in batch["logits"][t, b].tolist()]
            probabilities = [w / sum(weights) for w in weights]
            log_prob[t, b] = math.log(probabilities[int(batch["actions"][t, b])])
            entropy -= sum(p * math.log(p) for p in probabilities)
    vs, advantages = vtrace(
        log_prob - batch["behaviour_log_prob"],
        batch["discount_t"],
        batch["r_t"],
        batch["values"][:-1],
        batch["values"][-1],
        horizon,
    )
    loss = -entropy_cost * entropy
    for t in range(T):
        for b in range(B):
            loss -= float(advantages[t, b] * log_prob[t, b])
            loss += value_cost * 0.5 * float(vs[t, b] - batch["values"][t, b]) ** 2
    chunks = math.ceil(T / horizon) if horizon else 1
    return loss / chunks, entropy / (T * B)


@pytest.mark.parametrize("horizon", [0, 10, 1, 23, 100])
def test_equals_a_plain_reading(horizon: int) -> None:
    batch = draw()
    loss, metrics = impala_loss(**batch, entropy_cost=0.3, value_cost=0.7, horizon=horizon)
    expected, entropy = read(batch, horizon, entropy_cost=0.3, value_cost=0.7)
    assert loss.item() == pytest.approx(expected, rel=1e-10)
    assert metrics["entropy"].item() == pytest.approx(entropy, rel=1e-10)


def test_gradients_are_those_of_the_three_terms_with_targets_fixed() -> None:
    batch = draw()
    batch["logits"].requires_grad_()
    batch["values"].requires_grad_()
    loss_of(batch, 0.0).backward()
    policy = batch["logits"].detach().softmax(-1)
    taken = torch.nn.functional.one_hot(batch["actions"], A).to(policy.dtype)
    log_prob = (policy.log() * taken).sum(-1)
    vs, advantages = vtrace(
        log_prob - batch["behaviour_log_prob"],
        batch["discount_t"],
        batch["r_t"],
        batch["values"][:-1],
        batch["values"][-1],
    )
    torch.testing.assert_close(batch["logits"].grad, advantages[..., None] * (policy - taken))
    learned, bootstrap = batch["values"].grad[:-1], batch["values"].grad[-1]
    torch.testing.assert_close(learned, 0.5 * (batch["values"][:-1].detach() - vs))
    assert not bootstrap.any()


def test_entropy_bonus_pulls_towards_uniform() -> None:
    batch = draw()
    batch["logits"].requires_grad_()
    without = torch.autograd.grad(loss_of(batch, 0.0), batch["logits"])[0]
    with_bonus = torch.autograd.grad(loss_of(batch, 1.0), batch["logits"])[0]
    policy = batch["logits"].detach().softmax(-1)
    entropy = -(policy * policy.log()).sum(-1, keepdim=True)
    torch.testing.assert_close(with_bonus - without, policy * (policy.log() + entropy))


def test_loss_is_a_sum_over_lanes() -> None:
    batch = draw()
    twice: dict[str, Any] = {name: torch.cat([x, x], dim=1) for name, x in batch.items()}
    assert loss_of(twice).item() == pytest.approx(2 * loss_of(batch).item(), rel=1e-12)


def test_metrics_by_hand() -> None:
    """Two frames, one lane, two equally likely actions; ratios 2 and 1/2."""
    _, metrics = impala_loss(
        logits=torch.zeros(2, 1, 2, requires_grad=True),
        values=torch.tensor([[0.0], [1.0], [0.0]], requires_grad=True),
        behaviour_log_prob=torch.tensor([[0.25], [1.0]]).log(),
        actions=torch.zeros(2, 1, dtype=torch.int64),
        r_t=torch.tensor([[1.0], [3.0]]),
        discount_t=torch.zeros(2, 1),
        entropy_cost=0.01,
        value_cost=0.5,
    )
    # vs = (0 + 1 * 1, 1 + 0.5 * 2) = (1, 2); advantages (1, 0.5 * 2) = (1, 1); log pi = -log 2.
    assert not any(metric.requires_grad for metric in metrics.values())
    assert {name: metric.item() for name, metric in metrics.items()} == pytest.approx(
        {
            "policy_loss": 2 * math.log(2) / 2,
            "value_loss": 0.5 * (1 + 1) / 2,
            "entropy": math.log(2),
            "mean_log_rho": 0.0,
            "kl": (2 - 1 - math.log(2) + 0.5 - 1 + math.log(2)) / 2,
            "clipped_share": 0.5,
            "mean_value": 0.5,
            "explained_variance": 1.0,  # values are off by a constant
        },
        abs=1e-6,
    )


def test_explained_variance_is_undefined_if_targets_do_not_vary() -> None:
    zeros = torch.zeros(2, 1)
    _, metrics = impala_loss(
        torch.zeros(2, 1, 2), torch.zeros(3, 1), zeros - 1, zeros.long(), r_t=zeros, discount_t=zeros,
        entropy_cost=0.01, value_cost=0.5,
    )  # fmt: skip
    assert metrics["explained_variance"].isnan()
