"""Values that are solved: right at once, wherever they can be."""

import math

import pytest
import torch
from torch import Tensor

from gnomon.learn.aids import lstd_critic
from gnomon.learn.aids.lstd_critic import LeastSquaresValues, discounts_to_end

DISCOUNT = 0.97


def bounded(units: Tensor) -> Tensor:
    return units / (1 + units.abs())


def batch(weights: Tensor, bias: float, generator: torch.Generator) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """Units [21, 64, U], and rewards and discounts [20, 64] that make weights . units (bounded) + bias the value."""
    units = 4 * torch.rand(21, 64, len(weights), generator=generator, dtype=torch.float64) - 2
    discount = DISCOUNT * (torch.rand(20, 64, generator=generator) > 0.05).double()
    values = bounded(units) @ weights + bias
    return {"hidden": units}, values[:-1] - discount * values[1:], discount


def observe(critic: LeastSquaresValues, units: dict[str, Tensor], rewards: Tensor, discount: Tensor) -> None:
    critic.observe(critic.functions(units), rewards, discount)


def values(critic: LeastSquaresValues, units: dict[str, Tensor]) -> Tensor:
    return critic.values(critic.functions(units))


@pytest.mark.parametrize("bias", [0.0, 3.0, -1.0])
def test_values_that_can_be_right_are_right(bias: float) -> None:
    generator, truth = torch.Generator().manual_seed(1), torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    critic = LeastSquaresValues(memory=0.9)
    for _ in range(40):
        observe(critic, *batch(truth, bias, generator))
    units, _, _ = batch(truth, bias, generator)
    torch.testing.assert_close(values(critic, units), bounded(units["hidden"]) @ truth + bias, rtol=0, atol=0.05)


def test_noise_in_the_rewards_does_not_bias_the_values() -> None:
    """A coin decides at every frame whether the trial ends, with a reward: the value is what that is worth."""
    generator, chance = torch.Generator().manual_seed(2), 0.05
    critic = LeastSquaresValues(memory=0.999)
    worth = chance / (1 - DISCOUNT * (1 - chance))  # of a running trial; nothing follows it
    for _ in range(60):
        running = torch.ones(21, 256, 1, dtype=torch.float64)
        rewards = torch.zeros(20, 256, dtype=torch.float64)
        for t in range(20):
            ends = (torch.rand(256, generator=generator) < chance) & (running[t, :, 0] > 0)
            rewards[t, ends] = 1.0
            running[t + 1 :, ends] = 0.0
        observe(critic, {"hidden": running}, rewards, torch.full((20, 256), DISCOUNT, dtype=torch.float64))
    on = torch.tensor([[[1.0], [0.0]]], dtype=torch.float64)
    running, over = values(critic, {"hidden": on})[0].tolist()
    assert running == pytest.approx(worth, rel=0.05)
    assert over == pytest.approx(0.0, abs=0.02)


def test_a_value_may_fall_when_the_time_to_respond_has_passed() -> None:
    """A unit counts the frames; at its middle the trial is paid and over, or goes on for nothing."""
    critic, frames, generator = LeastSquaresValues(memory=0.98), 41, torch.Generator().manual_seed(3)
    clock = torch.linspace(-1, 1, frames, dtype=torch.float64)
    middle = frames // 2
    for _ in range(60):
        late = torch.rand(64, generator=generator) < 0.5
        over = torch.zeros(frames, 64, dtype=torch.float64)
        over[middle + 1 :, ~late] = 1.0
        units = {"cell": clock.view(-1, 1, 1).expand(-1, 64, 1), "hidden": over.unsqueeze(-1)}
        rewards = torch.zeros(frames - 1, 64, dtype=torch.float64)
        rewards[middle, ~late] = 1.0
        observe(critic, units, rewards, torch.full((frames - 1, 64), DISCOUNT, dtype=torch.float64))
    waiting = {"cell": clock.view(-1, 1, 1), "hidden": torch.zeros(frames, 1, 1, dtype=torch.float64)}
    course = values(critic, waiting)[:, 0]
    assert course[middle - 2] > 0.3
    assert course[0] < course[middle - 2] - 0.1
    assert course[middle + 8 :].max() < 0.1


def test_without_evidence_values_are_zero() -> None:
    critic = LeastSquaresValues(memory=0.9)
    assert not values(critic, {"hidden": torch.rand(5, 2, 3)}).any()


def test_all_units_count_whatever_their_shape() -> None:
    critic, units = LeastSquaresValues(memory=0.9), {"memory": torch.rand(5, 7, 2, 3), "hidden": torch.rand(5, 7, 4)}
    functions = critic.functions(units)
    torch.testing.assert_close(functions[..., :6], bounded(units["memory"]).flatten(2))
    torch.testing.assert_close(functions[..., 6:10], bounded(units["hidden"]))
    assert (functions[..., -1] == 1).all()
    assert (functions[..., 10:-1] >= 0).all()


def test_old_batches_fade() -> None:
    generator, truth = torch.Generator().manual_seed(3), torch.tensor([1.0, 1.0], dtype=torch.float64)
    critic = LeastSquaresValues(memory=0.5)
    for sign in (-1.0, 1.0):
        for _ in range(12):
            observe(critic, *batch(sign * truth, 0.0, generator))
        units, _, _ = batch(truth, 0.0, generator)
        torch.testing.assert_close(values(critic, units), sign * bounded(units["hidden"]) @ truth, rtol=0, atol=0.15)


def test_what_is_saved_is_what_was() -> None:
    first, second = (LeastSquaresValues(memory=0.9) for _ in range(2))
    observe(first, *batch(torch.ones(3, dtype=torch.float64), 1.0, torch.Generator().manual_seed(4)))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.solution, second.solution)
    more = batch(torch.ones(3, dtype=torch.float64), 0.0, torch.Generator().manual_seed(5))
    observe(first, *more)
    observe(second, *more)
    assert torch.equal(first.solution, second.solution)


@pytest.mark.parametrize("guarded", [True, False])
def test_values_that_run_away_are_solved_anew(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where units only grow, the value at the unroll's end is an extrapolation."""
    if not guarded:
        monkeypatch.setattr(lstd_critic, "FAR", math.inf)
    units = {"hidden": torch.linspace(0.1, 9, 11).view(11, 1, 1).expand(11, 12, 1)}
    critic = LeastSquaresValues(memory=0.9)
    for _ in range(10):
        observe(critic, units, torch.ones(10, 12), torch.full((10, 12), 0.99))
        assert (values(critic, units).abs().max() < 10 * (1 + 10)) == guarded


def test_a_privileged_critic_tells_moments_apart_that_look_the_same() -> None:
    """A reward 1 comes at the end of every trial of 40 frames, and nothing can be seen on the way."""
    since = (torch.arange(201)[:, None] + 7 * torch.arange(30)) % 40  # [201, 30] each lane at its own time
    rewards, discount = (since[1:] == 0).double(), torch.full((200, 30), DISCOUNT, dtype=torch.float64)
    units = {"hidden": torch.ones(201, 30, 2, dtype=torch.float64)}
    privileged, blind = LeastSquaresValues(memory=0.9), LeastSquaresValues(memory=0.9)
    for _ in range(30):
        privileged.observe(privileged.functions(units, since.unsqueeze(-1)), rewards, discount)
        observe(blind, units, rewards, discount)
    truth = DISCOUNT ** (39.0 - since) / (1 - DISCOUNT**40)
    assert (privileged.values(privileged.functions(units, since.unsqueeze(-1))) - truth).abs().max() < 0.05
    assert (values(blind, units) - truth).abs().max() > 0.3


@pytest.mark.parametrize("horizon", [0, 10, 4, 7])
def test_returns_end_with_the_chunk(horizon: int) -> None:
    """Against loops: the discounted reward of a chunk, and the discount to the frame after it."""
    generator = torch.Generator().manual_seed(6)
    rewards = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    discount = DISCOUNT * (torch.rand(20, 3, generator=generator) > 0.2).double()
    functions = torch.rand(21, 3, 5, generator=generator, dtype=torch.float64)
    left, right = torch.zeros(5, 5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    chunk = horizon or 20
    decays, ends = discounts_to_end(discount, horizon)
    for b in range(3):
        for t in range(0, 20, lstd_critic.EVERY):
            end = min((t // chunk + 1) * chunk, 20)
            total, weight = 0.0, 1.0
            for k in range(t, end):
                total += weight * float(rewards[k, b])
                weight *= float(discount[k, b])
            assert float(decays[t, b]) == pytest.approx(weight)
            assert int(ends[t]) == end
            left += torch.outer(functions[t, b], functions[t, b] - weight * functions[end, b])
            right += total * functions[t, b]
    critic = LeastSquaresValues(memory=0.9, horizon=horizon)
    critic.observe(functions, rewards, discount)
    expected = torch.linalg.solve(left + lstd_critic.RIDGE * torch.eye(5, dtype=torch.float64), right)
    torch.testing.assert_close(critic.solution, expected)
