"""Tasks with the settings under which every task must keep its contract, and what happens in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fifth_task
import polars as pl
import torch
from wandering import WanderingSubject

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import PSYCHLAB, TASKS, Bisection, CuedProduction, Discrimination, ReadySetGo, Task
from gnomon.records.trials import take_trials

KINDS = dict(TASKS)
del TASKS[fifth_task.DelayedLook.name]  # the other tests count on the four that ship

# Short episodes of short trials, so that a few hundred frames hold every kind of end.
BUSY: dict[str, Any] = {"pause": 4, "trials_per_episode": 3, "episode_seconds": 4.0, "frames_off_monitor": 12}

CASES: dict[str, Task] = {
    **{name: kind() for name, kind in KINDS.items()},
    **{f"{name}, busy": kind(**BUSY) for name, kind in KINDS.items()},
    "psychlab": PSYCHLAB,
    "ready_set_go, probes and hold": ReadySetGo(
        **BUSY, intervals=(5, 9), probe_intervals=(3,), probe_probability=0.3, hold_probability=0.5,
        hold_frames=2, foreperiods=(0, 6), tolerance_factors=(1.5, 0.5),
    ),
    "cued_production, slow fixation": CuedProduction(
        **BUSY, intervals=(4, 9), frames_to_fixate=3, wait_complement=True, fixation_reward=0.25,
        timeout_factor=2.5,
    ),
    "bisection, three axes": Bisection(**BUSY, durations=(3, 8), axes=3, incorrect_reward=-0.5),
    "discrimination, two flashes": Discrimination(
        **BUSY, durations=(9, 20), duration_spread=(1.0, 2.0), flash=4,
    ),
}  # fmt: skip
LANES, FRAMES = 64, 160


@dataclass
class Episodes:
    """Some frames of a task. All [frames, lanes]; gaze and picture are those at the end of a frame."""

    action: torch.Tensor
    observation: torch.Tensor
    reward: torch.Tensor
    episode_end: torch.Tensor
    gaze: torch.Tensor
    picture: torch.Tensor
    trials: pl.DataFrame
    unfinished: int  # trials that still run


def run(laboratory: Laboratory, actions: Iterable[torch.Tensor]) -> Episodes:
    """Run the laboratory with these actions, one [lanes] for each frame."""
    log = []
    for action in actions:
        frame = laboratory.step(action)
        picture = laboratory.trials.picture.clone()
        log.append((action, frame.observation, frame.reward, frame.episode_end, laboratory.gaze.clone(), picture))
    columns = [torch.stack(column) for column in zip(*log, strict=True)]
    unfinished = int(laboratory.trials.running.sum())
    return Episodes(*columns, trials=take_trials(laboratory.trials), unfinished=unfinished)


@lru_cache(maxsize=len(CASES))
def usual_episodes(case: str) -> Episodes:
    laboratory = Laboratory(CASES[case], lanes=LANES, seed=1)
    subject = WanderingSubject(laboratory)
    return run(laboratory, (subject.act().action for _ in range(FRAMES)))
