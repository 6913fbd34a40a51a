"""What is done to an agent without a memory: its units are changed on their way to the policy; it sees other looks."""

from itertools import islice

import torch
from small_run import OPTICS, TASK, small_agent

from gnomon.lab.laboratory import Laboratory
from gnomon.subjects.agent import AgentDecision, AgentSubject
from gnomon.subjects.intervention import Intervention
from gnomon.subjects.interventions import Interventions
from gnomon.subjects.subject import Moment, frames
from gnomon.subjects.targets import UnitMoments

LANES = 3
MEAN, SD = torch.arange(16.0) + 100, torch.ones(16)
LESION = Intervention(what="units", how="lesion", event="fixation", frames=2, units=(1, 4))
NOISE = Intervention(what="units", how="noise", event="fixation", frames=2, size=1.0)


def live(count: int) -> list[tuple[Moment[AgentDecision], torch.Tensor, torch.Tensor]]:
    """Frames of a lane that is left alone, one with a lesion and one with noise.

    With the true units of each frame, and whether they are to be changed: bool [lanes].
    """
    laboratory = Laboratory(TASK, OPTICS, lanes=LANES, seed=0)
    laboratory.gaze[:] = laboratory.lattice.index(0, 0)
    agent = small_agent("feedforward", laboratory)
    subject = AgentSubject(laboratory, agent, torch.Generator().manual_seed(1))
    change = Interventions(subject, [None, LESION, NOISE], 0, UnitMoments({"hidden": MEAN}, {"hidden": SD}))
    lived, due = [], torch.zeros(LANES, dtype=torch.bool)
    for moment in islice(frames(laboratory, subject), count):
        lived.append((moment, subject.cache.decide(moment.observation).hidden, due))
        trials = laboratory.trials
        due = trials.running & (trials.now - trials.trial_start < 2)  # the two frames after fixation
        change.between_frames()
    return lived


def test_a_lesion_holds_its_units_and_noise_reaches_all_of_its_lane_for_as_long_as_asked() -> None:
    lived = live(300)
    for moment, true, due in lived:
        units = moment.decision.units["hidden"]
        assert torch.equal(units[0], true[0])
        assert torch.equal(units[1, [1, 4]], MEAN[[1, 4]]) == bool(due[1])
        assert torch.equal(units[1, [0, 2, 3, 5]], true[1, [0, 2, 3, 5]])
        assert bool(((units[2] - true[2]).abs() > 1e-4).all()) == bool(due[2])
    assert all(sum(int(due[lane]) for _, _, due in lived) >= 2 for lane in (1, 2))


def test_the_policy_reads_the_changed_units() -> None:
    laboratory = Laboratory(TASK, OPTICS, lanes=LANES, seed=0)
    agent = small_agent("feedforward", laboratory)
    for moment, _, _ in live(300):
        decision = moment.decision
        expected = agent.policy(decision.units["hidden"]).log_softmax(1)
        torch.testing.assert_close(decision.logits.log_softmax(1), expected)
        torch.testing.assert_close(decision.value, agent.value_of(decision.units["hidden"]))


def test_an_agent_sees_a_look_that_comes_after_its_first_frame() -> None:
    laboratory = Laboratory(TASK, OPTICS, lanes=2, seed=0)
    agent = small_agent("feedforward", laboratory)
    subject = AgentSubject(laboratory, agent, torch.Generator().manual_seed(1))
    subject.act()
    Interventions(subject, [None, Intervention(what="room", how="reset")], 0)
    true = laboratory.observation
    laboratory.look = torch.tensor([0, 1])
    assert (laboratory.observation > true).tolist() == [False, True]
    torch.testing.assert_close(subject.act().units["hidden"], agent.drive(laboratory.render(laboratory.observation)))
