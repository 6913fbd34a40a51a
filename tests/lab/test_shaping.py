"""The graded reward: what it is, and that only the learner sees it."""

import math
from dataclasses import replace

import polars as pl
import pytest
import torch
from gnomon.lab.shaping import Grading

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import TASKS, ReadySetGo, Task
from gnomon.records.trials import take_trials

PROBED = ReadySetGo(probe_intervals=(15, 25), probe_probability=0.5, correct_reward=2.0)


@pytest.mark.parametrize(
    ("share", "discount", "expected"),
    [
        (1.0, 1.0, [1.0, math.exp(-2), math.exp(-0.5)]),
        (0.0, 0.9, [1.0, 0.0, 1.0]),
        (0.25, 0.9, [0.25 * 0.9**-20 + 0.75, 0.25 * math.exp(-2) * 0.9**-40, 0.25 * math.exp(-0.5) * 0.9**-55 + 0.75]),
    ],
)
def test_the_formula(share: float, discount: float, expected: list[float]) -> None:
    earned, sample, production = torch.tensor([1.0, 0.0, 1.0]), torch.tensor([10, 10, 30]), torch.tensor([10, 30, 25])
    got = Grading(share, 10.0, discount).reward(earned, sample, production)
    assert got.tolist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "task",
    [*(TASKS[name]() for name in sorted(TASKS)), replace(PROBED, reward_probes=True), PROBED],
    ids=[*sorted(TASKS), "rewarded probes", "probes"],
)
def test_only_the_learners_reward_is_graded(task: Task) -> None:
    plain, graded = (Laboratory(task, OpticsConfig(gaze_step=60), lanes=64, seed=3) for _ in range(2))
    graded.trials.grading = Grading(share=1.0, width=10.0)
    generator = torch.Generator().manual_seed(4)
    rewards = torch.zeros(2)
    for _ in range(1_500):
        actions = torch.randint(len(plain.actions), (64,), generator=generator)
        rewards += torch.stack([lab.step(actions).reward.sum() for lab in (plain, graded)])
    tables = [take_trials(lab.trials) for lab in (plain, graded)]
    assert tables[0].equals(tables[1])
    table = tables[0].drop_nulls("production_interval")
    if task == PROBED:
        table = table.filter(~pl.col("probe"))  # they are never rewarded
    error = (table["production_interval"] - table["sample_interval"]).abs()
    choices = float(tables[0]["reward"].sum()) if table.is_empty() else 0.0
    expected = task.correct_reward * float((-error / 10).exp().sum()) + choices
    assert float(rewards[1]) == pytest.approx(expected, rel=1e-4)
