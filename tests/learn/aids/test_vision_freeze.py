"""Vision freeze: vision learns from what waits for it, then rests."""

from dataclasses import replace

import torch
from made_up import acted, build_learner, copy_weights
from small_run import LEARNING, small_actor

from gnomon.learn.aids import Aids
from gnomon.learn.aids.vision_freeze import VisionFreezeSettings
from gnomon.learn.schedule import Progress


def test_batches_that_wait_for_vision_are_learned_from_when_it_freezes() -> None:
    """A round ends when nothing waits for vision; without this one would never end."""
    actor = small_actor("lstm", lanes=4, length=5)
    aids = Aids(use=("vision_freeze",), vision_freeze=VisionFreezeSettings(frames=100))
    optimiser = replace(LEARNING.optimiser, vision_every=3)
    learner = build_learner(actor, replace(LEARNING, batch=4, optimiser=optimiser, aids=aids))
    learner.learn(acted(actor), Progress(frames=0))
    assert not learner.at_rest
    vision_changes = []
    for frames in (100, 120):
        unroll = acted(actor)
        before = copy_weights(actor.agent)
        learner.learn(unroll, Progress(frames=frames))
        assert learner.at_rest
        after = copy_weights(actor.agent)
        vision_changes.append(any(not torch.equal(before[name], after[name]) for name in before if "vision" in name))
    assert vision_changes == [True, False]
