"""Pools feed the learner: on a stand-in for Ray whose every turn is ours to choose."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fake_ray import PLENTY, FakeRay, RayTaskError, assert_same_losses, on_pools, pooled, seldom_vision
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.agent import feature_cache
from gnomon.agent.agent import Agent
from gnomon.cluster import pools
from gnomon.cluster.pool import Order, Pool, Ticket, pack, parcels, unpack
from gnomon.cluster.pools import ClusterError, Ledger, unroll_bytes
from gnomon.cluster.start import Plan, Resources, check_store, make_plan
from gnomon.cluster.sweep import jobs_on
from gnomon.learn.build import build_actor
from gnomon.learn.loop import Limits, Trainer, resume, start
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    ray = FakeRay()
    monkeypatch.setattr(pools, "import_ray", lambda: ray)
    return ray


@pytest.mark.parametrize(("one_by_one", "vision_every"), [(True, 1), (False, 3)])
def test_one_pool_without_lag_is_the_run_on_one_machine(
    fake: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_by_one: bool, vision_every: int
) -> None:
    """Bit for bit if images are seen one by one; a table of features that is filled in other portions rounds apart."""
    if one_by_one:
        monkeypatch.setattr(feature_cache, "CHUNK_PIXELS", 1)
    config = seldom_vision(vision_every)
    alone, trainer = Trainer(config, RunFolder(tmp_path)), pooled(tmp_path, 1, 0, config)[0]
    theirs, mine = ([each.round() for _ in range(8)] for each in (alone, trainer))
    assert_same_losses(mine, theirs, exactly=one_by_one)
    assert {row["lag"] for row in mine} == {0}
    alone_trials, trials = (each._trials for each in (alone, trainer))
    assert sum(map(len, trials)) > 3
    assert all(a.equals(b) for a, b in zip(alone_trials, trials, strict=True))


def test_lag_is_the_updates_since_the_weights_that_acted(fake: FakeRay, tmp_path: Path) -> None:
    trainer, source = pooled(tmp_path, 1, ahead=2)
    lags, updates = [], [0]
    for _ in range(5):
        trainer.learner.learn(source.unroll(), trainer.progress)
        lags.append(source.metrics()["lag"])
        updates.append(trainer.learner.updates)
    # Unrolls are asked for when one comes: the first two with the first weights, then each two unrolls before its turn.
    assert lags == [updates[k] - updates[max(0, k - 2)] for k in range(5)]
    assert lags[-1] > 3


def same_weights(one: Agent, other: Agent) -> bool:
    return all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def test_weights_are_sent_once_and_vision_only_when_it_has_changed(fake: FakeRay, tmp_path: Path) -> None:
    trainer, source = pooled(tmp_path, 1, 0, seldom_vision(6))
    for _ in range(5):
        trainer.learner.learn(source.unroll(), trainer.progress)
        assert not same_weights(trainer.agent, fake.actors[0].pool.actor.agent)  # it has learned
    source.unroll()
    assert same_weights(trainer.agent, fake.actors[0].pool.actor.agent)
    source.unroll()  # nothing has been learned since
    sent = [(rest, vision) for _, rest, vision in fake.actors[0].orders]
    # Three or four batches a round, six between two updates of vision.
    assert sent[0] == (True, True)
    assert sent[-1] == (False, False)
    assert [rest for rest, _ in sent[:-1]] == [True] * 6
    assert 2 <= sum(vision for _, vision in sent[1:]) <= 3
    assert not sent[1][1]


@pytest.mark.parametrize("ahead", [1, 3])
def test_a_slow_learner_finds_no_more_than_was_allowed(fake: FakeRay, tmp_path: Path, ahead: int) -> None:
    _, source = pooled(tmp_path, 2, ahead)
    for _ in range(6):
        source.unroll()
        assert len(source._in_flight) == len(source.ledger.waiting) == 2 * ahead
    assert set(fake.waits) == {2 * ahead}


def test_a_slow_pool_holds_up_nobody_and_is_still_heard(fake: FakeRay, tmp_path: Path) -> None:
    _, source = pooled(tmp_path, 3, 1)
    source.unroll()
    fake.actors[1].asleep = True
    heard = []
    for turn in range(8):
        fake.actors[1].asleep = turn < 6
        source.unroll()
        assert source.delivery is not None
        heard.append(source.delivery.order.ticket.pool)
    assert heard[:6] == [2, 0, 2, 0, 2, 0]
    assert heard[6] == 1  # the oldest comes first


def test_pools_that_are_all_silent_are_an_error(fake: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, source = pooled(tmp_path, 2, 1)
    source.unroll()
    monkeypatch.setattr(pools, "PATIENCE", -1.0)
    for actor in fake.actors:
        actor.asleep = True
    with pytest.raises(ClusterError, match="no unroll has come"):
        source.unroll()


# Faults.


def test_a_pool_that_dies_is_replaced_and_its_unrolls_are_counted(fake: FakeRay, tmp_path: Path) -> None:
    trainer, source = pooled(tmp_path, 2, ahead=2)
    used: list[Ticket] = []
    for turn in range(12):
        if turn == 5:
            fake.actors[0].dead = True
        source.unroll()
        assert source.delivery is not None
        used.append(source.delivery.order.ticket)
    assert len(set(used)) == len(used) == source.ledger.used == 12
    assert source.counters() == {"used_unrolls": 12, "lost_unrolls": 2, "refused_unrolls": 0, "replaced_pools": 1}
    assert sorted({(ticket.pool, ticket.incarnation) for ticket in used}) == [(0, 0), (0, 1), (1, 0)]
    asked = sum(len(actor.orders) for actor in fake.actors)
    assert asked == source.ledger.used + source.ledger.lost + len(source.ledger.waiting)
    numbers = {who: [t.number for t in used if (t.pool, t.incarnation) == who] for who in ((0, 0), (0, 1), (1, 0))}
    assert all(found == list(range(len(found))) for found in numbers.values())  # no gaps within an incarnation
    assert fake.actors[2].orders[0][1:] == (True, True)  # the new one was sent all the weights
    assert all(torch.isfinite(tensor).all() for tensor in trainer.agent.state_dict().values())


def test_lanes_and_episodes_are_numbered_through(fake: FakeRay, tmp_path: Path) -> None:
    _, source = pooled(tmp_path, 2, ahead=1)
    for turn in range(60):
        if turn in (20, 40):
            fake.actors[-1 if turn == 40 else 1].dead = True
        source.unroll()
    assert source.replaced == 2
    trials = source.take_trials()
    lanes = set(trials["lane"])
    assert lanes <= set(range(64))
    assert min(sum(lane < 32 for lane in lanes), sum(lane >= 32 for lane in lanes)) > 10
    ended = trials.filter(trials["lane"] >= 32)
    assert ended.select("lane", "episode", "trial").is_duplicated().sum() == 0
    assert source.members[1].first_episode > 1
    assert source.take_trials().height == 0
    assert source.take_trials().schema == trials.schema


def test_a_mistake_in_the_program_is_not_repeated_on_another_machine(fake: FakeRay, tmp_path: Path) -> None:
    _, source = pooled(tmp_path, 1, 1)
    source.unroll()
    fake.actors[0].fail = True
    with pytest.raises(RayTaskError, match="a mistake"):
        source.unroll()
    assert len(fake.actors) == 1


def test_a_pool_that_never_lives_is_given_up(fake: FakeRay, tmp_path: Path) -> None:
    _, source = pooled(tmp_path, 1, 1)
    fake.stillborn = True
    with pytest.raises(
        ClusterError, match="pool 0 died 3 times before its first unroll, the last time of: out of memory"
    ):
        source.unroll()
    assert len(fake.actors) == 3


def test_the_ledger_lets_an_unroll_be_used_once() -> None:
    ledger, first, second = Ledger(), Ticket(0, 0, 0), Ticket(0, 0, 1)
    ledger.ask(first)
    ledger.ask(second)
    assert [ledger.use(first), ledger.use(first)] == [True, False]
    ledger.lose([first, second])
    assert not ledger.use(second)  # it was given up before it came
    assert (ledger.used, ledger.lost, ledger.refused) == (1, 1, 2)


def test_a_pool_does_not_do_an_unroll_twice() -> None:
    pool, order = Pool(CONFIG, 0, 0, 1), Order(Ticket(0, 0, 0), 0)
    pool.unroll(order, None, None)
    with pytest.raises(RuntimeError, match=r"number=1.* is next"):
        pool.unroll(order, None, None)


def test_lanes_of_a_pool_restart_when_it_is_told_to_and_only_then() -> None:
    pool = Pool(CONFIG, 0, 0, 1)
    orders = [Order(Ticket(0, 0, number), 0, restarts) for number, restarts in enumerate((0, 0, 1, 1))]
    before = [unpack(pool.unroll(order, None, None).unroll).state for order in orders]
    begin = pool.actor.agent.initial_state(CONFIG.learning.lanes)
    begins_anew = [all(torch.equal(state[name], begin[name]) for name in begin) for state in before]
    assert begins_anew == [True, False, True, False]


def test_all_lanes_of_a_cluster_restart(fake: FakeRay, tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run", on_pools(1, 0))
    begin = trainer.agent.initial_state(CONFIG.learning.lanes)

    def begins_anew() -> bool:
        state = trainer.source.unroll().state
        return all(torch.equal(state[name], begin[name]) for name in begin)

    before = [begins_anew() for _ in range(2)]
    trainer.source.restart()
    assert before + [begins_anew() for _ in range(2)] == [True, False, True, False]


def test_pools_and_incarnations_have_random_numbers_of_their_own() -> None:
    def acted(pool: int, incarnation: int) -> bytes:
        order = Order(Ticket(pool, incarnation, 0), 0)
        return Pool(CONFIG, pool, incarnation, 1).unroll(order, None, None).unroll["action"].tobytes()

    everybody = [acted(pool, incarnation) for pool in range(2) for incarnation in range(3)]
    assert len(set(everybody)) == 6
    assert acted(1, 2) == everybody[5]
    assert build_actor(CONFIG).unroll().action.byte().numpy().tobytes() == everybody[0]


# Resuming.


def test_a_cluster_run_goes_on_from_its_checkpoint(fake: FakeRay, tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run", on_pools(2, 1))
    trainer.source.unroll()
    fake.actors[0].dead = True
    trainer.run(Limits(frames=6 * FRAMES_PER_ROUND))
    assert trainer.folder.read_status()["state"] == "finished"
    before = trainer.source.counters()
    assert (before["used_unrolls"], before["lost_unrolls"], before["replaced_pools"]) == (7, 1, 1)

    started = len(fake.actors)
    again, complaints = resume(tmp_path / "run", on_pools(3, 1))
    assert (complaints, len(fake.actors)) == ([], started)  # pools start when they are needed
    assert again.source.counters() == before
    assert same_weights(trainer.agent, again.agent)
    again.run(Limits(frames=12 * FRAMES_PER_ROUND))
    incarnations = [(actor.orders[0][0].ticket.pool, actor.orders[0][0].ticket.incarnation) for actor in fake.actors]
    assert incarnations == [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1), (2, 0)]
    trials = again.folder.read_trials()
    assert trials.select("lane", "episode", "trial").is_duplicated().sum() == 0


def test_runs_move_between_one_machine_and_a_cluster(fake: FakeRay, tmp_path: Path) -> None:
    start(CONFIG, tmp_path / "run").run(Limits(frames=4 * FRAMES_PER_ROUND))
    for turn, acting in enumerate((on_pools(2, 1), None, on_pools(1, 1)), 2):
        trainer, _ = resume(tmp_path / "run", acting)
        trainer.run(Limits(frames=4 * turn * FRAMES_PER_ROUND))
        assert trainer.rounds == 4 * turn
    assert fake.actors[0].orders[0][0].ticket.incarnation == 1  # it does not begin as the first lanes did
    assert newest_checkpoint(RunFolder(tmp_path / "run").checkpoints)[0].counters["rounds"] == 16


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
    # 9 frames of ids, firsts and 4 times; 8 of actions, log probabilities, rewards, ends, 2 intervals; 2 x 16 units.
    lane = 9 * (4 + 1 + 4 * 2) + 8 * (1 + 4 + 4 + 1 + 2 * 2) + 2 * 16 * 4
    assert sum(array.nbytes for array in arrays.values()) == 32 * lane
    assert unroll_bytes(trainer) == sum(array.nbytes for array in arrays.values())


def test_parcels_are_copies_of_all_the_weights(tmp_path: Path) -> None:
    agent = Trainer(CONFIG, RunFolder(tmp_path)).agent
    rest, vision = parcels(agent)
    assert sorted([*rest, *vision]) == sorted(agent.state_dict())
    assert vision
    assert all(name.startswith("vision.") for name in vision)
    with torch.no_grad():
        agent.policy.weight.add_(1)
    assert not np.array_equal(rest["policy.weight"], agent.policy.weight.detach().numpy())


# The starting check.


def test_by_default_all_room_but_one_is_taken() -> None:
    assert make_plan(Resources((4.0, 4.0), 8.0, 1e9), None, 1, 1) == Plan(7, 1, 1)
    assert make_plan(Resources((4.0, 4.0), 8.0, 1e9), None, 3, 1) == Plan(1, 3, 1)  # one on each machine, less one
    assert make_plan(Resources((1.0,), 1.0, 1e9), None, 1, 0) == Plan(1, 1, 0)


@pytest.mark.parametrize(
    ("resources", "pools", "cpus", "said"),
    [
        (Resources((4.0, 4.0), 5.0, 1e9), 6, 1, "6 pools of 1 CPU .*5 of 8 CPUs free on 2 machines: give --pools 5,"),
        (Resources((4.0, 4.0), 8.0, 1e9), 3, 3, "3 pools of 3 CPUs.*give --pools 2,"),
        (Resources((4.0,), 4.0, 1e9), None, 8, "1 pools of 8 CPUs.*give fewer --pool-cpus"),
        (PLENTY, 0, 1, "--pools is 0; it must be at least 1"),
        (PLENTY, 1, 0, "--pool-cpus is 0; it must be at least 1"),
    ],
)  # fmt: skip
def test_more_than_there_is_is_said_before_anything_starts(
    resources: Resources, pools: int | None, cpus: int, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make_plan(resources, pools, cpus, 1)


def test_an_object_store_that_is_too_small_is_said(fake: FakeRay, tmp_path: Path) -> None:
    check_store(Resources((4.0,), 4.0, 1e6), Plan(2, 1, 2), unroll_bytes=100_000, weights_bytes=80_000)  # just 0.8 MB
    with pytest.raises(ValueError, match=r"4 unrolls of 0.1 MB .*0.1 MB\) may be about, 1 MB.*object-store-memory"):
        check_store(Resources((4.0,), 4.0, 1e6 - 10), Plan(2, 1, 2), unroll_bytes=100_000, weights_bytes=80_000)
    with pytest.raises(ValueError, match="object-store-memory"):
        start(CONFIG, tmp_path / "run", on_pools(2, 1, replace(PLENTY, store=1000.0)))
    assert not (tmp_path / "run").exists()


def test_trainings_of_a_sweep_that_fit() -> None:
    resources = Resources((4.0, 2.0), 6.0, 1e9)
    assert [jobs_on(resources, None, 2), jobs_on(resources, 2, 2)] == [3, 2]
    with pytest.raises(ValueError, match=r"4 trainings at a time with 2 CPUs each .*give --jobs 3"):
        jobs_on(resources, 4, 2)
    with pytest.raises(ValueError, match="threads per job is 0"):
        jobs_on(resources, None, 0)
