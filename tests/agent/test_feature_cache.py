"""Vision on distinct observations: the same numbers and gradients as looking every time, and no needless look."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gnomon.agent import feature_cache
from gnomon.agent.agent import Agent, AgentConfig
from gnomon.agent.controllers import CONTROLLERS
from gnomon.agent.feature_cache import FeatureCache, backpropagate_into_vision
from gnomon.learn.losses import impala_loss

T, B, OBSERVATIONS = 12, 4, 30


class Renderer:
    """Random pictures, one per id, and a log of the ids asked for."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(8)
        self.pictures = torch.randint(0, 256, (OBSERVATIONS, 8, 8, 3), dtype=torch.uint8, generator=generator)
        self.asked: list[int] = []

    def __call__(self, ids: Tensor) -> Tensor:
        self.asked += ids.tolist()
        return self.pictures[ids]


def build(controller: str = "lstm") -> Agent:
    config = AgentConfig(controller=controller, units=16, features=12)
    return Agent(config, (8, 8), 5, torch.Generator().manual_seed(9))


def draw_ids(*shape: int) -> Tensor:
    return torch.randint(0, OBSERVATIONS, shape, generator=torch.Generator().manual_seed(10))


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
        output.value[:-1],
        output.value.detach(),
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


def by_load(agent: Agent, part: str) -> None:
    module = agent.get_submodule(part)
    module.load_state_dict({name: tensor + 0.1 for name, tensor in module.state_dict().items()})


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


def test_looking_ahead_covers_the_drawings_seen_so_far() -> None:
    renderer = Renderer()
    cache = FeatureCache(build(), renderer, OBSERVATIONS, drawings=5)
    each = OBSERVATIONS // 5
    cache.look(torch.tensor([each + 1, 3 * each]))
    cache.look_ahead()
    seen = [*range(each, 2 * each), *range(3 * each, 4 * each)]
    assert cache.state_dict()["expected"].nonzero().squeeze(1).tolist() == seen
    asked = len(renderer.asked)
    cache.look_ahead()
    cache.look(torch.tensor(seen))
    assert len(renderer.asked) == asked


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


# After small steps of vision.


class Stepping:
    """A cache that knows ten observations, and vision that changes in small steps."""

    def __init__(self) -> None:
        self.agent, self.renderer = build(), Renderer()
        self.cache = FeatureCache(self.agent, self.renderer, OBSERVATIONS)
        self.ids = torch.arange(10)
        self.seen = self.look()  # [10, F]

    def look(self) -> Tensor:
        self.renderer.asked.clear()
        return self.cache.features(self.ids)

    def now(self) -> Tensor:
        """What vision makes of them with its present weights."""
        return self.agent.vision(self.renderer.pictures[self.ids]).detach()

    def step(self, used: list[int], most: int) -> tuple[list[int], float]:
        """A step of vision and a refresh: which observations were seen anew, and the mean age."""
        with torch.no_grad():
            self.agent.vision.embed.bias.add_(0.1)
        self.renderer.asked.clear()
        age = self.cache.refresh(torch.tensor(used), most)
        return list(dict.fromkeys(self.renderer.asked)), age


def test_a_refresh_sees_the_stalest_of_what_is_in_use_and_keeps_the_others() -> None:
    world = Stepping()
    assert world.step([0, 1, 2, 3, 4, 5], most=4) == ([0, 1, 2, 3], pytest.approx(2 / 6))
    features = world.look()
    assert not world.renderer.asked, "what was not refreshed is kept"
    torch.testing.assert_close(features[:4], world.now()[:4])
    torch.testing.assert_close(features[4:], world.seen[4:])
    assert world.step([0, 1, 2, 3, 4, 5], most=4) == ([0, 1, 4, 5], pytest.approx(2 / 6))
    assert world.step([8], most=4) == ([6, 7, 8, 9], 0.0)  # 8 is in use; the others are the stalest
    drive = world.cache.look(world.ids)
    torch.testing.assert_close(drive, world.agent.controller.drive(world.look()).detach())


def test_features_that_are_not_in_use_are_dropped_after_two_cycles() -> None:
    world = Stepping()
    for _ in range(2 * 5):  # ten known, two at a time: a cycle is five steps
        assert world.step([0, 1], most=2)[0] == [0, 1]
        world.look()
        assert not world.renderer.asked
    world.step([0, 1], most=2)
    torch.testing.assert_close(world.look(), world.now())
    assert world.renderer.asked == list(range(2, 10))


def test_a_refresh_of_all_is_like_any_other_change() -> None:
    world = Stepping()
    assert world.step([0, 1], most=10) == ([], 0.0)
    torch.testing.assert_close(world.look(), world.now())
    assert sorted(world.renderer.asked) == list(range(10))


def test_any_other_change_after_a_refresh_drops_all() -> None:
    world = Stepping()
    world.step([0, 1], most=2)
    by_load(world.agent, "vision")
    torch.testing.assert_close(world.look(), world.now())


def test_looking_ahead_leaves_nothing_stale() -> None:
    world = Stepping()
    world.cache.look(world.ids)
    world.cache.look_ahead()
    world.step([0, 1], most=2)
    world.cache.look_ahead()
    torch.testing.assert_close(world.look(), world.now())


def test_a_table_with_stale_features_is_saved_and_goes_on_as_it_was() -> None:
    world, other = Stepping(), Stepping()
    for used in ([0, 1, 2], [3, 4], [0, 9]):
        world.step(used, most=3)
        by_weights = {name: tensor.clone() for name, tensor in world.agent.state_dict().items()}
        other.agent.load_state_dict(by_weights)
        other.cache.load_state_dict(state := world.cache.state_dict())
        other.cache.load_state_dict(state)  # which was not changed by the first time
        assert torch.equal(other.look(), world.look())
        assert not other.renderer.asked
    for used in ([1, 2], [5], [5, 6, 7], [0]):
        assert other.step(used, most=3) == world.step(used, most=3)
        assert torch.equal(other.look(), world.look())
