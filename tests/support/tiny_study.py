"""A study of agents that know nothing yet: small enough to be done in seconds, from trials to the page."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from small_run import CONFIG, TASK

from gnomon.analysis import observer_fit, observer_likelihood
from gnomon.config import RunConfig
from gnomon.learn.loop import start
from gnomon.report import gallery
from gnomon.study import findings, trials
from gnomon.study.files import Study
from gnomon.study.participants import participants
from gnomon.study.run import run_study
from gnomon.study.stages import Stages
from gnomon.subjects import evaluation

TRIALS, SEED = 100, 5
# Set comes soon, so that even a gaze that wanders at random answers it now and then.
EASY = replace(TASK, intervals=(2, 4, 6, 8), foreperiods=(1,), flash=1, trials_per_episode=8, episode_seconds=20)
TINY = replace(CONFIG, task=EASY)
WHO = (("lstm", 0), ("lstm", 1), ("feedforward", 0), ("gru", 0))


def tiny_run(folder: Path, controller: str, seed: int, config: RunConfig = TINY) -> str:
    """A run whose agent knows nothing yet; its name as one types it."""
    agent = replace(config.agent, controller=controller)
    trainer = start(replace(config, agent=agent, seed=seed), folder / f"{controller}-{seed}")
    trainer.save()
    rows = [{"round": n, "frames": 100 * n, "minutes": n / 10, "reward_rate": n / 8} for n in range(1, 5)]
    (trainer.folder.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / f"{controller}-{seed}")


@contextmanager
def light() -> Iterator[None]:
    """Two observers in place of all, fitted to few productions; pictures that are drawn but not rendered."""

    def save(figure: object, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        for suffix in (".png", ".svg"):
            path.with_name(path.name + suffix).write_text(f"a picture of {path.name}")

    def compare(trials: pl.DataFrame, intervals: Sequence[int]) -> observer_fit.Comparison:
        return observer_fit.compare(trials, (("bls", "discrete"), ("identity", "none")), intervals=intervals)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "save", save)
        patch.setattr(findings, "compare", compare)
        patch.setattr(observer_likelihood, "MIN_PRODUCTIONS", 3)
        patch.setattr(evaluation, "FRAMES_PER_TRIAL", 600)  # a gaze that wanders for longer is not waited for
        patch.setattr(trials, "RECORDED_TRIALS", 50)
        yield


def tiny_runs(folder: Path) -> list[str]:
    return [tiny_run(folder, *who) for who in WHO]


def tiny_study(runs: Sequence[str], folder: Path) -> tuple[Study, Stages]:
    """The study of these runs; the last one is also watched live."""
    stages = Stages(folder)
    everyone = participants(runs)
    return run_study(everyone, stages, trials=TRIALS, seed=SEED, live=everyone[-1]), stages
