"""Pools feed the learner: on a stand-in for Ray whose every turn is ours to choose."""

from pathlib import Path

import pytest
import torch
from fake_ray import FakeRay, RayTaskError, assert_same_losses, on_pools, pooled, seldom_vision
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.agent import feature_cache
from gnomon.agent.agent import Agent
from gnomon.cluster import pools
from gnomon.cluster.pool import Ticket
from gnomon.cluster.pools import ClusterError, Ledger
from gnomon.learn.loop import Limits, Trainer, resume, start
from gnomon.records.runs import RunFolder
from gnomon.saving.checkpoint import newest_checkpoint


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
        trainer.learner.learn(source.unroll(), trainer.frames)
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
        trainer.learner.learn(source.unroll(), trainer.frames)
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
    trials = RunFolder(tmp_path / "run").read_trials()
    assert trials.select("lane", "episode", "trial").is_duplicated().sum() == 0
