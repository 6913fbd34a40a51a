"""Pools feed the learner: on a stand-in for Ray whose every turn is ours to choose, and on a real Ray of two CPUs."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.agent.agent import Agent, AgentConfig
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.shaping import Grading
from gnomon.lab.tasks import ReadySetGo
from gnomon.learn import cluster
from gnomon.learn.checkpoint import newest_checkpoint
from gnomon.learn.cluster import ClusterError, Ledger, Pools, unroll_bytes
from gnomon.learn.cluster_pool import Order, Pool, Ticket, pack, parcels, unpack
from gnomon.learn.cluster_start import Plan, Resources, check_store, joined, make_plan
from gnomon.learn.cluster_sweep import jobs_on
from gnomon.learn.config import LearningConfig, RunConfig
from gnomon.learn.schedule import Rates, rates
from gnomon.learn.training import Limits, Trainer, build_actor, resume, start
from gnomon.records.runs import RunFolder

PLENTY = Resources(cpus=(64.0,), free=64.0, store=1e9)


# A Ray without processes: calls are done when they are waited for, by the pools that are not asleep.


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class FakePool:
    """An actor: it may be asleep, or dead."""

    def __init__(self, *arguments: Any) -> None:
        self.pool = Pool(*arguments)
        self.asleep, self.dead, self.fail = False, False, False
        self.orders: list[tuple[Order, bool, bool]] = []  # and whether weights came along: the rest, vision
        self.unroll = SimpleNamespace(remote=self._ask)

    def _ask(self, order: Order, rest: Any, vision: Any) -> "FakeCall":
        self.orders.append((order, rest is not None, vision is not None))
        return FakeCall(self, (order, rest, vision))


class FakeCall:
    def __init__(self, actor: FakePool, arguments: tuple[Any, ...]) -> None:
        self.actor, self.arguments = actor, arguments


class FakeRay:
    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
    __version__ = "none"

    def __init__(self) -> None:
        self.actors: list[FakePool] = []
        self.waits: list[int] = []  # how many calls were waited for
        self.stillborn = False  # whether new actors die at once

    def remote(self, kind: type) -> Any:
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self._start))

    def _start(self, *arguments: Any) -> FakePool:
        self.actors.append(FakePool(*arguments))
        self.actors[-1].dead = self.stillborn
        return self.actors[-1]

    def put(self, value: Any) -> Any:
        return value

    def wait(self, calls: list[FakeCall], num_returns: int, timeout: float) -> tuple[list[FakeCall], list[FakeCall]]:
        self.waits.append(len(calls))
        ready = [call for call in calls if not call.actor.asleep or call.actor.dead]
        return ready[:num_returns], []

    def get(self, call: FakeCall) -> Any:
        if call.actor.dead:
            raise RayError("the actor died unexpectedly\nout of memory")
        if call.actor.fail:
            raise RayTaskError("a mistake")
        return call.actor.pool.unroll(*call.arguments)

    def kill(self, actor: FakePool) -> None:
        actor.dead = True


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    ray = FakeRay()
    monkeypatch.setattr(cluster, "import_ray", lambda: ray)
    return ray


def on_pools(pools: int, ahead: int, resources: Resources = PLENTY) -> Callable[[Trainer], Pools]:
    return lambda trainer: Pools(trainer, Plan(pools, 1, ahead), resources)


def pooled(folder: Path, pools: int, ahead: int, config: RunConfig = CONFIG) -> tuple[Trainer, Pools]:
    trainer = Trainer(config, RunFolder(folder), on_pools(pools, ahead))
    assert isinstance(trainer.source, Pools)
    return trainer, trainer.source


EVERY_FRAME = replace(CONFIG, learning=replace(CONFIG.learning, dedup=False))
EVERY_THIRD = replace(CONFIG, learning=replace(CONFIG.learning, vision_every=3))


def assert_same_losses(mine: list[dict[str, Any]], theirs: list[dict[str, Any]], exactly: bool) -> None:
    for name in ("policy_loss", "value_loss", "entropy", "gradient_norm", "vision_gradient_norm"):
        expected = [row[name] for row in theirs]
        assert len(set(expected)) > 1
        relative, absolute = (0.0, 0.0) if exactly else (1e-3, 1e-4)
        assert [row[name] for row in mine] == pytest.approx(expected, rel=relative, abs=absolute), name


@pytest.mark.parametrize("config", [EVERY_FRAME, EVERY_THIRD], ids=["every_frame", "never_twice"])
def test_one_pool_without_lag_is_the_run_on_one_machine(fake: FakeRay, tmp_path: Path, config: RunConfig) -> None:
    """Bit for bit if every frame is seen; a table of features that is filled in other portions rounds differently."""
    alone, trainer = Trainer(config, RunFolder(tmp_path)), pooled(tmp_path, 1, 0, config)[0]
    theirs, mine = ([each.round() for _ in range(8)] for each in (alone, trainer))
    assert_same_losses(mine, theirs, exactly=config is EVERY_FRAME)
    assert {row["lag"] for row in mine} == {0}
    alone_trials, trials = (each._trials for each in (alone, trainer))
    assert sum(map(len, trials)) > 3
    assert all(a.equals(b) for a, b in zip(alone_trials, trials, strict=True))


def test_lag_is_the_updates_since_the_weights_that_acted(fake: FakeRay, tmp_path: Path) -> None:
    trainer, source = pooled(tmp_path, 1, ahead=2)
    lags, updates = [], [0]
    for _ in range(5):
        trainer.learner.learn(source.unroll(None), rates_of(trainer))
        lags.append(source.metrics()["lag"])
        updates.append(trainer.learner.updates)
    # Unrolls are asked for when one comes: the first two with the first weights, then each two unrolls before its turn.
    assert lags == [updates[k] - updates[max(0, k - 2)] for k in range(5)]
    assert lags[-1] > 3


def rates_of(trainer: Trainer) -> Rates:
    return rates(trainer.config.learning, trainer.standing)


def same_weights(one: Agent, other: Agent) -> bool:
    return all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def test_weights_are_sent_once_and_vision_only_when_it_has_changed(fake: FakeRay, tmp_path: Path) -> None:
    trainer, source = pooled(tmp_path, 1, 0, replace(CONFIG, learning=replace(CONFIG.learning, vision_every=6)))
    for _ in range(5):
        trainer.learner.learn(source.unroll(None), rates_of(trainer))
        assert not same_weights(trainer.agent, fake.actors[0].pool.actor.agent)  # it has learned
    source.unroll(None)
    assert same_weights(trainer.agent, fake.actors[0].pool.actor.agent)
    source.unroll(None)  # nothing has been learned since
    sent = [(rest, vision) for _, rest, vision in fake.actors[0].orders]
    # Three or four batches a round, six between two updates of vision.
    assert sent[0] == (True, True)
    assert sent[-1] == (False, False)
    assert [rest for rest, _ in sent[:-1]] == [True] * 6
    assert 2 <= sum(vision for _, vision in sent[1:]) <= 3
    assert not sent[1][1]


def test_pools_grade_as_they_are_told(fake: FakeRay, tmp_path: Path) -> None:
    _, source = pooled(tmp_path, 2, 1)
    grading = Grading(share=0.25, width=20.0)
    source.unroll(grading)
    source.unroll(grading)
    assert fake.actors[0].pool.actor.laboratory.trials.grading == grading


@pytest.mark.parametrize("ahead", [1, 3])
def test_a_slow_learner_finds_no_more_than_was_allowed(fake: FakeRay, tmp_path: Path, ahead: int) -> None:
    _, source = pooled(tmp_path, 2, ahead)
    for _ in range(6):
        source.unroll(None)
        assert len(source._in_flight) == len(source.ledger.waiting) == 2 * ahead
    assert set(fake.waits) == {2 * ahead}


def test_a_slow_pool_holds_up_nobody_and_is_still_heard(fake: FakeRay, tmp_path: Path) -> None:
    _, source = pooled(tmp_path, 3, 1)
    source.unroll(None)
    fake.actors[1].asleep = True
    heard = []
    for turn in range(8):
        fake.actors[1].asleep = turn < 6
        source.unroll(None)
        assert source.delivery is not None
        heard.append(source.delivery.order.ticket.pool)
    assert heard[:6] == [2, 0, 2, 0, 2, 0]
    assert heard[6] == 1  # the oldest comes first


def test_pools_that_are_all_silent_are_an_error(fake: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, source = pooled(tmp_path, 2, 1)
    source.unroll(None)
    monkeypatch.setattr(cluster, "PATIENCE", -1.0)
    for actor in fake.actors:
        actor.asleep = True
    with pytest.raises(ClusterError, match="no unroll has come"):
        source.unroll(None)


# Faults.


def test_a_pool_that_dies_is_replaced_and_its_unrolls_are_counted(fake: FakeRay, tmp_path: Path) -> None:
    trainer, source = pooled(tmp_path, 2, ahead=2)
    used: list[Ticket] = []
    for turn in range(12):
        if turn == 5:
            fake.actors[0].dead = True
        source.unroll(None)
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
        source.unroll(None)
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
    source.unroll(None)
    fake.actors[0].fail = True
    with pytest.raises(RayTaskError, match="a mistake"):
        source.unroll(None)
    assert len(fake.actors) == 1


def test_a_pool_that_never_lives_is_given_up(fake: FakeRay, tmp_path: Path) -> None:
    _, source = pooled(tmp_path, 1, 1)
    fake.stillborn = True
    with pytest.raises(
        ClusterError, match="pool 0 died 3 times before its first unroll, the last time of: out of memory"
    ):
        source.unroll(None)
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
    pool, order = Pool(CONFIG, 0, 0, 1), Order(Ticket(0, 0, 0), 0, None)
    pool.unroll(order, None, None)
    with pytest.raises(RuntimeError, match=r"number=1.* is next"):
        pool.unroll(order, None, None)


def test_pools_and_incarnations_have_random_numbers_of_their_own() -> None:
    def acted(pool: int, incarnation: int) -> bytes:
        order = Order(Ticket(pool, incarnation, 0), 0, None)
        return Pool(CONFIG, pool, incarnation, 1).unroll(order, None, None).unroll["action"].tobytes()

    everybody = [acted(pool, incarnation) for pool in range(2) for incarnation in range(3)]
    assert len(set(everybody)) == 6
    assert acted(1, 2) == everybody[5]
    assert build_actor(CONFIG).unroll().action.byte().numpy().tobytes() == everybody[0]


# Resuming.


def test_a_cluster_run_goes_on_from_its_checkpoint(fake: FakeRay, tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run", on_pools(2, 1))
    trainer.source.unroll(None)
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
    # 8 frames of ids, firsts, actions, log probabilities, rewards, ends; one more of the first two; 2 x 16 units.
    assert sum(array.nbytes for array in arrays.values()) == 32 * (9 * (4 + 1) + 8 * (1 + 4 + 4 + 1) + 2 * 16 * 4)
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


# A real Ray.


@pytest.fixture(scope="module")
def ray_here() -> Iterator[Resources]:
    pytest.importorskip("ray", reason='Ray is not installed: pip install "gnomon[cluster]"')
    with joined(None, 2) as resources:
        yield resources


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_real_pool_without_lag_is_the_run_on_one_machine(ray_here: Resources, tmp_path: Path) -> None:
    assert ray_here.cpus == (2.0,)
    alone = Trainer(EVERY_FRAME, RunFolder(tmp_path))
    trainer = Trainer(EVERY_FRAME, RunFolder(tmp_path), on_pools(1, 0, ray_here))
    theirs, mine = ([each.round() for _ in range(6)] for each in (alone, trainer))
    assert_same_losses(mine, theirs, exactly=True)
    assert isinstance(trainer.source, Pools)
    trainer.source.close()


# As in test_learning: one interval of 10 frames on a coarse lattice.
EASY = RunConfig(
    task=ReadySetGo(intervals=(10,), foreperiods=(2,), flash=3, pause=3),
    optics=OpticsConfig(retina=(24, 24), gaze_step=50, gaze_limit=33.0),
    agent=AgentConfig("feedforward", units=64, features=64),
    learning=LearningConfig(
        lanes=128, unroll=20, batch=32, vision_every=8, discount=0.95, learning_rate=2e-3, vision_learning_rate=1e-3
    ),
    seed=1,
)  # fmt: skip
RANDOM_RATE = 0.4  # rewards per 1,000 frames of a random gaze: test_learning measures it
DEATHS = 0.1  # pools killed per unroll
WINDOW, ROUNDS = 8, 120


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_run_learns_while_its_pools_are_killed(ray_here: Resources, tmp_path: Path) -> None:
    import ray

    trainer = Trainer(EASY, RunFolder(tmp_path), on_pools(2, 1, ray_here))
    source = trainer.source
    assert isinstance(source, Pools)
    chance, act, used, kills = random.Random(5), source.unroll, [], 0

    def unroll(grading: Grading | None) -> Any:
        nonlocal kills
        # A pool that has not acted yet is spared: three deaths before the first unroll rightly end a run.
        grown = [member for member in source.members if not member.deaths]
        if used and grown and chance.random() < DEATHS:
            ray.kill(chance.choice(grown).handle)
            kills += 1
        done = act(grading)
        assert source.delivery is not None
        used.append(source.delivery.order.ticket)
        return done

    source.unroll = unroll
    reward_rates: list[float] = []
    recent = 0.0
    while len(reward_rates) < ROUNDS and recent < 5 * RANDOM_RATE:
        reward_rates.append(trainer.round()["reward_rate"])
        recent = sum(reward_rates[-WINDOW:]) / WINDOW
    source.close()
    counts = source.counters()
    print(f"{kills} kills in {len(reward_rates)} rounds: {counts}")  # pytest -s shows it
    assert recent >= 5 * RANDOM_RATE, (
        f"{recent:.2f} rewards per 1,000 frames after {len(reward_rates)} rounds; {counts}"
    )
    assert len(set(used)) == len(used) == counts["used_unrolls"]
    assert kills > 1
    assert 0 < counts["replaced_pools"] <= kills  # one may be killed twice before it is missed, or at the very end
    assert counts["lost_unrolls"] == counts["replaced_pools"]  # each had one unroll to do
    assert counts["refused_unrolls"] == 0
