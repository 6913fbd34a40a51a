"""The line that keeps the critic level."""

import pytest
import torch

from gnomon.learn.calibration import Calibration
from gnomon.learn.losses import impala_loss

DISCOUNT = 0.97


def rewards_for(values: torch.Tensor, discount: torch.Tensor) -> torch.Tensor:
    """Rewards that make these values exactly right: r_t = V_t - discount_t V_{t+1}."""
    return values[:-1] - discount * values[1:]


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (0.3, 1.0), (0.0, 0.6), (-0.2, 1.7)])
def test_values_that_are_wrong_together_are_put_right(offset: float, scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    calibration = Calibration(memory=0.9)
    for _ in range(60):
        values = torch.rand(21, 64, generator=generator)
        end = torch.rand(20, 64, generator=generator) < 0.05
        discount = DISCOUNT * (~end)
        calibration.observe(values, rewards_for(offset + scale * values, discount), discount)
    assert calibration.line == pytest.approx((offset, scale), abs=0.02)


def test_without_evidence_values_stay_as_they_are() -> None:
    assert Calibration(0.98).line == (0.0, 1.0)


def test_old_batches_are_forgotten() -> None:
    generator = torch.Generator().manual_seed(1)
    calibration = Calibration(memory=0.5)
    discount = torch.full((20, 64), DISCOUNT)
    for scale in (0.5, 2.0):
        for _ in range(12):
            values = torch.rand(21, 64, generator=generator)
            calibration.observe(values, rewards_for(scale * values, discount), discount)
    assert calibration.line[1] == pytest.approx(2.0, abs=0.1)


def test_level_values_leave_no_common_advantage() -> None:
    generator = torch.Generator().manual_seed(2)
    truth, discount = torch.rand(21, 8, generator=generator), torch.full((20, 8), DISCOUNT)
    values, logits = (truth - 0.3) / 0.6, torch.zeros(20, 8, 4)
    action = torch.zeros(20, 8, dtype=torch.int64)
    log_prob = torch.full((20, 8), 0.25).log()
    losses = [
        impala_loss(
            logits, values[:-1], values[-1], log_prob, action, rewards_for(truth, discount), discount, calibration=line
        )[1]["policy_loss"]
        for line in ((0.0, 1.0), (0.3, 0.6))
    ]
    assert abs(float(losses[0])) > 1
    assert float(losses[1]) == pytest.approx(0.0, abs=1e-4)
