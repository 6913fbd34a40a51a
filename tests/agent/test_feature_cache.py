"""Never look twice: the same numbers and gradients as looking every time, and no look that is not needed."""

import pytest
import torch
import torch.nn.functional as F
from gnomon.agent.eye import Eye, distinct_ids, learn_to_see
from torch import Tensor

from gnomon.agent import eye
from gnomon.agent.agent import Agent, AgentConfig
from gnomon.agent.controllers import CONTROLLERS
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
    monkeypatch.setattr(eye, "CHUNK_PIXELS", 7 * 8 * 8)  # 7 frames, so that batches take several and a rest


def loss_and_gradient(agent: Agent, dedup: bool) -> tuple[Tensor, dict[str, Tensor]]:
    """As the learner does it: features without gradient, the loss's gradient with respect to them, then vision's."""
    generator = torch.Generator().manual_seed(11)
    first = torch.rand(T + 1, B, generator=generator) < 0.2
    renderer, ids = Renderer(), draw_ids(T + 1, B)
    distinct, places = distinct_ids(ids, dedup)
    assert len(distinct) == (len(ids.unique()) if dedup else ids.numel())
    features = Eye(agent, renderer, OBSERVATIONS, dedup).features(distinct).requires_grad_()
    drive = F.embedding(places, agent.controller.drive(features))
    output, _ = agent.unroll(drive, first, agent.initial_state(B))
    agent.zero_grad()
    loss, _ = impala_loss(
        output.logits[:-1],
        output.value[:-1],
        output.value[-1].detach(),
        behaviour_log_prob=-2 * torch.rand(T, B, generator=generator) - 0.5,
        actions=torch.randint(0, 5, (T, B), generator=generator),
        r_t=torch.randn(T, B, generator=generator),
        discount_t=0.99 * (~first[1:]),
    )
    loss.backward()
    assert features.grad is not None
    learn_to_see(agent, renderer, distinct, features.grad)
    return loss.detach(), {name: p.grad for name, p in agent.named_parameters() if p.grad is not None}


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_distinct_observations_give_the_same_loss_and_gradient(controller: str) -> None:
    agent = build(controller)
    loss_every, grad_every = loss_and_gradient(agent, dedup=False)
    loss_distinct, grad_distinct = loss_and_gradient(agent, dedup=True)
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
    learn_to_see(agent, renderer, ids, wanted)
    for name, parameter in agent.vision.named_parameters():
        torch.testing.assert_close(parameter.grad, plain[name])


def test_chunks_do_not_change_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = build()
    _, whole = loss_and_gradient(agent, dedup=False)
    monkeypatch.setattr(eye, "CHUNK_PIXELS", 1)  # less than a frame still means a frame
    _, by_frame = loss_and_gradient(agent, dedup=False)
    for name, grad in whole.items():
        assert (by_frame[name] - grad).norm() / grad.norm() < 1e-5, name


@pytest.mark.usefixtures("small_chunks")
def test_eye_looks_once_until_it_forgets() -> None:
    agent, renderer, ids = build(), Renderer(), draw_ids(20)
    sight = Eye(agent, renderer, OBSERVATIONS)
    drive = sight.look(ids)
    assert not drive.requires_grad
    torch.testing.assert_close(drive, agent.drive(Renderer().pictures[ids]).detach())
    assert sorted(renderer.asked) == ids.unique().tolist()

    assert torch.equal(sight.look(ids), drive)
    torch.testing.assert_close(sight.features(ids), agent.vision(renderer.pictures[ids]).detach())
    assert len(renderer.asked) == len(ids.unique()), "a second look renders nothing"

    with torch.no_grad():
        agent.vision.embed.bias.add_(1.0)
    assert torch.equal(sight.look(ids), drive), "the table holds until forget()"
    sight.forget()
    torch.testing.assert_close(sight.look(ids), agent.drive(Renderer().pictures[ids]).detach())


def test_eye_without_dedup_sees_every_frame_anew() -> None:
    agent, renderer, ids = build(), Renderer(), draw_ids(20)
    sight = Eye(agent, renderer, OBSERVATIONS, dedup=False)
    torch.testing.assert_close(sight.look(ids), Eye(agent, Renderer(), OBSERVATIONS).look(ids))
    sight.look(ids)
    assert renderer.asked == [*ids.tolist(), *ids.tolist()]


def test_eye_looks_ahead_at_the_drawings_it_has_seen() -> None:
    renderer = Renderer()
    sight = Eye(build(), renderer, OBSERVATIONS, drawings=5)
    each = OBSERVATIONS // 5
    sight.look(torch.tensor([each + 1, 3 * each]))
    sight.look_ahead()
    seen = [*range(each, 2 * each), *range(3 * each, 4 * each)]
    assert sight.state_dict()["known"].nonzero().squeeze(1).tolist() == seen
    asked = len(renderer.asked)
    sight.look_ahead()
    sight.look(torch.tensor(seen))
    assert len(renderer.asked) == asked


@pytest.mark.parametrize("small", [0, OBSERVATIONS])
def test_the_drive_is_the_present_controllers_in_large_tables_and_small(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eye, "SMALL_TABLE", small)
    agent, ids = build(), draw_ids(20)
    sight = Eye(agent, Renderer(), OBSERVATIONS)
    for _ in range(2):
        for part in ids.split(5):  # later parts find some of theirs driven already
            torch.testing.assert_close(sight.look(part), agent.drive(Renderer().pictures[part]).detach())
        with torch.no_grad():
            for weight in agent.controller.parameters():
                weight.add_(0.1)
        sight.forget_drive()


def test_eye_looked_up_rows_are_the_callers_own() -> None:
    sight = Eye(build(), Renderer(), OBSERVATIONS)
    ids = torch.tensor([3, 3, 5])
    before = sight.look(ids).clone()
    sight.look(ids).zero_()
    assert torch.equal(sight.look(ids), before)


def test_an_eye_needs_observations() -> None:
    with pytest.raises(ValueError, match="observations must be at least 1, got 0"):
        Eye(build(), Renderer(), 0)
