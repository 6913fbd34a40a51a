"""Reads recorded Psychlab episodes and replays them: the scripts' own names here, ours there."""

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from gnomon.lab.gaze import PointGaze, box_corners
from gnomon.lab.screen import Picture, hexadecimal
from gnomon.lab.tasks import Bisection, CuedProduction, Discrimination, Outcome, ReadySetGo, Task
from gnomon.lab.trials import NO_PRODUCTION, Trials

FOLDER = Path(os.environ.get("GNOMON_TRACES", Path(__file__).parents[1] / "data" / "psychlab_traces"))
TRACES = sorted(FOLDER.glob("*.json"))

OUTCOMES = {
    Outcome.CORRECT: 1,
    Outcome.WRONG: 0,
    Outcome.EARLY: -1,
    Outcome.TIMEOUT: -1,
    Outcome.ABORTED: None,
}

# The scripts' settings that say the same as one of ours.
SAME = {
    "intertrialInterval": "pause",
    "timeToFixateCross": "frames_to_fixate",
    "trialsPerEpisodeCap": "trials_per_episode",
    "episodeLengthSeconds": "episode_seconds",
    "maxStepsOffScreen": "frames_off_monitor",
    "fixationReward": "fixation_reward",
    "correctReward": "correct_reward",
    "incorrectReward": "incorrect_reward",
    "fixationSize": "fixation_size",
    "fixationColor": "fixation_colour",
    "targetSize": "target_size",
    "center": "centre",
    "intervalToleranceFactors": "tolerance_factors",
    "timeoutFactor": "timeout_factor",
    # ready_set_go
    "rsgIntervals": "intervals",
    "probeIntervals": "probe_intervals",
    "probeProbability": "probe_probability",
    "rsgFlashDuration": "flash",
    "baseTolerance": "base_tolerance",
    "toleranceScaling": "tolerance_scaling",
    "nToPromote": "rewards_to_promote",
    "fixationBreakThresh": "hold_frames",
    "readyColor": "ready_colour",
    "setColor": "set_colour",
    "goColor": "go_colour",
    # cued_temporal_production
    "targetIntervals": "intervals",
    "waitComplement": "wait_complement",
    "numberToPromote": "rewards_to_promote",
    "targetLocation": "target_location",
    "targetLongColor": "long_colour",
    "targetLongColor2": "long_colour_clicked",
    "targetShortColor": "short_colour",
    "targetShortColor2": "short_colour_clicked",
    # temporal_bisection, temporal_discrimination
    "targetDurations": "durations",
    "numPositions": "axes",
    "centralTargetLocation": "target_location",
    "saccadeTargetDistance": "target_distance",
    "targetColors": "target_colours",
    "probeColor": "stimulus_colour",
}
# Settings that the scripts read and never use, or that only concern drawing.
WITHOUT_EFFECT = {
    "schema", "canvasSize", "preRenderMaskSize", "animationSizeAsFractionOfScreen", "screenSize",
    "buttonSize", "interframeInterval", "nPositions", "targetDistance",
}  # fmt: skip


def frozen(value: Any) -> Any:
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def build_task(name: str, script: dict[str, Any]) -> Task:
    """The task that a script with these settings runs."""
    settings = {SAME[key]: frozen(value) for key, value in script.items() if key in SAME}
    special = {key: value for key, value in script.items() if key not in SAME and key not in WITHOUT_EFFECT}
    if "bgColor" in special:
        settings["background"] = (special.pop("bgColor"),) * 3
    if name == "ready_set_go":
        shown = special.pop("targetDisplayTime", 100)
        settings["foreperiods"] = tuple(shown + delay for delay in special.pop("preRsgDelays", [10]))
        settings.setdefault("intervals", (200, 300))
        settings.setdefault("probe_intervals", (25, 375))
        settings.setdefault("probe_probability", 0.08)
        for name in ("intervals", "probe_intervals"):
            settings[name] = tuple(sorted(set(settings[name])))  # drawn by number; which comes first is of no matter
        settings["flash"] = max(1, settings.get("flash", 10))  # a timer of 0 frames rings on the next
        share = special.pop("fixationHoldP", 0.15)
        settings["hold_probability"] = share if special.pop("fixationHoldRule", False) else 0.0
        task = ReadySetGo(**settings, reward_probes=True)
    elif name == "cued_temporal_production":
        task = CuedProduction(**settings)
    elif name == "temporal_bisection":
        task = Bisection(**settings)
    elif name == "temporal_discrimination":
        special.pop("randomTargetPlacements", None)  # `x or true` in the script: false has no effect there
        flash = special.pop("targetFlashDuration", -1)
        durations = settings.get("durations", (40, 80))
        if any(isinstance(duration, tuple) for duration in durations):  # {mean, s.d.}
            means, spreads = zip(*(d if isinstance(d, tuple) else (d, 0.0) for d in durations), strict=True)
            settings |= {"durations": means, "duration_spread": spreads}
        task = Discrimination(**settings, flash=None if flash == -1 else flash)
    else:
        raise ValueError(f"no task answers to the script {name!r}")
    if special:
        raise ValueError(f"settings of {name} without a counterpart: {sorted(special)}")
    return task


def conditions(task: Task, recorded: dict[str, Any]) -> dict[str, int]:
    """One trial's recorded draws under our names; what had not been drawn when the recording stopped is 0."""
    if isinstance(task, CuedProduction):
        return {"sample_interval": recorded["target_interval"]}
    if isinstance(task, Bisection):
        colour = task.target_colours.index(tuple(recorded["long_colour"]))
        place = {name: recorded.get(name) or 0 for name in ("axis", "correct_end")}
        return {"sample_interval": recorded["duration"], "long_colour": colour, **place}
    if isinstance(task, Discrimination):
        duration = math.ceil(recorded["duration"])
        long = abs(duration - task.durations[1]) < abs(duration - task.durations[0])
        side = recorded.get("correct_side") == "right"
        return {"sample_interval": duration, "long": int(long), "correct_side": int(side)}
    return {name: int(recorded[name]) for name in task.conditions}


@dataclass
class Replay:
    """What our task did, in the words of the recording."""

    display: list[list] = field(default_factory=list)
    rewards: list[list] = field(default_factory=list)
    trials: list[dict] = field(default_factory=list)
    episode_end: int | None = None


def describe(picture: Picture) -> str:
    """The picture as the traces write it, sorted by name: "fixation,go#0ac80a"."""
    widgets = sorted(picture, key=lambda widget: widget.name)
    return ",".join(
        widget.name if widget.shape == "cross" else widget.name + hexadecimal(widget.colour) for widget in widgets
    )


def replay(trace: dict[str, Any]) -> Replay:
    """Run the recorded gaze through our task with the recorded draws."""
    task = build_task(trace["task"], trace["settings"])
    queue = iter(trace["conditions"])

    def draw(lanes: torch.Tensor) -> dict[str, torch.Tensor]:
        return {name: torch.tensor([value]) for name, value in conditions(task, next(queue)).items()}

    trials = Trials(task, 1, draw)
    pictures, corners = [describe(picture) for picture in task.pictures()], box_corners(task.boxes())
    result = Replay(display=[[-1, pictures[int(trials.picture)]]])
    down = torch.tensor([True])
    points = torch.tensor([frame[:2] for frame in trace["frames"]], dtype=torch.float64)
    for frame, (x, y, click, _release) in enumerate(trace["frames"]):
        gaze = PointGaze(points[frame : frame + 1], corners)
        done = trials.step(gaze, down if click and x != -1 and y != -1 else None)
        picture = pictures[int(trials.picture)]
        if picture != result.display[-1][1]:
            result.display.append([frame, picture])
        if done.reward.item():
            result.rewards.append([frame, done.reward.item()])
        if done.episode_end.item():
            result.episode_end = frame
            break
    result.trials = finished_trials(trials)
    return result


def finished_trials(trials: Trials) -> list[dict]:
    rows, reals = trials.take_rows()
    columns = trials.row_columns()
    finished = []
    for whole, (tolerance, reward) in zip(rows.T.tolist(), reals.T.tolist(), strict=True):
        row = dict(zip(columns, whole, strict=True))
        if row["outcome"] == Outcome.CUT_OFF:
            continue
        trial = {
            "end_frame": row["end_frame"],
            "outcome": OUTCOMES[Outcome(row["outcome"])],
            "reward": reward,
        }
        started = row.get("first_click_frame", row.get("set_frame", -1))
        if row["production_interval"] != NO_PRODUCTION and started >= 0:
            trial["produced"] = row["production_interval"]
            trial["tolerance"] = tolerance
            trial["temporal_difference"] = row["production_interval"] - row["sample_interval"]
        elif row["outcome"] == Outcome.TIMEOUT and started >= 0:
            trial["produced"] = row["end_frame"] - started  # the scripts report the time waited
        finished.append(trial)
    return finished


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())
