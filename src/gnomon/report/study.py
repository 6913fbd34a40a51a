"""A study: what is done with a set of participants, from trials to results, each stage a file.

    trials/NAME.parquet          an evaluation on the intervals of training
    trials/NAME-probes.parquet   another, most of its trials at intervals never trained
    recordings/NAME.zarr.zip     units and gaze in some lanes of the first
    results/NAME.json            every analysis of these (`Findings`)
    results/learning-NAME.json   reward rate over training, of a family

The families that the paper compares are looked at closely; of the others only production and its spread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import polars as pl

from gnomon.analysis.gaze import GazePaths, gaze_paths
from gnomon.analysis.generalisation import Generalisation, generalisation
from gnomon.analysis.observer_fit import Comparison, ObserverFit, Profile, compare, profile
from gnomon.analysis.performance import LearningCurve, Production, learning_curve, production
from gnomon.analysis.results import from_json, to_json
from gnomon.analysis.scalar_variability import ScalarVariability, scalar_variability
from gnomon.analysis.units import DEFAULT_UNITS, Population, population
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import ReadySetGo
from gnomon.published.agents import load_agent
from gnomon.records.recordings import read_recording, write_recording
from gnomon.records.runs import write_text
from gnomon.records.trials import read_trials, write_trials
from gnomon.report.participants import Family, Participant, chiefs, families
from gnomon.report.stages import Stages, code, fingerprint
from gnomon.subjects.evaluation import do_trials, evaluate, share_trials
from gnomon.subjects.scripted import SUBJECTS

Result = TypeVar("Result")

LANES = 200  # at once; each does the same number of trials
RECORDED_TRIALS = 320  # about: how many are recorded frame by frame
PROBE_PROBABILITY = 0.7
LEAST_TRIALS = 100  # below which hardly an analysis would have anything to say


@dataclass(frozen=True, eq=False)
class Findings:
    """Every analysis of one participant; those that could not be done are None, and `missing` says why."""

    name: str
    n_trials: int
    production: Production | None
    scalar_variability: ScalarVariability | None
    generalisation: Generalisation | None
    comparison: Comparison | None  # of Bayesian observers
    observer: ObserverFit | None  # the paper's: BLS with the prior of training
    profile: Profile | None
    population: Population | None
    gaze: GazePaths | None
    missing: tuple[tuple[str, str], ...]  # analysis, reason

    @property
    def share_within(self) -> float:
        """Share of all judged trials that missed by less than the tolerance; 0 if Set was never answered."""
        found = self.production
        return 0.0 if found is None else found.within.value


@dataclass(frozen=True, eq=False)
class Learning:
    """A family's reward rate over training."""

    over_frames: LearningCurve
    over_minutes: LearningCurve


@dataclass(frozen=True, eq=False)
class Study:
    """What came out, and from whom."""

    families: tuple[Family, ...]
    chiefs: tuple[Family, ...]  # those looked at closely
    findings: dict[str, Findings]  # by participant
    learning: dict[str, Learning]  # by family; without those that have no metrics
    live: tuple[Participant, Learning] | None  # a training of which only the curve is shown
    trials: int
    seed: int
    prints: dict[str, str]  # fingerprints of results, by file name without suffix

    def middle(self, family: Family) -> Findings:
        """The seed in the middle by share within the tolerance: neither the best nor the worst is shown for all."""
        ordered = sorted((self.findings[member.name] for member in family.members), key=lambda each: each.share_within)
        return ordered[(len(ordered) - 1) // 2]

    def of(self, family: Family) -> list[Findings]:
        return [self.findings[member.name] for member in family.members]


def run_study(
    everyone: Sequence[Participant], stages: Stages, *, trials: int, seed: int, live: Participant | None = None
) -> Study:
    """Evaluate and analyse everyone; what is done already is read."""
    every = families(everyone)
    close = chiefs(every)
    closely = {member.name for family in close for member in family.members}
    findings: dict[str, Findings] = {}
    prints: dict[str, str] = {}
    for each in everyone:
        prints[each.name] = study_one(each, stages, trials, seed, each.name in closely)
        findings[each.name] = from_json(Findings, (stages.folder / "results" / f"{each.name}.json").read_text())
    if all(found.production is None for found in findings.values()):
        raise ValueError(f"nobody answered Set in {trials} trials each; there is nothing to report yet, train longer")
    learning: dict[str, Learning] = {}
    for family in every:
        found = study_learning(family.name, family.members, stages)
        if found is not None:
            learning[family.name], prints[f"learning-{family.name}"] = found
    watched = None
    if live is not None:
        found = study_learning(f"live-{live.name}", (live,), stages)
        if found is None:
            raise ValueError(f"{live.asked} has no learning curve yet; train it for longer")
        watched, prints["live"] = (live, found[0]), found[1]
    return Study(tuple(every), tuple(close), findings, learning, watched, trials, seed, prints)


def study_one(each: Participant, stages: Stages, trials: int, seed: int, closely: bool) -> str:
    """Trials and results of one participant; returns the results' fingerprint."""
    made_with = code("lab", "agent", "records", "subjects")
    inputs = [each.weights, each.config.to_json(), trials, seed, made_with]
    recorded = closely and each.path is not None
    table, recording = f"trials/{each.name}.parquet", f"recordings/{each.name}.zarr.zip"
    outputs = [table, recording] if recorded else [table]
    before = [
        stages.run(
            f"trials of {each.name}",
            [*inputs, recorded],
            outputs,
            lambda part: make_trials(
                each, each.task, trials, seed, part / table, part / recording if recorded else None
            ),
        )
    ]
    probes = f"trials/{each.name}-probes.parquet"
    if closely:
        task = with_probes(each.task)
        before.append(
            stages.run(
                f"trials of {each.name} at intervals never trained",
                [*inputs, task.probe_intervals, PROBE_PROBABILITY],
                [probes],
                lambda part: make_trials(each, task, trials, seed + 1, part / probes, None),
            )
        )
    folder = stages.folder

    def analyse(part: Path) -> None:
        result = find(
            each,
            read_trials(folder / table),
            read_trials(folder / probes) if closely else None,
            folder / recording if recorded else None,
        )
        (part / "results").mkdir()
        write_text(part / "results" / f"{each.name}.json", to_json(result))

    return stages.run(
        f"results of {each.name}", [before, code("analysis"), closely], [f"results/{each.name}.json"], analyse
    )


# Trials ---------------------------------------------------------------------------------------------------


def with_probes(task: ReadySetGo) -> ReadySetGo:
    """The task with trials between the intervals of training, below the shortest, and up to 1.5 times the longest."""
    trained = sorted(task.intervals)
    between = {(low + high) // 2 for low, high in pairwise(trained)}
    step = max(1, trained[-1] // 10)
    beyond = {trained[0] // 2, *(trained[-1] + step * number for number in range(1, 6))}
    probes = sorted(frames for frames in (between | beyond) - set(trained) if frames > 0)
    return replace(task, probe_intervals=tuple(probes), probe_probability=PROBE_PROBABILITY)


def make_trials(
    each: Participant, task: ReadySetGo, trials: int, seed: int, path: Path, recording: Path | None
) -> None:
    """Let someone do the task; writes the trial table, and a recording if it has a path."""
    if each.path is None:
        write_trials(scripted_trials(each.name, task, trials, seed), path)
        return
    agent, _ = load_agent(each.path)
    lanes = -(-RECORDED_TRIALS * min(LANES, trials) // trials) if recording is not None else 0
    shown = [name for name in DEFAULT_UNITS if name in agent.controller.unit_names][:1]
    result = evaluate(
        agent, task, each.config.optics, trials=trials, seed=seed, lanes=LANES, record_lanes=lanes, units=shown
    )
    write_trials(result.trials, path)
    if recording is not None and result.recording is not None:
        write_recording(result.recording, recording)


def scripted_trials(name: str, task: ReadySetGo, trials: int, seed: int) -> pl.DataFrame:
    """The trial table of a scripted subject, as an agent's evaluation makes it."""
    lanes, share = share_trials(trials, task, LANES)
    return do_trials(SUBJECTS[name](Laboratory(task, lanes=lanes, seed=seed), seed + 1), share).trials


# Results --------------------------------------------------------------------------------------------------


def find(each: Participant, trials: pl.DataFrame, probes: pl.DataFrame | None, recording: Path | None) -> Findings:
    """Every analysis that can be done with these tables."""
    missing: list[tuple[str, str]] = []

    def attempt(name: str, analyse: Callable[[], Result]) -> Result | None:
        try:
            return analyse()
        except ValueError as reason:  # too few productions, say: others may still tell something
            missing.append((name, str(reason)))
            return None

    intervals = sorted(each.task.intervals)
    tolerance = each.task.base_tolerance
    produced = attempt("production", lambda: production(trials, tolerance))
    spread = attempt("scalar variability", lambda: scalar_variability(trials))
    general = comparison = observer = surface = units = paths = None
    if probes is not None:
        general = attempt("generalisation", lambda: generalisation(probes, intervals))
        comparison = attempt("observer", lambda: compare(trials, intervals=intervals))
    if comparison is not None:
        fits = {(fitted.observer, fitted.prior): fitted for fitted in comparison.fits}
        observer = fits["bls", "discrete"]
        surface = attempt("profile", lambda: profile(fits["bls", "discrete"]))
    if recording is not None:
        recorded = read_recording(recording)
        units = attempt("units", lambda: population(recorded, trials))
        paths = attempt("gaze", lambda: gaze_paths(recorded, trials, each.task))
    return Findings(
        each.name, trials.height, produced, spread, general, comparison, observer, surface, units, paths, tuple(missing)
    )


def study_learning(name: str, members: Sequence[Participant], stages: Stages) -> tuple[Learning, str] | None:
    """The learning curve over the seeds that have metrics, and its fingerprint; None if no seed has enough of them."""
    tables = [enough for member in members if (enough := curve_of(member)) is not None]
    if not tables:
        return None
    output = f"results/learning-{name}.json"

    def make(part: Path) -> None:
        (part / "results").mkdir()
        curves = Learning(learning_curve(tables, "frames"), learning_curve(tables, "minutes"))
        write_text(part / output, to_json(curves))

    inputs = [fingerprint([table.rows() for table in tables]), code("analysis")]
    print_ = stages.run(f"learning curve of {name}", inputs, [output], make)
    return from_json(Learning, (stages.folder / output).read_text()), print_


def curve_of(each: Participant) -> pl.DataFrame | None:
    """The columns of the metrics that a learning curve needs, if there are enough rows."""
    wanted = ("frames", "minutes", "reward_rate")
    if each.metrics is None or any(name not in each.metrics.columns for name in wanted):
        return None
    rows = each.metrics.select(pl.col(*wanted).cast(pl.Float64)).fill_nan(None).drop_nulls()
    return rows if rows.height > 1 else None
