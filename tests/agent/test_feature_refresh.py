"""After a small step of vision only a part of the table is seen anew."""

import pytest
import torch
from pictures import OBSERVATIONS, Renderer, build, by_load
from torch import Tensor

from gnomon.agent.feature_cache import FeatureCache


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
