"""Pools feed the learner on a real Ray of two CPUs."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_ray import assert_same_losses, on_pools
from small_run import CONFIG

from gnomon.agent.agent import AgentConfig
from gnomon.cluster.apart import RayApart, joined_apart
from gnomon.cluster.pools import Pools
from gnomon.config import LearningConfig, Loss, Optimiser, RunConfig
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import ReadySetGo
from gnomon.learn.loop import Trainer
from gnomon.learn.unroll import Unroll
from gnomon.records.runs import RunFolder


@pytest.fixture(scope="module")
def ray_here() -> Iterator[RayApart]:
    pytest.importorskip("ray", reason='Ray is not installed: pip install "gnomon[cluster]"')
    with joined_apart(None, 2) as ray:
        yield ray


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_real_pool_without_lag_is_the_run_on_one_machine(ray_here: RayApart, tmp_path: Path) -> None:
    assert ray_here.resources.cpus == (2.0,)
    alone = Trainer(CONFIG, RunFolder(tmp_path))
    trainer = Trainer(CONFIG, RunFolder(tmp_path), on_pools(1, 0, ray_here.resources, ray_here))
    theirs, mine = ([each.round() for _ in range(8)] for each in (alone, trainer))
    assert_same_losses(mine, theirs, exactly=False)
    assert isinstance(trainer.source, Pools)
    trainer.source.close()


# As in test_learning: one interval of 10 frames on a coarse lattice.
EASY = RunConfig(
    task=ReadySetGo(intervals=(10,), foreperiods=(2,), flash=3, pause=3),
    optics=OpticsConfig(retina=(24, 24), gaze_step=50, gaze_limit=33.0),
    agent=AgentConfig("feedforward", units=64, features=64),
    learning=LearningConfig(
        lanes=128,
        unroll=20,
        batch=32,
        optimiser=Optimiser(vision_every=8, learning_rate=2e-3, vision_learning_rate=1e-3),
        loss=Loss(discount=0.95, entropy_cost=0.003),
    ),
    seed=1,
)
RANDOM_RATE = 0.4  # rewards per 1,000 frames of a random gaze: test_learning measures it
DEATHS = 0.1  # pools killed per unroll
WINDOW, ROUNDS = 8, 120


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_run_learns_while_its_pools_are_killed(ray_here: RayApart, tmp_path: Path) -> None:
    trainer = Trainer(EASY, RunFolder(tmp_path), on_pools(2, 1, ray_here.resources, ray_here))
    source = trainer.source
    assert isinstance(source, Pools)
    chance, act, used, kills = random.Random(5), source.unroll, [], 0

    def unroll() -> Unroll:
        nonlocal kills
        # A pool that has not acted yet is spared: three deaths before the first unroll rightly end a run.
        grown = [member for member in source.members if not member.deaths]
        if used and grown and chance.random() < DEATHS:
            ray_here.kill(chance.choice(grown).handle)
            kills += 1
        done = act()
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
