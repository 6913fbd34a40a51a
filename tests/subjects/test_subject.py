"""The one loop: what was seen, decided and followed, for scripted subjects and agents alike."""

from itertools import islice

import pytest
import torch
from small_run import OPTICS, TASK, small_agent

from gnomon.agent.controllers import CONTROLLERS
from gnomon.lab.laboratory import Laboratory
from gnomon.subjects.agent import AgentSubject
from gnomon.subjects.scripted import SUBJECTS
from gnomon.subjects.subject import frames

LANES, FRAMES = 30, 250  # an episode lasts 240 frames at most


def seated(controller: str, seed: int = 0) -> AgentSubject:
    laboratory = Laboratory(TASK, OPTICS, lanes=LANES, seed=seed)
    return AgentSubject(laboratory, small_agent(controller, laboratory), torch.Generator().manual_seed(seed + 1))


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_moment_is_what_was_seen_what_was_decided_and_what_followed(name: str) -> None:
    laboratory, again = (Laboratory(TASK, OPTICS, lanes=LANES, seed=3) for _ in range(2))
    expected = again.observation
    for moment in islice(frames(laboratory, SUBJECTS[name](laboratory, 4)), FRAMES):
        assert torch.equal(moment.observation, expected)
        frame = again.step(moment.decision.action)
        assert torch.equal(moment.frame.observation, frame.observation)
        assert torch.equal(moment.frame.reward, frame.reward)
        expected = frame.observation
    assert laboratory.trials.now == FRAMES, "the loop runs no frame that nobody asked for"


@pytest.mark.parametrize("controller", CONTROLLERS)
@torch.no_grad()
def test_an_agent_decides_by_what_it_sees_and_remembers(controller: str) -> None:
    """Its decisions against the agent run over the whole time at once; states are reset where episodes begin."""
    subject = seated(controller)
    moments = list(islice(frames(subject.laboratory, subject), FRAMES))
    ids = torch.stack([moment.observation for moment in moments])  # [T, B]
    ends = torch.stack([moment.frame.episode_end for moment in moments])
    assert ends.any()
    first = torch.cat([torch.ones(1, LANES, dtype=torch.bool), ends[:-1]])
    drive = subject.cache.look(ids.flatten()).unflatten(0, ids.shape)
    output, state = subject.agent.unroll(drive, first, subject.agent.initial_state(LANES))
    for t, moment in enumerate(moments):
        decision = moment.decision
        policy, expected = decision.logits.log_softmax(1), output.logits[t].log_softmax(1)
        torch.testing.assert_close(policy, expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(decision.value, output.value[t], rtol=1e-4, atol=1e-5)
        chosen = decision.logits.log_softmax(1).gather(1, decision.action[:, None])[:, 0]
        torch.testing.assert_close(decision.log_prob, chosen)
        for name, units in decision.units.items():
            torch.testing.assert_close(units, output.units[name][t], rtol=1e-4, atol=1e-5)
    for name, tensor in subject.state.items():
        torch.testing.assert_close(tensor, state[name], rtol=1e-4, atol=1e-5)


def test_gaze_and_state_may_be_changed_between_two_frames_lane_by_lane() -> None:
    subject, other = seated("lstm"), seated("lstm")
    lives = [frames(each.laboratory, each) for each in (subject, other)]
    for _ in range(20):
        for life in lives:
            next(life)
    lane = 7
    subject.laboratory.gaze[lane] = subject.laboratory.lattice.index(0, 0)
    subject.state["cell"][lane] = 1.0
    changed, unchanged = next(lives[0]), next(lives[1])
    differs = (changed.decision.logits != unchanged.decision.logits).any(1)
    assert differs.nonzero().flatten().tolist() == [lane]
    gazes = subject.laboratory.lattice.count
    assert changed.observation[lane] % gazes == subject.laboratory.lattice.index(0, 0)
