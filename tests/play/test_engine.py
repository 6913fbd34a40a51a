"""The browser's engine does what the Python laboratory does: on recorded Psychlab episodes, and on random ones."""

from dataclasses import asdict
from functools import lru_cache
from typing import Any

import psychlab
import pytest
import torch
from node import run_node
from psychlab import TRACES, load
from wandering import WanderingSubject

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PSYCHLAB, TASKS, Bisection, CuedProduction, Discrimination, Outcome, ReadySetGo, Task
from gnomon.records.trials import take_trials

BUSY: dict[str, Any] = {"pause": 4, "trials_per_episode": 3, "episode_seconds": 4.0, "frames_off_monitor": 12}
CASES: dict[str, tuple[Task, OpticsConfig]] = {
    **{name: (kind(), OpticsConfig()) for name, kind in TASKS.items()},
    "psychlab": (PSYCHLAB, OpticsConfig()),
    "coarse gaze": (ReadySetGo(), OpticsConfig(gaze_step=60, gaze_limit=20.0)),
    "probes and hold": (
        ReadySetGo(
            **BUSY, intervals=(5, 9), probe_intervals=(3,), probe_probability=0.3, hold_probability=0.5,
            hold_frames=2, foreperiods=(0, 6), tolerance_factors=(1.5, 0.5), tolerance_scaling=0.1,
        ),
        OpticsConfig(),
    ),
    "slow fixation": (
        CuedProduction(
            **BUSY, intervals=(4, 9), frames_to_fixate=3, wait_complement=True, fixation_reward=0.25,
            timeout_factor=2.5,
        ),
        OpticsConfig(),
    ),
    "three axes": (Bisection(**BUSY, durations=(3, 8), axes=3, incorrect_reward=-0.5), OpticsConfig()),
    "two flashes": (
        Discrimination(**BUSY, durations=(9, 20), duration_spread=(1.0, 2.0), flash=4), OpticsConfig(gaze_step=40)
    ),
}  # fmt: skip
LANES, FRAMES = 32, 400


@lru_cache(maxsize=1)
def replayed_traces() -> dict[str, Any]:
    questions = []
    for path in TRACES:
        trace = load(path)
        task = psychlab.build_task(trace["task"], trace["settings"])
        drawn = [psychlab.conditions(task, recorded) for recorded in trace["conditions"]]
        questions.append({"task": task.name, "settings": asdict(task), "conditions": drawn, "frames": trace["frames"]})
    answers = run_node("engine.js", {"traces": questions})["traces"]
    return dict(zip((path.stem for path in TRACES), answers, strict=True))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_psychlab_trace_is_reproduced(path):
    expected, ours = load(path)["expected"], replayed_traces()[path.stem]
    assert ours["display"] == expected["display"]
    assert ours["rewards"] == expected["rewards"]
    assert ours["episodeEnd"] == expected["episode_end"]
    finished = [row for row in ours["rows"] if row["outcome"] != "cut_off"]
    assert len(finished) == len(expected["trials"])
    for mine, theirs in zip(finished, expected["trials"], strict=True):
        assert mine["end_frame"] == theirs["end_frame"]
        assert psychlab.OUTCOMES[Outcome[mine["outcome"].upper()]] == theirs["outcome"]
        assert mine["reward"] == theirs["reward"]
        if theirs["outcome"] in (0, 1) and "produced" in theirs:
            assert mine["production_interval"] == theirs["produced"]


def record(task: Task, optics: OpticsConfig) -> tuple[list[dict], list[dict], Laboratory]:
    """What the browser's engine is given of each lane, and what the laboratory made of it."""
    laboratory = Laboratory(task, optics, lanes=LANES, seed=3)
    subject = WanderingSubject(laboratory)
    starts = [[int(gaze)] for gaze in laboratory.gaze]
    actions, frames = [], []
    for _ in range(FRAMES):
        action = subject.act().action
        frame = laboratory.step(action)
        for lane in frame.episode_end.nonzero().squeeze(1).tolist():
            starts[lane].append(int(laboratory.gaze[lane]))
        actions.append(action)
        picture = laboratory.trials.picture
        frames.append(
            torch.stack([frame.observation, picture.long(), frame.episode_end.long(), frame.timed_out.long()])
        )
        frames[-1] = torch.cat([frames[-1].double(), frame.reward.double()[None]])
    last = {name: laboratory.trials.condition(name).tolist() for name in task.conditions}
    table = take_trials(laboratory.trials)
    action, outcome = torch.stack(actions, 1).tolist(), torch.stack(frames, 2)  # [lanes, frames], [5, lanes, frames]
    questions, expected = [], []
    for lane in range(LANES):
        rows = [row for row in table.to_dicts() if row["lane"] == lane]
        drawn = [{name: int(row[name]) for name in task.conditions} for row in rows]
        drawn.append({name: last[name][lane] for name in task.conditions})  # of the trial that still runs, if one does
        shared = {"task": task.name, "settings": asdict(task), "optics": asdict(optics)}
        questions.append({**shared, "conditions": drawn, "starts": starts[lane], "actions": action[lane]})
        expected.append({"rows": rows, "frames": outcome[:, lane].T.tolist()})
    return questions, expected, laboratory


@pytest.mark.parametrize("case", CASES)
def test_random_episodes_are_equal_frame_by_frame(case: str):
    questions, expected, laboratory = record(*CASES[case])
    answers = run_node("engine.js", {"episodes": questions})["episodes"]
    assert sum(len(each["rows"]) for each in expected) >= LANES // 4, "too few trials to tell"
    inside = ["".join("01"[gaze] for gaze in box.int().tolist()) for box in laboratory._inside]
    assert answers[0]["inside"] == inside
    for mine, theirs in zip(answers, expected, strict=True):
        frames = [[o, p, bool(end), bool(out), r] for o, p, end, out, r in theirs["frames"]]
        assert [[o, p, end, out, r] for o, p, r, end, out in mine["frames"]] == frames
        assert [{**row, "lane": 0} for row in theirs["rows"]] == mine["rows"]
