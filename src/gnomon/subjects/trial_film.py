"""Films: lets a subject act until it has completed a trial, and keeps the trial frame by frame."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from gnomon.lab.laboratory import CLICK, Laboratory
from gnomon.lab.screen import Picture
from gnomon.lab.trials import Trials
from gnomon.lab.view import gaze_points
from gnomon.records.films import NO_ACTION, TrialFilm
from gnomon.records.trials import trial_table
from gnomon.subjects.agent import AgentDecision
from gnomon.subjects.subject import Decision, Subject, frames

LEAD, TAIL = 20, 30  # frames kept before fixation and after the trial's end
PATIENCE = 60_000  # frames within which a subject must bring a trial to its end


@dataclass
class Seen:
    """What the subject saw on one frame, and what it then decided."""

    number: int  # of the frame, since the episode began; -1 is what is seen before its first frame
    picture: Picture
    observation: int
    click: bool
    action: int = NO_ACTION
    value: float = float("nan")


def film_trial(subject: Subject[Decision], trial: int = 0) -> TrialFilm:
    """Let a subject alone in its laboratory go on until it has completed a trial from the start.

    trial: the least number of that trial within its episode.
    """
    laboratory = subject.laboratory
    if laboratory.lanes != 1:
        raise ValueError(f"the laboratory has {laboratory.lanes} lanes; a film shows a single one")
    trials, pictures = laboratory.trials, laboratory.task.pictures()
    trials.take_rows()  # what ended before is no part of the film
    row: dict[str, Any] | None = None
    seen = [see(laboratory, pictures)]
    for moment in islice(frames(laboratory, subject), PATIENCE):
        decision, frame, before = moment.decision, moment.frame, seen[-1]
        before.action = int(decision.action)
        if isinstance(decision, AgentDecision):
            before.value = float(decision.value)
        if frame.episode_end:  # with a trial, if it is one to keep, which leaves the monitor blank
            now = Seen(before.number + 1, (), int(frame.final_observation), False)
        else:
            now = see(laboratory, pictures)
        now.click = before.action == CLICK
        seen.append(now)
        if row is None:
            row = completed_trial(trials, seen[0].number, trial)
        if row is not None and (frame.episode_end or now.number >= row["end_frame"] + TAIL):
            break
        if frame.episode_end:
            seen = [see(laboratory, pictures)]
    if row is None:
        raise ValueError(f"the {subject.name} ended no trial of {laboratory.task.name} in {PATIENCE} frames")
    kept = seen[max(0, row["start_frame"] - LEAD - seen[0].number) :]
    ids = torch.tensor([each.observation for each in kept], device=laboratory.device)
    values = np.array([each.value for each in kept])
    return TrialFilm(
        task=laboratory.task,
        subject=subject.name,
        row=row,
        frames=np.array([each.number for each in kept]) - row["start_frame"],
        pictures=tuple(each.picture for each in kept),
        gaze=gaze_points(laboratory.lattice, ids.cpu() % laboratory.lattice.count),
        retina=laboratory.render(ids).cpu().numpy(),
        clicks=np.array([each.click for each in kept]),
        actions=np.array([each.action for each in kept]),
        values=None if np.isnan(values).all() else values,
    )


def see(laboratory: Laboratory, pictures: Any) -> Seen:
    """What the only lane sees now."""
    trials = laboratory.trials
    number = trials.now - int(trials.episode_start)
    return Seen(number, pictures[int(trials.picture)], int(laboratory.observation), False)


def completed_trial(trials: Trials, after: int, trial: int) -> dict[str, Any] | None:
    """The row of a trial that ended on this frame, if it was not cut off and began after a frame."""
    rows, reals = trials.take_rows()
    if not rows.shape[1]:  # on nearly every frame
        return None
    (row,) = trial_table(trials.task, rows, reals, trials.row_columns()).to_dicts()
    whole = row["outcome"] != "cut_off" and row["start_frame"] > after
    return row if whole and row["trial"] >= trial else None
