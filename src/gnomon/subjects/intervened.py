"""Runs with interventions: each lane has its own, or none, and the trial table says what was done.

    arms = [Arm("control", None, 16), Arm("gaze swapped", Intervention(what="gaze", how="swap"), 16)]
    trials = intervene(subject, arms, frames_each=3_000, seed=0)

All lanes of one laboratory run at once, so that controls and interventions meet the same conditions. A lane runs for a
number of frames, not of trials: an intervention that keeps a subject from answering must not hold up the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import polars as pl

from gnomon.records.trials import take_trials
from gnomon.subjects.evaluation import COLLECT_FRAMES, Report, finished
from gnomon.subjects.intervention import Intervention
from gnomon.subjects.interventions import Interventions
from gnomon.subjects.subject import AnyDecision, Moment, Subject, frames
from gnomon.subjects.targets import UnitMoments

CONTROL = "none"
COLUMNS = pl.Schema(
    {
        "arm": pl.String,  # what the run's design calls it
        "what": pl.String,  # what was changed; "none" in a control
        "how": pl.String,
        "dose": pl.Float64,  # frames, size or units, see `Intervention.dose`; 0 in a control
        "right": pl.Int32,  # lattice steps
        "up": pl.Int32,
        "treated": pl.Boolean,  # whether it was done in this trial
        "donor_interval": pl.Int32,  # frames: t_s of the trial that it was swapped with; null elsewhere
    }
)
"""What the table of an intervened run has beside a trial table's columns."""


@dataclass(frozen=True)
class Arm:
    """Lanes that are treated alike."""

    name: str
    intervention: Intervention | None
    """None: a control."""
    lanes: int


def intervene(
    subject: Subject[AnyDecision],
    arms: Sequence[Arm],
    *,
    frames_each: int,
    seed: int,
    moments: UnitMoments | None = None,
    watch: Callable[[Moment[AnyDecision]], None] = lambda moment: None,
    report: Report = lambda done, wanted: None,
) -> pl.DataFrame:
    """Let a subject act for a number of frames in every lane; returns the finished trials with `COLUMNS`.

    The arms share the laboratory's lanes, the first arm the first lanes. `moments` are needed by lesions and by noise
    on state or units. `seed` is that of donors, noise and the choice of trials.
    """
    laboratory = subject.laboratory
    by_lane = [arm.intervention for arm in arms for _ in range(arm.lanes)]
    change = Interventions(subject, by_lane, seed, moments)
    life = frames(laboratory, subject)
    tables = []
    for done in range(0, frames_each, COLLECT_FRAMES):
        for moment in islice(life, min(COLLECT_FRAMES, frames_each - done)):
            watch(moment)
            change.between_frames()
        tables.append(finished(take_trials(laboratory.trials)))
        report(min(frames_each, done + COLLECT_FRAMES), frames_each)
    change.end()
    trials = pl.concat(tables).sort("lane", "episode", "trial", maintain_order=True)
    return trials.join(design_table(arms), on="lane").join(
        change.treated_trials(), on=["lane", "episode", "trial"], how="left"
    ).with_columns(
        pl.col("treated").fill_null(False)
    ).select(*trials.columns, *COLUMNS)  # fmt: skip


def design_table(arms: Sequence[Arm]) -> pl.DataFrame:
    """What is done in each lane."""
    rows = []
    for arm in arms:
        given = arm.intervention
        done = (CONTROL, CONTROL, 0.0, 0, 0) if given is None else (
            given.what, given.how, given.dose, given.right, given.up
        )  # fmt: skip
        rows += [(len(rows) + lane, arm.name, *done) for lane in range(arm.lanes)]
    names = ["lane", "arm", "what", "how", "dose", "right", "up"]
    return pl.DataFrame(rows, pl.Schema({name: COLUMNS.get(name, pl.Int32()) for name in names}), orient="row")
