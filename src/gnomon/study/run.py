"""Run a study: let everyone do the task, analyse it, and write the files that `gnomon.study.files` lists."""

import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from gnomon.agent.controllers import CONTROLLERS
from gnomon.analysis.results import to_json
from gnomon.learn.malloc import keep_freed_memory
from gnomon.records.recordings import read_recording
from gnomon.records.runs import versions, write_text
from gnomon.records.trials import read_trials
from gnomon.study.clock import FRAMES, clock_path, study_clock, table_path
from gnomon.study.files import (
    FACTS,
    LIVE,
    Facts,
    Family,
    Live,
    Member,
    Study,
    learning_path,
    read_study,
    results_path,
)
from gnomon.study.findings import curve_columns, find, find_learning
from gnomon.study.participants import Family as Group
from gnomon.study.participants import Participant, compared, families
from gnomon.study.settings import settings_beside_the_papers
from gnomon.study.stages import Stages, code, fingerprint
from gnomon.study.threads import use_one_thread
from gnomon.study.trials import PROBE_PROBABILITY, make_trials, record_untrained, with_probes

LEAST_TRIALS = 100  # below which hardly an analysis would have anything to say
MADE_WITH = ("lab", "agent", "records", "subjects", "study/trials.py")


def run_study(
    everyone: Sequence[Participant],
    stages: Stages,
    *,
    trials: int,
    seed: int,
    live: Participant | None = None,
    clock: bool = False,
    processes: int = 1,
) -> Study:
    """Evaluate and analyse everyone, and read what was written; what is done already is not done again.

    clock: whether to intervene, too, in the agents that are looked at closely. processes: in which to do so, with one
    thread each; the files are the same.
    """
    groups = families(everyone)
    close = compared(groups)
    jobs = [(each, group in close) for group in groups for each in group.members]
    others = [
        get_context("spawn").Process(
            target=study_apart, args=(jobs[first::processes], stages, trials, seed, clock), daemon=True
        )
        for first in range(1, min(processes, len(jobs)))
    ]
    for process in others:
        process.start()
    if others:
        study_some(jobs[::processes], stages, trials, seed, clock)
    for process in others:
        process.join()
    # Nearly all is done now. If one of the others could not do something, this process does it, or says why.
    written = [study_family(group, stages, trials, seed, group in close) for group in groups]
    if clock:
        for each in (member for group in close for member in group.members if member.path is not None):
            study_interventions(each, stages, seed)
    watched = None if live is None else study_live(live, stages)
    task = everyone[0].task
    facts = Facts(
        task=task.name,
        intervals=tuple(sorted(task.intervals)),
        tolerance=task.base_tolerance,
        trials=trials,
        seed=seed,
        families=tuple(written),
        live=watched,
        versions=tuple((name, str(value)) for name, value in versions().items() if name != "started"),
    )
    write_text(stages.folder / FACTS, to_json(facts))
    study = read_study(stages.folder)
    if all(found.production is None for found in study.findings.values()):
        raise ValueError(f"nobody answered Set in {trials} trials each; there is nothing to report yet, train longer")
    return study


def study_some(jobs: Sequence[tuple[Participant, bool]], stages: Stages, trials: int, seed: int, clock: bool) -> None:
    """All stages of some participants, each with whether it is looked at closely."""
    use_one_thread()
    keep_freed_memory()
    for each, closely in jobs:
        study_one(each, stages, trials, seed, closely)
        if clock and closely and each.path is not None:
            study_interventions(each, stages, seed)


def study_apart(jobs: Sequence[tuple[Participant, bool]], stages: Stages, trials: int, seed: int, clock: bool) -> None:
    """The same in another process. What goes wrong there goes wrong again in the first, which says so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first
    with suppress(Exception):
        study_some(jobs, stages, trials, seed, clock)


def study_family(group: Group, stages: Stages, trials: int, seed: int, closely: bool) -> Family:
    """Trials and results of every member, and the family's learning curve."""
    members = tuple(
        Member(each.name, each.config.seed, each.frames, each.minutes, study_one(each, stages, trials, seed, closely))
        for each in group.members
    )
    first = group.members[0]
    return Family(
        name=group.name,
        controller=group.controller,
        trained=first.path is not None,
        recurrent=group.controller in CONTROLLERS and CONTROLLERS[group.controller].recurrent,
        units=first.config.agent.units if first.path is not None else 0,
        horizon=group.horizon,
        compared=closely,
        members=members,
        settings=settings_beside_the_papers(first),
        learning=study_learning(group.name, group.members, stages),
    )


def study_one(each: Participant, stages: Stages, trials: int, seed: int, closely: bool) -> str:
    """Trials, recordings and results of one participant; returns the results' fingerprint."""
    inputs = [each.weights, each.config.to_json(), trials, seed, code(*MADE_WITH)]
    recorded = closely and each.path is not None
    probed = closely and each.person is None  # a person's trials are there already
    table, recording = f"trials/{each.name}.parquet", f"recordings/{each.name}.zarr.zip"
    probes, untrained = f"trials/{each.name}-probes.parquet", f"recordings/{each.name}-untrained.zarr.zip"
    folder = stages.folder
    before = [
        stages.run(
            f"trials of {each.name}",
            [*inputs, recorded],
            [table, recording] if recorded else [table],
            lambda part: make_trials(
                each, each.task, trials, seed, part / table, part / recording if recorded else None
            ),
        )
    ]
    if probed:
        task = with_probes(each.task)
        before.append(
            stages.run(
                f"trials of {each.name} at intervals never trained",
                [*inputs, task.probe_intervals, PROBE_PROBABILITY],
                [probes],
                lambda part: make_trials(each, task, trials, seed + 1, part / probes, None),
            )
        )
    if recorded:

        def replay(part: Path) -> None:
            (part / untrained).parent.mkdir()
            record_untrained(each, folder / recording, part / untrained)

        before.append(stages.run(f"{each.name} before training, shown the same", [before], [untrained], replay))

    def analyse(part: Path) -> None:
        result = find(
            each.name,
            each.task,
            read_trials(folder / table),
            read_trials(folder / probes) if probed else None,
            read_recording(folder / recording) if recorded else None,
            read_recording(folder / untrained) if recorded else None,
            closely=closely,
        )
        (part / "results").mkdir()
        write_text(part / results_path(each.name), to_json(result))

    return stages.run(
        f"results of {each.name}",
        [before, code("analysis", "study/findings.py"), closely],
        [results_path(each.name)],
        analyse,
    )


def study_interventions(each: Participant, stages: Stages, seed: int) -> None:
    """Where is the clock? An agent that hardly answers is passed over."""
    inputs = [
        each.weights,
        each.config.to_json(),
        FRAMES,
        seed,
        code(*MADE_WITH, "analysis", "study/clock.py", "study/clock_battery.py"),
    ]
    outputs = [table_path(each.name), clock_path(each.name)]
    try:
        stages.run(
            f"interventions on {each.name}",
            inputs,
            outputs,
            partial(study_clock_into, each, seed),
        )
    except ValueError as reason:
        stages.report(f"no interventions on {each.name}: {reason}")


def study_clock_into(each: Participant, seed: int, part: Path) -> None:
    study_clock(str(each.path), part, name=each.name, seed=seed)


def study_live(each: Participant, stages: Stages) -> Live:
    """A training of which only the curve is shown."""
    learning = study_learning(LIVE, (each,), stages)
    if learning is None:
        raise ValueError(f"{each.asked} has no learning curve yet; train it for longer")
    return Live(each.controller, each.config.seed, each.frames, each.minutes, learning)


def study_learning(name: str, members: Sequence[Participant], stages: Stages) -> str | None:
    """Write the learning curve over the seeds that have metrics; its fingerprint, or None if no seed has enough."""
    tables = [enough for member in members if (enough := curve_columns(member.metrics)) is not None]
    if not tables:
        return None

    def make(part: Path) -> None:
        (part / "results").mkdir()
        write_text(part / learning_path(name), to_json(find_learning(tables)))

    inputs = [fingerprint([table.rows() for table in tables]), code("analysis")]
    return stages.run(f"learning curve of {name}", inputs, [learning_path(name)], make)
