"""The standard battery of interventions that asks where a subject's clock is.

First the subject does the task untouched, for a short while: this gives the mean of every unit, and the units that
carry time. Then all arms run at once, in different lanes of one laboratory; the control's are recorded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
import torch
import xarray as xr

from gnomon.agent.agent import Agent
from gnomon.agent.feature_cache import FeatureCache
from gnomon.analysis.clock_dynamics import UnitStatistics, unit_statistics
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import Task
from gnomon.records.recordings import Recorder
from gnomon.subjects.agent import AgentDecision, AgentSubject
from gnomon.subjects.clocks import ClockSubject
from gnomon.subjects.evaluation import Report
from gnomon.subjects.intervened import Arm, intervene
from gnomon.subjects.intervention import Intervention
from gnomon.subjects.subject import Decision, Moment, Subject
from gnomon.subjects.targets import Stateful, UnitMoments

SWAP_LANES, LANES = 32, 12  # of the control and the swaps, and of the other arms
FIRST_LANES, FIRST_FRAMES = 64, 800  # of the first, untouched run
PAUSE_AFTER = 12  # frames from Set to the beginning of a pause: the flash is over
PAUSES = (10, 20, 30)  # frames
DISPLACED = 2.0  # degrees, about; and twice as much
GAZE_NOISE = (0.05, 0.1, 0.2, 0.4)  # steps per frame
UNIT_NOISE = (0.05, 0.1, 0.2, 0.4)  # s.d. of each unit, per frame
LESIONED = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)  # of all units

# How picture and room look from Set on.
LOOKS = {
    "Go hidden": Intervention(what="picture", how="hide", widget="go", frames=None),
    "monitor blank": Intervention(what="picture", how="reset", frames=None),
    "room plain": Intervention(what="room", how="reset", frames=None),
    "room mirrored": Intervention(what="room", how="mirror", frames=None),
}

MakeSubject = Callable[[Laboratory], Subject[Decision]]


@dataclass(frozen=True, eq=False)
class Battery:
    """What a subject did in the battery."""

    trials: pl.DataFrame
    """Trials of every arm, see `gnomon.subjects.intervened`."""
    recording: xr.Dataset
    """Units and gaze of the control's lanes."""


def run_battery(
    make_subject: MakeSubject,
    task: Task,
    optics: OpticsConfig,
    *,
    frames_each: int,
    seed: int,
    report: Report = lambda done, wanted: None,
) -> Battery:
    """Run the battery, for a number of frames in each lane; the same seed gives the same trials."""
    wanted = FIRST_FRAMES + frames_each
    laboratory = with_looks(Laboratory(task, optics, lanes=FIRST_LANES, seed=seed))
    subject = make_subject(laboratory)
    untouched = [Arm("control", None, FIRST_LANES)]
    recorder = Recorder(laboratory, FIRST_LANES)
    first = intervene(
        subject,
        untouched,
        frames_each=FIRST_FRAMES,
        seed=seed,
        watch=keeper(recorder, subject),
        report=lambda done, _: report(done, wanted),
    )
    statistics = unit_statistics(recorder.dataset(), first)

    state = subject.state if isinstance(subject, Stateful) else {}
    arms = standard_arms(laboratory.lattice.step_angle, statistics.ranking, seed, memory=bool(state))
    laboratory = with_looks(Laboratory(task, optics, lanes=sum(arm.lanes for arm in arms), seed=seed + 1))
    subject = make_subject(laboratory)
    recorder = Recorder(laboratory, arms[0].lanes)
    trials = intervene(
        subject,
        arms,
        frames_each=frames_each,
        seed=seed + 2,
        moments=moments_of(statistics, state),
        watch=keeper(recorder, subject),
        report=lambda done, _: report(FIRST_FRAMES + done, wanted),
    )
    return Battery(trials, recorder.dataset())


def keeper(recorder: Recorder, subject: Subject[Decision]) -> Callable[[Moment[Decision]], None]:
    """Records every frame of an agent, or of a scripted clock."""

    def keep(moment: Moment[Decision]) -> None:
        decision = moment.decision
        if isinstance(decision, AgentDecision):
            recorder.add(decision.action, decision.value, decision.units)
        elif isinstance(subject, Stateful):
            recorder.add(decision.action, torch.zeros(len(decision.action)), subject.state)

    return keep


def with_looks(laboratory: Laboratory) -> Laboratory:
    """Both runs can see all looks, so that what was seen in the first need not be seen again in the second."""
    for given in LOOKS.values():
        if given.look is not None:
            laboratory.add_look(given.look)
    return laboratory


def standard_arms(step_angle: float, ranking: Sequence[int] | np.ndarray, seed: int, *, memory: bool) -> list[Arm]:
    """The arms of the battery, for a gaze with steps of this size (degrees) and units ranked by the time they carry.

    With a memory, the units are those of the state, which is also swapped, held and reset.
    """
    one = partial(Intervention, event="set")
    steps = max(1, round(DISPLACED / step_angle))
    arms = [Arm("control", None, SWAP_LANES), Arm("gaze swapped", one(what="gaze", how="swap"), SWAP_LANES)]
    for size in (-2 * steps, -steps, steps, 2 * steps):
        arms.append(Arm("gaze displaced right", one(what="gaze", how="displace", right=size), LANES))
        arms.append(Arm("gaze displaced up", one(what="gaze", how="displace", up=size), LANES))
    held = partial(one, how="clamp", after=PAUSE_AFTER)
    arms += [Arm("gaze held", held(what="gaze", frames=frames), LANES) for frames in PAUSES]
    through = partial(Intervention, event="ready", frames=None)
    arms += [Arm("noise on the gaze", through(what="gaze", how="noise", size=size), LANES) for size in GAZE_NOISE]
    arms += [Arm(name, look, LANES) for name, look in LOOKS.items()]
    if memory:
        arms.append(Arm("state swapped", one(what="state", how="swap"), SWAP_LANES))
        arms += [Arm("state held", held(what="state", frames=frames), LANES) for frames in PAUSES]
        arms.append(Arm("state reset", one(what="state", how="reset"), LANES))
    what = "state" if memory else "units"
    arms += [Arm(f"noise on the {what}", through(what=what, how="noise", size=size), LANES) for size in UNIT_NOISE]
    shuffled = np.random.default_rng(seed).permutation(len(ranking))
    for name, order in (("units by time", ranking), ("units at random", shuffled)):
        for number in sorted({max(1, round(share * len(ranking))) for share in LESIONED}):
            lesion = through(what=what, how="lesion", units=tuple(int(unit) for unit in order[:number]))
            arms.append(Arm(name, lesion, LANES))
    return arms


def moments_of(statistics: UnitStatistics, state: dict[str, torch.Tensor]) -> UnitMoments:
    """Mean and s.d. of the units, shaped as one lane's state if there is one."""

    def shaped(values: tuple[np.ndarray, ...]) -> dict[str, torch.Tensor]:
        by_name = dict(zip(statistics.names, values, strict=True))
        if not state:
            return {name: torch.as_tensor(value, dtype=torch.float32) for name, value in by_name.items()}
        return {name: torch.as_tensor(by_name[name]).to(tensor).view_as(tensor[0]) for name, tensor in state.items()}

    return UnitMoments(shaped(statistics.mean), shaped(statistics.sd))


def agent_subject(agent: Agent, seed: int) -> MakeSubject:
    """Lets an agent sit in laboratories of one kind; what it has seen in one it need not see again in the next."""
    seen: list[FeatureCache] = []

    def make(laboratory: Laboratory) -> AgentSubject:
        generator = torch.Generator(laboratory.device).manual_seed(seed)
        subject = AgentSubject(laboratory, agent, generator, seen[0] if seen else None)
        seen[:] = [subject.cache]
        return subject

    return make


def scripted_clock(share: float) -> MakeSubject:
    """Lets a scripted clock sit in any laboratory."""
    return lambda laboratory: ClockSubject(laboratory, share=share)
