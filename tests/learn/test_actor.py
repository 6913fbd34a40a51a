"""States, resets and unroll borders line up: first with things that only count, then with real agents."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from small_run import small_actor
from torch import Tensor

from gnomon.agent.agent import Output
from gnomon.agent.controllers import CONTROLLERS
from gnomon.lab.laboratory import Frame
from gnomon.learn.actor import Actor
from gnomon.learn.unroll import Unroll
from gnomon.subjects.agent import sample

EPISODES = torch.tensor([1, 2, 3, 7, 10, 40])  # frames of every episode, lane by lane; an unroll has 7
LENGTH, UNROLLS = 7, 30
PER_LANE = 1_000  # ids of a lane


class CountingLaboratory:
    """What a lane sees is the number of the frame (plus 1,000 per lane); what it is given is that number."""

    def __init__(self) -> None:
        self.lanes, self.device, self.now = len(EPISODES), torch.device("cpu"), 0

    @property
    def observation(self) -> Tensor:
        return torch.arange(self.lanes) * PER_LANE + self.now

    def step(self, action: Tensor) -> Frame:
        reward = torch.full((self.lanes,), float(self.now))
        self.now += 1
        end = self.now % EPISODES == 0
        return Frame(self.observation, reward, end, end, self.observation)

    def state_dict(self) -> dict[str, Tensor]:
        return {"now": torch.tensor(self.now)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.now = int(state["now"])


class CountingAgent:
    """Counts frames since the reset, this one included; its policy tells the count and what it sees."""

    controller = SimpleNamespace(recurrent=True)

    def initial_state(self, lanes: int) -> dict[str, Tensor]:
        return {"count": torch.zeros(lanes)}

    def step(self, drive: Tensor, first: Tensor, state: dict[str, Tensor]) -> tuple[Output, dict[str, Tensor]]:
        count = torch.where(first, 0.0, state["count"]) + 1
        return Output(counting_logits(count, drive), {"count": count}, count, lambda count: count), {"count": count}


def counting_logits(count: Tensor, seen: Tensor) -> Tensor:
    """Two actions whose odds differ for every count and every frame: [..., 2]."""
    return torch.stack([count / 50, -(seen % PER_LANE) / 100], -1)


class CountingCache:
    def look(self, ids: Tensor) -> Tensor:
        return ids.float()

    def state_dict(self) -> dict[str, Tensor]:
        return {"expected": torch.zeros(0, dtype=torch.bool)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        pass


def counting_actor(seed: int = 0) -> Actor:
    laboratory, agent, cache = (cast(Any, kind()) for kind in (CountingLaboratory, CountingAgent, CountingCache))
    return Actor(laboratory, agent, cache, torch.Generator().manual_seed(seed), length=LENGTH)


def check_counts(unroll: Unroll, number: int) -> None:
    """Everything in the `number`-th unroll, read off the clock."""
    frame = (number * LENGTH + torch.arange(LENGTH + 1))[:, None].expand(-1, len(EPISODES))  # [T + 1, B]
    assert torch.equal(unroll.ids.long(), frame + torch.arange(len(EPISODES)) * PER_LANE)
    assert torch.equal(unroll.first, frame % EPISODES == 0)
    assert torch.equal(unroll.end, (frame[:-1] + 1) % EPISODES == 0)
    assert torch.equal(unroll.reward, frame[:-1].float())
    # Before the unroll: the frames since the last reset, whether or not the next frame brings another.
    before = (number * LENGTH - 1) % EPISODES + 1 if number else torch.zeros(len(EPISODES))
    assert torch.equal(unroll.state["count"], before.float())
    count = frame[:-1] % EPISODES + 1
    log_policy = counting_logits(count.float(), frame[:-1].float()).log_softmax(-1)
    torch.testing.assert_close(unroll.log_prob, log_policy.gather(-1, unroll.action[..., None])[..., 0])
    assert set(unroll.action.unique().tolist()) == {0, 1}


def test_ids_resets_rewards_and_counts_line_up() -> None:
    actor = counting_actor()
    for number in range(UNROLLS):
        check_counts(actor.unroll(), number)


def test_the_last_frame_of_an_unroll_is_the_first_of_the_next() -> None:
    actor = counting_actor()
    before = actor.unroll()
    for _ in range(UNROLLS):
        after = actor.unroll()
        assert torch.equal(before.ids[-1], after.ids[0])
        assert torch.equal(before.first[-1], after.first[0])
        before = after


def test_counting_goes_on_after_a_state_dict() -> None:
    actor, other = counting_actor(), counting_actor(seed=9)
    for _ in range(4):
        actor.unroll()
    other.load_state_dict(actor.state_dict())
    for number in range(4, 8):
        mine, theirs = actor.unroll(), other.unroll()
        check_counts(theirs, number)
        assert torch.equal(mine.action, theirs.action)


# Real agents, in a real laboratory whose episodes last 240 frames at most.


def learner_log_prob(actor: Actor, unroll: Unroll) -> tuple[Tensor, dict[str, Tensor]]:
    """What the learner makes of an unroll: log probabilities of the actions [T, B], and the state after frame T - 1."""
    drive = actor.cache.look(unroll.ids.flatten()).unflatten(0, unroll.ids.shape)  # [T + 1, B, D]
    output, _ = actor.agent.unroll(drive, unroll.first, unroll.state)
    _, state = actor.agent.unroll(drive[:-1], unroll.first[:-1], unroll.state)
    log_policy = output.logits[:-1].log_softmax(-1)
    return log_policy.gather(-1, unroll.action[..., None])[..., 0], state


@pytest.mark.parametrize("controller", CONTROLLERS)
@torch.no_grad()
def test_the_learner_reproduces_what_the_actor_did(controller: str) -> None:
    actor = small_actor(controller, lanes=40, length=12)
    resets_inside = resets_at_border = 0
    for number in range(14):
        if number == 7:  # a new process goes on with the run
            other = small_actor(controller, lanes=40, length=12, seed=5)
            other.agent.load_state_dict(actor.agent.state_dict())
            other.load_state_dict(actor.state_dict())
            actor = other
        unroll = actor.unroll()
        log_prob, state = learner_log_prob(actor, unroll)
        torch.testing.assert_close(log_prob, unroll.log_prob, rtol=1e-5, atol=1e-6)
        for name, tensor in actor.subject.state.items():
            torch.testing.assert_close(state[name], tensor, rtol=1e-5, atol=1e-6)
        resets_inside += int(unroll.first[1:-1].sum())
        resets_at_border += int(unroll.first[-1].sum())
    assert resets_inside > 20
    assert resets_at_border > 0


@pytest.mark.parametrize("controller", ["lstm", "feedforward", "rmc"])
def test_an_actor_goes_on_from_its_state_dict_as_if_nothing_had_happened(controller: str) -> None:
    actor, other = (small_actor(controller, lanes=6, length=10, seed=seed) for seed in (0, 1))
    other.agent.load_state_dict(actor.agent.state_dict())
    other.unroll()  # what it has seen and done so far must not leak
    for _ in range(3):
        actor.unroll()
    other.load_state_dict({name: tensor.clone() for name, tensor in actor.state_dict().items()})
    for _ in range(3):
        expected, unroll = actor.unroll().tensors(), other.unroll().tensors()
        assert all(torch.equal(unroll[name], expected[name]) for name in expected)


def test_select_join_and_tensors_keep_lanes_together() -> None:
    unroll = counting_actor().unroll()
    back = Unroll.join([unroll.select(torch.tensor([4, 1])), unroll.select(torch.tensor([0]))])
    for name, tensor in Unroll.from_tensors(back.tensors()).tensors().items():
        lanes = unroll.tensors()[name]
        order = torch.tensor([4, 1, 0])
        assert torch.equal(tensor, lanes[order] if name.startswith("state.") else lanes[:, order]), name


def test_actions_are_drawn_with_their_probabilities() -> None:
    probabilities = torch.tensor([0.7, 0.0, 0.25, 0.05]).expand(40_000, -1)
    drawn = sample(probabilities, torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    torch.testing.assert_close(shares, probabilities[0], rtol=0, atol=0.01)  # four standard errors
    assert shares[1] == 0
