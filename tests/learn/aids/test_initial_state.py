"""Episodes come to begin in the mean state of lanes between two trials."""

from dataclasses import replace

import torch
from made_up import build_learner
from small_run import LEARNING, small_actor

from gnomon.learn.aids import Aids
from gnomon.learn.aids.initial_state import InitialStateSettings
from gnomon.learn.schedule import Progress


def test_episodes_come_to_begin_as_lanes_between_trials_are() -> None:
    actor = small_actor("lstm", lanes=60, length=12)
    aids = Aids(use=("initial_state",), initial_state=InitialStateSettings(rate=0.5))
    learner = build_learner(actor, replace(LEARNING, batch=30, aids=aids))
    begin = actor.agent.initial_state(1)
    for _ in range(4):
        unroll = actor.unroll()
        lanes = [k for k in range(60) if unroll.idle[k] and not unroll.first[0, k]]
        learner.learn(unroll, Progress())
        for name, tensor in actor.agent.initial_state(1).items():
            if lanes:
                begin[name] = 0.5 * begin[name] + 0.5 * unroll.state[name][lanes].mean(0)
            torch.testing.assert_close(tensor, begin[name])
    assert all(tensor.abs().max() > 0 for tensor in begin.values())
