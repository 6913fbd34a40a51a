"""V-trace against the paper's definition, read literally, and against numbers printed by rlax."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.learn.vtrace import VTrace, vtrace


def definition(
    log_rhos: np.ndarray,
    discount_t: np.ndarray,
    r_t: np.ndarray,
    values: np.ndarray,
    bootstrap_value: np.ndarray,
) -> VTrace:
    """v_s = V(x_s) + sum_{t >= s} (prod_{i=s}^{t-1} discount_i c_i) delta_t (Espeholt et al., equation 1)."""
    steps, lanes = values.shape
    ratios = np.exp(log_rhos)
    v = np.vstack([values, bootstrap_value])  # V(x_0) ... V(x_T)
    vs = v.copy()
    for b in range(lanes):
        for s in range(steps):
            product = 1.0
            for t in range(s, steps):
                rho = c = min(1.0, ratios[t, b])
                vs[s, b] += product * rho * (r_t[t, b] + discount_t[t, b] * v[t + 1, b] - v[t, b])
                product *= discount_t[t, b] * c
    advantages = np.minimum(1.0, ratios) * (r_t + discount_t * vs[1:] - values)
    return VTrace(torch.from_numpy(vs[:-1]), torch.from_numpy(advantages))


def draw(steps: int, lanes: int, seed: int) -> tuple[np.ndarray, ...]:
    """Ratios on both sides of the clip, rewards, values, and episodes that end inside."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(0.0, 0.7, (steps, lanes)),
        np.where(rng.random((steps, lanes)) < 0.1, 0.0, 0.97),
        rng.normal(size=(steps, lanes)),
        rng.normal(size=(steps, lanes)),
        rng.normal(size=lanes),
    )


def run(inputs: tuple[np.ndarray, ...], horizon: int = 0) -> VTrace:
    log_rhos, discount_t, r_t, values, bootstrap_value = (torch.from_numpy(x) for x in inputs)
    return vtrace(log_rhos, discount_t, r_t, values, bootstrap_value, horizon)


def assert_same(ours: VTrace, expected: VTrace) -> None:
    torch.testing.assert_close(ours.vs, expected.vs, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(ours.advantages, expected.advantages, rtol=1e-9, atol=1e-9)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(steps=st.integers(1, 200), lanes=st.integers(1, 3), seed=st.integers(0, 2**16))
def test_equals_the_definition(steps: int, lanes: int, seed: int) -> None:
    inputs = draw(steps, lanes, seed)
    assert_same(run(inputs), definition(*inputs))


def test_with_a_horizon_of_one_the_target_is_one_step_away() -> None:
    inputs = _, discount_t, r_t, values, bootstrap_value = draw(50, 3, 0)
    log_rhos = np.zeros_like(values)
    targets = run((log_rhos, *inputs[1:]), horizon=1).vs
    torch.testing.assert_close(targets, torch.from_numpy(r_t + discount_t * np.vstack([values[1:], bootstrap_value])))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(steps=st.integers(1, 60), horizon=st.integers(1, 70), seed=st.integers(0, 2**16))
def test_horizon_equals_separate_vtraces(steps: int, horizon: int, seed: int) -> None:
    inputs = log_rhos, discount_t, r_t, values, bootstrap_value = draw(steps, 2, seed)
    parts = []
    for start in range(0, steps, horizon):
        part = slice(start, start + horizon)
        after = values[start + horizon] if start + horizon < steps else bootstrap_value
        parts.append(definition(log_rhos[part], discount_t[part], r_t[part], values[part], after))
    joined = VTrace(*(torch.cat(pieces) for pieces in zip(*parts, strict=True)))
    assert_same(run(inputs, horizon), joined)


def test_horizon_of_the_whole_unroll_equals_0_and_a_shorter_one_does_not() -> None:
    inputs = draw(30, 2, seed=1)
    assert_same(run(inputs, horizon=30), run(inputs))
    assert not torch.allclose(run(inputs, horizon=10).vs, run(inputs).vs)


def test_equals_rlax() -> None:
    """Numbers printed by rlax 0.1.9, vtrace_td_error_and_advantage(v_tm1, v_t, r_t, discount_t, rho_tm1) with
    lambda_, clip_rho_threshold and clip_pg_rho_threshold all 1, in double precision, one call per lane."""
    log_rhos = [[-1.02, 0.67], [-0.15, 0.54], [1.15, 0.09], [0.0, -1.03], [-0.56, 0.0], [0.43, 0.73]]
    discount_t = [[0.9, 0.9], [0.9, 0.9], [0.0, 0.9], [0.9, 0.9], [0.9, 0.0], [0.9, 0.9]]
    r_t = [[-0.63, -0.17], [0.51, -0.26], [-0.24, -1.45], [0.55, 0.12], [0.27, -1.53], [1.65, 0.15]]
    values = [[-0.39, 2.03], [-0.05, -1.45], [-0.41, -2.29], [1.05, -0.42], [-0.74, 1.07], [-1.65, 0.54]]
    bootstrap_value = [-2.06, -0.66]
    vs = [
        [-0.39667995, -2.10251601],
        [0.24608354, -2.14724001],
        [-0.24, -2.09693334],
        [0.30884245, -0.71881483],
        [-0.26795283, -1.53],
        [-0.204, -0.444],
    ]
    advantages = [
        [-0.00667995, -4.13251601],
        [0.29608354, -0.69724001],
        [0.17, 0.19306666],
        [-0.74115755, -0.29881483],
        [0.47204717, -2.6],
        [1.446, -0.984],
    ]
    ours = run(tuple(np.array(x) for x in (log_rhos, discount_t, r_t, values, bootstrap_value)))
    np.testing.assert_allclose(ours.vs.numpy(), vs, atol=2e-8)
    np.testing.assert_allclose(ours.advantages.numpy(), advantages, atol=2e-8)


def test_on_policy_targets_are_discounted_returns() -> None:
    """With ratio 1 the values cancel: v_s = r_s + 0.5 r_{s+1} + 0.25 bootstrap, by hand."""
    ones, values = torch.ones(2, 1), torch.tensor([[5.0], [-3.0]])
    result = vtrace(0 * ones, 0.5 * ones, torch.tensor([[1.0], [2.0]]), values, torch.tensor([8.0]))
    assert result.vs.tolist() == [[1 + 0.5 * 2 + 0.25 * 8], [2 + 0.5 * 8]]
    assert result.advantages.tolist() == [[4.0 - 5.0], [6.0 + 3.0]]


def test_targets_carry_no_gradient() -> None:
    log_rhos, discount_t, r_t, values, bootstrap = (torch.from_numpy(x).requires_grad_() for x in draw(4, 2, 2))
    result = vtrace(log_rhos, discount_t, r_t, values, bootstrap)
    assert not result.vs.requires_grad
    assert not result.advantages.requires_grad


@pytest.mark.parametrize("horizon", [-1, -10])
def test_horizon_must_be_a_step_at_least(horizon: int) -> None:
    with pytest.raises(ValueError, match=f"horizon is {horizon}; it must be at least 1 step"):
        run(draw(5, 1, seed=3), horizon)
