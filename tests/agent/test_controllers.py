"""One contract for all controllers: a controller is tested by being registered."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from gnomon.agent.agent import AgentConfig
from gnomon.agent.controller import Controller
from gnomon.agent.controllers import CONTROLLERS, build_controller

T, B, F, U = 6, 3, 10, 32


def build(name: str) -> Controller:
    return build_controller(name, F, U, torch.Generator().manual_seed(1))


def frames() -> tuple[Tensor, Tensor]:
    """Features [T * B, F] and first [T, B] with resets on frame 0, inside, and twice in a row."""
    generator = torch.Generator().manual_seed(2)
    first = torch.zeros(T, B, dtype=torch.bool)
    first[0, 0] = first[3, 1] = first[4, 1] = first[5, 0] = True
    return torch.randn(T * B, F, generator=generator), first


def carried(controller: Controller) -> dict[str, Tensor]:
    """A state no reset would give, so that a missing reset shows."""
    return {name: x + torch.linspace(-1, 1, x.numel()).view_as(x) for name, x in controller.initial_state(B).items()}


@pytest.fixture(params=CONTROLLERS)
def controller(request: pytest.FixtureRequest) -> Controller:
    return build(request.param)


def test_steps_equal_unroll_with_resets_inside(controller: Controller) -> None:
    features, first = frames()
    drive = controller.drive(features).view(T, B, -1)
    outputs, last, units = controller.unroll(drive, first, carried(controller))
    state = carried(controller)
    for t in range(T):
        output, state = controller.step(drive[t], controller.reset(state, first[t]))
        torch.testing.assert_close(outputs[t], output)
        for name, tensor in state.items():
            torch.testing.assert_close(units[name][t], tensor)
    assert set(last) == set(state)
    for name in state:
        torch.testing.assert_close(last[name], state[name])


def test_steps_and_unroll_have_the_same_gradient(controller: Controller) -> None:
    features, first = frames()
    weights = [p for p in controller.parameters() if p.requires_grad]
    grads = []
    for in_steps in (True, False):
        features = features.detach().requires_grad_()
        drive = controller.drive(features).view(T, B, -1)
        if in_steps:
            state, collected = carried(controller), []
            for drive_t, first_t in zip(drive.unbind(0), first.unbind(0), strict=True):
                output, state = controller.step(drive_t, controller.reset(state, first_t))
                collected.append(output)
            outputs = torch.stack(collected)
        else:
            outputs = controller.unroll(drive, first, carried(controller))[0]
        grads.append(torch.autograd.grad(outputs.sin().sum(), [features, *weights]))
    for stepped, unrolled in zip(*grads, strict=True):
        torch.testing.assert_close(unrolled, stepped, rtol=1e-4, atol=1e-5)


def test_two_unrolls_equal_one(controller: Controller) -> None:
    features, first = frames()
    drive = controller.drive(features).view(T, B, -1)
    whole, _, _ = controller.unroll(drive, first, carried(controller))
    early, state, _ = controller.unroll(drive[:2], first[:2], carried(controller))
    late, _, _ = controller.unroll(drive[2:], first[2:], state)
    torch.testing.assert_close(torch.cat([early, late]), whole)


def test_shapes_and_names(controller: Controller) -> None:
    features, first = frames()
    drive = controller.drive(features).view(T, B, -1)
    assert drive.shape[-1] == controller.drive_size
    state = controller.initial_state(B)
    outputs, state, units = controller.unroll(drive, first, state)
    assert outputs.shape == (T, B, U)
    assert controller.units == U
    assert tuple(units) == controller.unit_names
    assert tuple(state) == (controller.unit_names if controller.recurrent else ())
    assert all(tensor.shape[:2] == (T, B) for tensor in units.values())
    assert all(len(tensor) == B for tensor in state.values())


def test_memory_depends_on_the_past_only_if_recurrent(controller: Controller) -> None:
    features, first = frames()
    drive = controller.drive(features).view(T, B, -1).detach()
    changed = drive.clone()
    changed[0] += 1.0
    no_resets = torch.zeros_like(first)
    before = controller.unroll(drive, no_resets, controller.initial_state(B))[0]
    after = controller.unroll(changed, no_resets, controller.initial_state(B))[0]
    assert torch.equal(before[1:], after[1:]) != controller.recurrent


def test_reset_touches_only_lanes_whose_episode_begins(controller: Controller) -> None:
    state = carried(controller)
    reset = controller.reset(state, torch.tensor([True, False, False]))
    for name, tensor in reset.items():
        torch.testing.assert_close(tensor[0], controller.initial_state(1)[name][0], rtol=0, atol=0)
        torch.testing.assert_close(tensor[1:], state[name][1:], rtol=0, atol=0)


def test_episodes_begin_with_zeros_or_with_slots_that_differ(controller: Controller) -> None:
    for name, tensor in controller.initial_state(B).items():
        expected = torch.eye(*tensor.shape[1:]) if name == "memory" else torch.zeros(U)
        assert torch.equal(tensor, expected.expand_as(tensor))


def test_same_generator_seed_same_weights(controller: Controller) -> None:
    name = next(name for name, kind in CONTROLLERS.items() if kind is type(controller))
    torch.manual_seed(99)  # the global generator must not matter
    for ours, again in zip(controller.parameters(), build(name).parameters(), strict=True):
        assert torch.equal(ours, again)


def test_frozen_lstm_passes_gradient_on_and_has_nothing_to_train() -> None:
    frozen, free = build("frozen_lstm"), build("lstm")
    assert not any(p.requires_grad for p in frozen.parameters())
    features, first = frames()
    grads = []
    for controller in (frozen, free):
        features = features.detach().requires_grad_()
        drive = controller.drive(features).view(T, B, -1)
        controller.unroll(drive, first, controller.initial_state(B))[0].sum().backward()
        grads.append(features.grad)
    assert grads[0].abs().sum() > 0
    torch.testing.assert_close(grads[0], grads[1])


def test_lstm_starts_out_remembering() -> None:
    bias = dict(build("lstm").named_parameters())["bias"].detach().view(4, U)  # i, f, g, o
    assert torch.equal(bias, torch.tensor([0.0, 1.0, 0.0, 0.0])[:, None].expand(4, U))


@pytest.mark.parametrize(
    ("name", "parameter", "fan_in"),
    [
        ("lstm", "input_weight", F + 128),
        ("lstm", "recurrent_weight", F + 128),
        ("rnn", "recurrent_weight", 128),
        ("gru", "recurrent_weight", 128),
        ("feedforward", "layer.weight", F),
    ],
)
def test_first_weights(name: str, parameter: str, fan_in: int) -> None:
    controller = build_controller(name, F, 128, torch.Generator().manual_seed(1))
    weight = dict(controller.named_parameters())[parameter].detach()
    assert weight.abs().max() <= 2 * fan_in**-0.5
    # A normal cut at two s.d. keeps 0.8796 of its s.d.
    assert weight.std().item() == pytest.approx(0.8796 * fan_in**-0.5, rel=0.06)


def test_unknown_controller_is_told_the_choices() -> None:
    with pytest.raises(ValueError, match=r"unknown controller 'lsmt'; choose lstm, feedforward, rnn"):
        build_controller("lsmt", F, U, torch.Generator())


def test_rmc_units_must_fill_slots_and_heads() -> None:
    with pytest.raises(ValueError, match=r"multiple of its slots x heads, 16; got 40"):
        build_controller("rmc", F, 40, torch.Generator())


def test_rmc_starts_from_and_resets_to_the_identity() -> None:
    controller = build("rmc")
    padded_identity = torch.eye(4, U // 4).expand(B, 4, U // 4)
    assert torch.equal(controller.initial_state(B)["memory"], padded_identity)
    reset = controller.reset({"memory": torch.full((B, 4, U // 4), 7.0)}, torch.ones(B, dtype=torch.bool))
    assert torch.equal(reset["memory"], padded_identity)


def test_rmc_against_a_slow_reading_of_the_reference() -> None:
    """One lane, one row and one head at a time, input row and all, in double precision."""
    controller = build("rmc").double()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():  # norms and biases start at 1 and 0, where mistakes would not show
        for parameter in controller.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    w = {name: p.detach().numpy() for name, p in controller.named_parameters()}
    slots, heads, size = 4, 4, U // 4
    head = size // heads

    def affine(name: str, x: np.ndarray) -> np.ndarray:
        return w[name + ".weight"] @ x + w[name + ".bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        return w[name + ".weight"] * (x - x.mean()) / np.sqrt(x.var() + 1e-5) + w[name + ".bias"]

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    features = torch.randn(B, F, dtype=torch.float64, generator=generator)
    memory = torch.randn(B, slots, size, dtype=torch.float64, generator=generator)
    output, state = controller.step(controller.drive(features), {"memory": memory})
    for lane in range(B):
        row = affine("project", features[lane].numpy())
        rows = np.concatenate([memory[lane].numpy(), row[None]])
        mixed = np.stack([norm("query_key_value_norm", affine("query_key_value", r)) for r in rows])
        attended = np.zeros_like(rows)
        for h in range(heads):
            query, key, value = (mixed[:, part * size + h * head :][:, :head] for part in range(3))
            for r in range(len(rows)):
                match = np.exp([query[r] @ key[s] / np.sqrt(head) for s in range(len(rows))])
                attended[r, h * head : (h + 1) * head] = match / match.sum() @ value
        gates_from_input = affine("input_to_gates", row)
        for slot in range(slots):
            middle = norm("attention_norm", rows[slot] + attended[slot])
            mlp = affine("mlp.2", np.maximum(affine("mlp.0", middle), 0))
            proposal = norm("mlp_norm", middle + mlp)
            gates = affine("memory_to_gates", np.tanh(rows[slot])) + gates_from_input
            expected = sigmoid(gates[:size]) * np.tanh(proposal) + sigmoid(gates[size:]) * rows[slot]
            ours = output[lane, slot * size : (slot + 1) * size]
            np.testing.assert_allclose(ours.detach().numpy(), expected, rtol=1e-10)
            assert torch.equal(ours, state["memory"][lane, slot])


def test_rmc_forget_gate_starts_open() -> None:
    bias = dict(build("rmc").named_parameters())["input_to_gates.bias"].detach().view(2, -1)
    assert bias.unique(dim=1).flatten().tolist() == [0.0, 1.0]


def kept_after(controller: Controller, frames: int, unit: str) -> torch.Tensor:
    """Share of each unit's start value that is left when nothing is seen: [U]; inputs and other units off."""
    with torch.no_grad():
        for name, parameter in controller.named_parameters():
            if "weight" in name:
                parameter.zero_()
        drive = controller.drive(torch.zeros(1, F)).expand(1, -1)
        state = {name: torch.full_like(tensor, 1e-3) for name, tensor in controller.initial_state(1).items()}
        for _ in range(frames):
            _, state = controller.step(drive, state)
    return state[unit].flatten() / 1e-3


@pytest.mark.parametrize(("name", "unit"), [("lstm", "cell"), ("gru", "hidden"), ("frozen_lstm", "cell")])
def test_units_may_start_with_memories_of_many_lengths(name: str, unit: str) -> None:
    controller = build_controller(name, F, 512, torch.Generator().manual_seed(1))
    controller.chrono_initialise(200, torch.Generator().manual_seed(2))
    spans = -10 / kept_after(controller, 10, unit).log()
    fast, slow = spans.chunk(2)
    plain = build_controller(name, F, 512, torch.Generator().manual_seed(1))
    torch.testing.assert_close(fast, -10 / kept_after(plain, 10, unit).log()[:256])
    assert fast.max() < 4
    assert slow.min() < 5
    assert 190 < slow.max() < 202
    assert slow.mean().item() == pytest.approx(100, rel=0.1)


def test_slots_may_start_with_memories_of_many_lengths() -> None:
    controller = build_controller("rmc", F, 128, torch.Generator().manual_seed(1))
    controller.chrono_initialise(200, torch.Generator().manual_seed(2))
    input_bias, forget_bias = controller.get_parameter("input_to_gates.bias").chunk(2)
    assert torch.equal(forget_bias[:16], torch.ones(16))
    assert not input_bias[:16].any()
    assert torch.equal(input_bias[16:], -forget_bias[16:])
    assert 0 <= forget_bias[16:].min() < forget_bias[16:].max() < math.log(200)


@pytest.mark.parametrize("name", ["rnn", "feedforward"])
def test_without_gates_there_are_no_time_constants_to_set(name: str) -> None:
    with pytest.raises(ValueError, match=f"a {name} has no gates"):
        AgentConfig(name, chrono_span=200.0)
    assert AgentConfig(name).chrono_span == 0
