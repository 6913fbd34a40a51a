"""A single pool of lanes, and what travels between it and the learner."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_run import CONFIG

from gnomon.cluster.pool import Order, Pool, Ticket, pack, parcels, unpack
from gnomon.cluster.pools import unroll_bytes
from gnomon.learn.build import build_actor
from gnomon.learn.loop import Trainer
from gnomon.records.runs import RunFolder


def test_a_pool_does_not_do_an_unroll_twice() -> None:
    pool, order = Pool(CONFIG, 0, 0, 1), Order(Ticket(0, 0, 0), 0)
    pool.unroll(order, None, None)
    with pytest.raises(RuntimeError, match=r"number=1.* is next"):
        pool.unroll(order, None, None)


def test_pools_and_incarnations_have_random_numbers_of_their_own() -> None:
    def acted(pool: int, incarnation: int) -> bytes:
        order = Order(Ticket(pool, incarnation, 0), 0)
        return Pool(CONFIG, pool, incarnation, 1).unroll(order, None, None).unroll["action"].tobytes()

    everybody = [acted(pool, incarnation) for pool in range(2) for incarnation in range(3)]
    assert len(set(everybody)) == 6
    assert acted(1, 2) == everybody[5]
    assert build_actor(CONFIG).unroll().action.byte().numpy().tobytes() == everybody[0]


# What travels.


def test_an_unroll_survives_the_journey_in_a_few_kilobytes(tmp_path: Path) -> None:
    trainer = Trainer(CONFIG, RunFolder(tmp_path))
    unroll = trainer.actor.unroll()
    arrays = {name: array.copy() for name, array in pack(unroll).items()}
    for array in arrays.values():
        array.flags.writeable = False  # as they come out of Ray's store
    back = unpack(arrays).tensors()
    assert all(torch.equal(tensor, back[name]) for name, tensor in unroll.tensors().items())
    assert all(tensor.dtype == back[name].dtype for name, tensor in unroll.tensors().items())
    # 9 frames of ids and firsts; 8 of actions, log probabilities and rewards; 2 x 16 units.
    lane = 9 * (4 + 1) + 8 * (1 + 4 + 4) + 2 * 16 * 4
    assert sum(array.nbytes for array in arrays.values()) == 32 * lane
    assert unroll_bytes(trainer) == sum(array.nbytes for array in arrays.values())


def test_parcels_are_copies_of_all_the_weights(tmp_path: Path) -> None:
    config = replace(CONFIG, agent=replace(CONFIG.agent, whitening=0.05))
    agent = Trainer(config, RunFolder(tmp_path)).agent
    rest, vision = parcels(agent)
    assert sorted([*rest, *vision]) == sorted(agent.state_dict())
    assert vision
    assert all(name.startswith("vision.") for name in vision)
    assert "vision.basis" in vision
    with torch.no_grad():
        agent.policy.weight.add_(1)
    assert not np.array_equal(rest["policy.weight"], agent.policy.weight.detach().numpy())
