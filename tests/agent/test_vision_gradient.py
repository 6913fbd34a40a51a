"""Vision may learn from a sample of the observations: unbiased, at a fixed price, and from all where they are few."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from made_up import acted, build_learner
from small_run import LEARNING, small_actor
from torch import Tensor

from gnomon.agent.feature_cache import backpropagate_into_vision
from gnomon.agent.vision_gradient import VisionGradient, systematic_draw
from gnomon.learn.actor import Actor

OBSERVATIONS, FEATURES = 40, 3
SIZE = 6


def made_up_gradient(seed: int = 0) -> tuple[Tensor, Tensor]:
    """Gradients [N, F] of very different lengths, one of them 0, with respect to the features of ids [N]."""
    generator = torch.Generator().manual_seed(seed)
    gradient = torch.randn(15, FEATURES, generator=generator, dtype=torch.float64)
    gradient *= torch.logspace(-3, 1, 15, dtype=torch.float64).unsqueeze(1)
    gradient[4] = 0.0
    return torch.randperm(OBSERVATIONS, generator=generator)[:15].sort().values, gradient


def drawing(seed: int = 0) -> VisionGradient:
    return VisionGradient(OBSERVATIONS, torch.Generator().manual_seed(seed))


def test_gradients_are_summed_by_observation_and_begin_anew_after_they_are_taken() -> None:
    gradients = drawing()
    for _ in range(2):
        gradients.add(torch.tensor([3, 7], dtype=torch.int32), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        gradients.add(torch.tensor([7, 9], dtype=torch.int32), torch.tensor([[10.0, 20.0], [0.0, 0.0]]))
        assert gradients.batches == 2
        ids, summed = gradients.take()
        assert ids.tolist() == [3, 7, 9]
        assert summed.tolist() == [[1.0, 2.0], [13.0, 24.0], [0.0, 0.0]]
        assert gradients.batches == 0


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=20), st.floats(0.0, 1.0, exclude_max=True))
def test_a_systematic_draw_is_within_one_of_what_is_expected(expected: list[float], offset: float) -> None:
    times = systematic_draw(torch.tensor(expected, dtype=torch.float64), offset)
    for drawn, wanted in zip(times.tolist(), expected, strict=True):
        assert drawn == int(drawn) >= 0
        assert abs(drawn - wanted) < 1 + 1e-9


def test_over_all_offsets_a_systematic_draw_is_what_is_expected() -> None:
    """A thousand evenly spread offsets: each item's mean may be off by a thousandth."""
    expected = torch.tensor([0.3, 0.0, 1.7, 0.05, 2.2, 0.75], dtype=torch.float64)
    draws = torch.stack([systematic_draw(expected, (k + 0.5) / 1000) for k in range(1000)])
    torch.testing.assert_close(draws.mean(0), expected, rtol=0, atol=1.001e-3)
    assert draws.sum(1).eq(5).all()  # the sum of what is expected is a whole number: every draw is of that size


def test_the_expectation_of_a_sample_is_the_gradient_of_all() -> None:
    ids, gradient = made_up_gradient()
    draws, gradients = 4000, drawing()
    total = torch.zeros(OBSERVATIONS, FEATURES, dtype=torch.float64)
    distinct = set()
    for _ in range(draws):
        drawn, weighted = gradients.sample(ids, gradient, SIZE)
        assert len(drawn) <= SIZE
        distinct.add(tuple(drawn.tolist()))
        total[drawn] += weighted
    assert len(distinct) > 10
    # How often an item is drawn is one of two neighbouring whole numbers, so its variance is that of a coin.
    norms = gradient.norm(dim=1)
    expected = SIZE * norms / norms.sum()
    deviation = norms * (expected.frac() * (1 - expected.frac())).sqrt() / expected.clamp(min=1e-12)
    error = (total[ids] / draws - gradient).norm(dim=1)
    assert (error <= 5 * deviation / draws**0.5 + 1e-12).all()
    assert error[norms > 0].max() > 0


def vision_gradient(actor: Actor, ids: Tensor, gradient: Tensor) -> Tensor:
    """Of all weights of vision, flat."""
    actor.agent.zero_grad()
    backpropagate_into_vision(actor.agent, actor.laboratory.render, ids, gradient)
    return torch.cat([p.grad.flatten() for p in actor.agent.vision.parameters() if p.grad is not None])


def test_the_expectation_of_visions_gradient_is_that_of_all() -> None:
    """Over evenly spread offsets the mean of the sampled gradients is the gradient of all; none of them equals it."""
    actor = small_actor("lstm", lanes=4, length=4, dtype=torch.float64)
    generator = torch.Generator().manual_seed(1)
    ids = torch.arange(0, actor.laboratory.observations, actor.laboratory.observations // 12)
    gradient = torch.randn(len(ids), actor.agent.config.features, generator=generator, dtype=torch.float64)
    gradient *= torch.rand(len(ids), 1, generator=generator, dtype=torch.float64) ** 3
    whole = vision_gradient(actor, ids, gradient)
    norms = gradient.norm(dim=1)
    expected = SIZE * norms / norms.sum()
    draws, mean = 200, torch.zeros_like(whole)
    for k in range(draws):
        times = systematic_draw(expected, (k + 0.5) / draws)
        drawn = times.nonzero().squeeze(1)
        sampled = vision_gradient(actor, ids[drawn], gradient[drawn] * (times / expected)[drawn].unsqueeze(1))
        assert (sampled - whole).norm() > 0.05 * whole.norm()
        mean += sampled / draws
    assert (mean - whole).norm() < 0.02 * whole.norm()


@pytest.mark.parametrize("size", [0, 15, 100])
def test_a_sample_as_large_as_all_is_all_and_draws_nothing(size: int) -> None:
    ids, gradient = made_up_gradient()
    gradients = drawing()
    before = gradients.generator.get_state()
    drawn, weighted = gradients.sample(ids, gradient, size)
    assert torch.equal(drawn, ids)
    assert torch.equal(weighted, gradient)
    assert torch.equal(gradients.generator.get_state(), before)


@pytest.mark.parametrize("value", [0.0, torch.nan, torch.inf])
def test_gradients_that_cannot_be_compared_are_all_taken(value: float) -> None:
    """So that the learner notices what is not finite."""
    ids, gradient = made_up_gradient()
    drawn, weighted = drawing().sample(ids, torch.full_like(gradient, value), SIZE)
    assert torch.equal(drawn, ids)
    assert torch.equal(weighted, torch.full_like(gradient, value)) or value != value


@pytest.mark.parametrize("vision_every", [1, 3])
def test_a_learner_whose_sample_holds_all_learns_as_one_without(vision_every: int) -> None:
    weights = []
    for size in (0, 10_000):
        actor = small_actor("lstm", lanes=12, length=6)
        optimiser = replace(LEARNING.optimiser, vision_every=vision_every, vision_sample=size)
        learner = build_learner(actor, replace(LEARNING, batch=4, optimiser=optimiser))
        unroll = acted(actor)
        for _ in range(3):
            assert learner.learn(unroll, 0).get("feature_age", 0.0) == 0.0
            unroll = actor.unroll()
        weights.append(actor.agent.state_dict())
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name]), name


@pytest.mark.parametrize("workers", [1, 2])
def test_a_learner_pays_for_its_share_of_the_sample_only(workers: int) -> None:
    actor = small_actor("lstm", lanes=12, length=6)
    optimiser = replace(LEARNING.optimiser, vision_every=3, vision_sample=SIZE)
    learner = build_learner(actor, replace(LEARNING, batch=4, workers=workers, optimiser=optimiser))
    unroll = acted(actor)
    learner.learn(unroll, 0)
    rendered: list[int] = []
    render = actor.cache.render
    actor.cache.render = lambda ids: (rendered.append(len(ids)), render(ids))[1]
    metrics = learner.learn(unroll, 0)  # the same again: nothing is seen for the first time
    assert metrics["distinct"] > 2 * SIZE
    assert metrics["feature_age"] > 0
    assert sum(rendered) <= SIZE // workers + SIZE  # what it learns from, and what it sees anew
