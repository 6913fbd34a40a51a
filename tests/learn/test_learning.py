"""Something really learns: on a coarse lattice, from pixels, in seconds."""

from pathlib import Path

import pytest

from gnomon.agent.agent import AgentConfig
from gnomon.config import LearningConfig, Loss, Optimiser, RunConfig
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import ReadySetGo
from gnomon.learn.loop import Trainer
from gnomon.records.runs import RunFolder

# One interval of 10 frames; a 13 x 13 lattice, on which Go is three steps up and one right of the cross.
EASY = RunConfig(
    task=ReadySetGo(intervals=(10,), foreperiods=(2,), flash=3, pause=3),
    optics=OpticsConfig(retina=(24, 24), gaze_step=50, gaze_limit=33.0),
    learning=LearningConfig(
        lanes=128,
        unroll=20,
        batch=32,
        optimiser=Optimiser(learning_rate=2e-3, vision_learning_rate=1e-3, vision_every=8),
        loss=Loss(discount=0.95, entropy_cost=0.003),
    ),
    seed=1,
)
RANDOM_UNROLLS = 80  # without learning: 200,000 frames, in which a random gaze earns about 80 rewards
WINDOW = 8  # rounds of 5,120 frames over which the reward rate is averaged
ROUNDS = 120  # at most; seven seeds needed 25 to 45


@pytest.mark.parametrize("controller", ["lstm", "feedforward"])
def test_the_reward_rate_rises_fivefold(tmp_path: Path, controller: str) -> None:
    config = RunConfig(EASY.task, EASY.optics, AgentConfig(controller, units=64, features=64), EASY.learning, EASY.seed)
    trainer = Trainer(config, RunFolder(tmp_path))
    random_rate = (
        sum(1000 * float(trainer.actor.unroll().reward.mean()) for _ in range(RANDOM_UNROLLS)) / RANDOM_UNROLLS
    )
    assert random_rate > 0.1  # rewards per 1,000 frames; else five times as many would mean nothing

    rates: list[float] = []
    recent = 0.0
    while len(rates) < ROUNDS and recent < 5 * random_rate:
        rates.append(trainer.round()["reward_rate"])
        recent = sum(rates[-WINDOW:]) / WINDOW
    assert recent >= 5 * random_rate, f"{recent:.2f} rewards per 1,000 frames after {random_rate:.2f}"
