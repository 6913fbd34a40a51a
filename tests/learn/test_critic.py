"""Values that are solved: right at once, wherever they can be."""

import pytest
import torch
from torch import nn

from gnomon.learn.critic import Critic

DISCOUNT = 0.97


def head(units: int) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(units, 1, dtype=torch.float64)


def batch(weights: torch.Tensor, bias: float, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """Units [21, 64, U], and rewards and discounts [20, 64] that make weights . units + bias exactly the value."""
    units = torch.rand(21, 64, len(weights), generator=generator, dtype=torch.float64)
    discount = DISCOUNT * (torch.rand(20, 64, generator=generator) > 0.05).double()
    values = units @ weights + bias
    return units, values[:-1] - discount * values[1:], discount


@pytest.mark.parametrize("bias", [0.0, 3.0, -1.0])
def test_values_that_can_be_right_are_right(bias: float) -> None:
    generator, truth = torch.Generator().manual_seed(1), torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    critic = Critic(head(3), memory=0.9)
    for _ in range(40):
        critic.observe(*batch(truth, bias, generator))
    units, _, _ = batch(truth, bias, generator)
    torch.testing.assert_close(critic.values(units), units @ truth + bias, rtol=0, atol=0.05)


def test_noise_in_the_rewards_does_not_bias_the_values() -> None:
    """A coin decides at every frame whether the trial ends, with a reward: the value is what that is worth."""
    generator, chance = torch.Generator().manual_seed(2), 0.05
    critic = Critic(head(1), memory=0.999)
    worth = chance / (1 - DISCOUNT * (1 - chance))  # of a running trial; nothing follows it
    for _ in range(60):
        running = torch.ones(21, 256, 1, dtype=torch.float64)
        rewards = torch.zeros(20, 256, dtype=torch.float64)
        for t in range(20):
            ends = (torch.rand(256, generator=generator) < chance) & (running[t, :, 0] > 0)
            rewards[t, ends] = 1.0
            running[t + 1 :, ends] = 0.0
        critic.observe(running, rewards, torch.full((20, 256), DISCOUNT, dtype=torch.float64))
    running, over = critic.values(torch.tensor([[1.0], [0.0]], dtype=torch.float64)).tolist()
    assert running == pytest.approx(worth, rel=0.05)
    assert over == pytest.approx(0.0, abs=0.02)


def test_without_evidence_values_are_the_heads() -> None:
    value, units = head(3), torch.rand(5, 3, dtype=torch.float64)
    critic = Critic(value, memory=0.9)
    torch.testing.assert_close(critic.values(units), value(units).detach().squeeze(-1))


def test_old_batches_are_forgotten() -> None:
    generator, truth = torch.Generator().manual_seed(3), torch.tensor([1.0, 1.0], dtype=torch.float64)
    critic = Critic(head(2), memory=0.5)
    for sign in (-1.0, 1.0):
        for _ in range(12):
            critic.observe(*batch(sign * truth, 0.0, generator))
        assert critic.solution.tolist() == pytest.approx([sign, sign, 0.0], abs=0.1)


def test_what_is_saved_is_what_was() -> None:
    first, second = (Critic(head(3), memory=0.9) for _ in range(2))
    first.observe(*batch(torch.ones(3, dtype=torch.float64), 1.0, torch.Generator().manual_seed(4)))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.solution, second.solution)
    more = batch(torch.ones(3, dtype=torch.float64), 0.0, torch.Generator().manual_seed(5))
    first.observe(*more)
    second.observe(*more)
    assert torch.equal(first.solution, second.solution)
