"""Vision on distinct observations: the same numbers and gradients as looking every time, and no needless look."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from pictures import OBSERVATIONS, Renderer, build, by_load, draw_ids
from torch import Tensor

from gnomon.agent import feature_cache
from gnomon.agent.agent import Agent
from gnomon.agent.controllers import CONTROLLERS
from gnomon.agent.feature_cache import FeatureCache, backpropagate_into_vision
from gnomon.learn.losses import impala_loss

T, B = 12, 4


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_cache, "CHUNK_PIXELS", 7 * 8 * 8)  # 7 frames, so that batches take several and a rest


def loss_and_gradient(agent: Agent, every_frame: bool) -> tuple[Tensor, dict[str, Tensor]]:
    """As the learner does it: features without gradient, the loss's gradient with respect to them, then vision's."""
    generator = torch.Generator().manual_seed(11)
    first = torch.rand(T + 1, B, generator=generator) < 0.2
    renderer, ids = Renderer(), draw_ids(T + 1, B)
    distinct, places = ids.unique(return_inverse=True)
    if every_frame:
        distinct, places = ids.flatten(), torch.arange(ids.numel()).view(ids.shape)
    features = FeatureCache(agent, renderer, OBSERVATIONS).features(distinct).requires_grad_()
    drive = F.embedding(places, agent.controller.drive(features))
    output, _ = agent.unroll(drive, first, agent.initial_state(B))
    agent.zero_grad()
    loss, _ = impala_loss(
        output.logits[:-1],
        output.value,
        behaviour_log_prob=-2 * torch.rand(T, B, generator=generator) - 0.5,
        actions=torch.randint(0, 5, (T, B), generator=generator),
        r_t=torch.randn(T, B, generator=generator),
        discount_t=0.99 * (~first[1:]),
        entropy_cost=0.01,
        value_cost=0.5,
    )
    loss.backward()
    assert features.grad is not None
    backpropagate_into_vision(agent, renderer, distinct, features.grad)
    return loss.detach(), {name: p.grad for name, p in agent.named_parameters() if p.grad is not None}


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_distinct_observations_give_the_same_loss_and_gradient(controller: str) -> None:
    agent = build(controller)
    loss_every, grad_every = loss_and_gradient(agent, every_frame=True)
    loss_distinct, grad_distinct = loss_and_gradient(agent, every_frame=False)
    torch.testing.assert_close(loss_distinct, loss_every, rtol=1e-5, atol=0)
    assert set(grad_distinct) == set(grad_every)
    assert {name for name in grad_every if name.startswith("vision.")}
    for name, grad in grad_every.items():
        error = (grad_distinct[name] - grad).norm() / grad.norm()
        assert grad.norm() > 0, name
        assert error < 1e-5, f"{name}: relative error {error:.1e}"


def test_looking_first_and_learning_later_is_plain_backpropagation() -> None:
    agent, renderer, ids = build(), Renderer(), draw_ids(T)
    wanted = torch.randn(T, 12, generator=torch.Generator().manual_seed(12))
    agent.vision(renderer.pictures[ids]).backward(wanted)
    plain = {name: p.grad.clone() for name, p in agent.vision.named_parameters() if p.grad is not None}
    agent.zero_grad()
    backpropagate_into_vision(agent, renderer, ids, wanted)
    for name, parameter in agent.vision.named_parameters():
        torch.testing.assert_close(parameter.grad, plain[name])


def test_chunks_do_not_change_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = build()
    _, whole = loss_and_gradient(agent, every_frame=True)
    monkeypatch.setattr(feature_cache, "CHUNK_PIXELS", 1)  # less than a frame still means a frame
    _, by_frame = loss_and_gradient(agent, every_frame=True)
    for name, grad in whole.items():
        assert (by_frame[name] - grad).norm() / grad.norm() < 1e-5, name


@pytest.mark.usefixtures("small_chunks")
def test_every_observation_is_seen_once_until_vision_changes() -> None:
    agent, renderer, ids = build(), Renderer(), draw_ids(20)
    cache = FeatureCache(agent, renderer, OBSERVATIONS)
    drive = cache.look(ids)
    assert not drive.requires_grad
    torch.testing.assert_close(drive, agent.drive(Renderer().pictures[ids]).detach())
    assert sorted(renderer.asked) == ids.unique().tolist()

    assert torch.equal(cache.look(ids), drive)
    torch.testing.assert_close(cache.features(ids), agent.vision(renderer.pictures[ids]).detach())
    assert len(renderer.asked) == len(ids.unique()), "a second look renders nothing"

    with torch.no_grad():
        agent.vision.embed.bias.add_(1.0)
    torch.testing.assert_close(cache.features(ids), agent.vision(renderer.pictures[ids]).detach())
    torch.testing.assert_close(cache.look(ids), agent.drive(Renderer().pictures[ids]).detach())


def by_step(agent: Agent, part: str) -> None:
    optimiser = torch.optim.Adam(agent.get_submodule(part).parameters(), lr=0.1)
    agent.drive(Renderer().pictures[:4]).sum().backward()
    optimiser.step()


def test_another_whitening_is_noticed() -> None:
    agent, renderer, ids = build(whitening=0.05), Renderer(), draw_ids(20)
    cache = FeatureCache(agent, renderer, OBSERVATIONS)
    before = cache.look(ids)
    with torch.no_grad():
        agent.vision.whiten(agent.vision(Renderer().pictures), 0.05)
    assert not torch.allclose(before, cache.look(ids))


@pytest.mark.parametrize("part", ["vision", "controller"])
@pytest.mark.parametrize("change", [by_step, by_load])
def test_any_change_of_the_weights_is_noticed(change: Callable[[Agent, str], None], part: str) -> None:
    agent, renderer, ids = build(), Renderer(), draw_ids(20)
    cache = FeatureCache(agent, renderer, OBSERVATIONS)
    before = cache.look(ids)
    asked = len(renderer.asked)
    change(agent, part)
    after = cache.look(ids)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, agent.drive(Renderer().pictures[ids]).detach())
    assert (len(renderer.asked) > asked) == (part == "vision"), "a new controller needs no new look"


def test_a_saved_and_loaded_cache_fills_as_the_one_that_goes_on() -> None:
    """Portions decide the last bits: what is seen in one go must be seen in one go again."""
    agent = build()
    renderers = [Renderer(), Renderer()]
    caches = [FeatureCache(agent, renderer, OBSERVATIONS) for renderer in renderers]
    for part in draw_ids(20).split(4):
        caches[0].look(part)
    caches[1].load_state_dict(caches[0].state_dict())
    for renderer, cache in zip(renderers, caches, strict=True):
        renderer.asked.clear()
        cache.look(torch.tensor([3, 4]))
    assert renderers[0].asked == renderers[1].asked
    assert len(renderers[0].asked) >= len(draw_ids(20).unique())
    with torch.no_grad():
        agent.vision.embed.bias.add_(1.0)
    for renderer, cache in zip(renderers, caches, strict=True):
        renderer.asked.clear()
        cache.look(torch.tensor([3, 4]))
    assert renderers[0].asked == renderers[1].asked == [3, 4]


@pytest.mark.parametrize("small", [0, OBSERVATIONS])
def test_the_drive_is_the_present_controllers_in_large_tables_and_small(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_cache, "SMALL_TABLE", small)
    agent, ids = build(), draw_ids(20)
    cache = FeatureCache(agent, Renderer(), OBSERVATIONS)
    for _ in range(2):
        for part in ids.split(5):  # later parts find some of theirs driven already
            torch.testing.assert_close(cache.look(part), agent.drive(Renderer().pictures[part]).detach())
        with torch.no_grad():
            for weight in agent.controller.parameters():
                weight.add_(0.1)


def test_looked_up_rows_are_the_callers_own() -> None:
    cache = FeatureCache(build(), Renderer(), OBSERVATIONS)
    ids = torch.tensor([3, 3, 5])
    before = cache.look(ids).clone()
    cache.look(ids).zero_()
    assert torch.equal(cache.look(ids), before)


def test_a_cache_needs_observations() -> None:
    with pytest.raises(ValueError, match="observations must be at least 1, got 0"):
        FeatureCache(build(), Renderer(), 0)
