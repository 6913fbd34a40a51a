"""Verify everything in a run's folder: what is damaged, and what can be recovered. Resuming does the cheap part."""

from collections.abc import Callable, Iterator
from pathlib import Path

from gnomon.agent.agent import Agent
from gnomon.config import RunConfig, read_config
from gnomon.declared import parse_json, read_object
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.build import build_agent
from gnomon.records.contents import (
    SET_ASIDE,
    TRIALS,
    Finding,
    findings,
    part_name,
    part_number,
    records_without_checkpoint,
)
from gnomon.records.recordings import read_recording
from gnomon.records.runs import RunFolder, Status, Versions, read_part
from gnomon.records.trials import read_trials
from gnomon.saving.checkpoint import Checkpoint, DamagedCheckpoint, numbered, read_checkpoint, unnest
from gnomon.saving.restore import check_settings, load_weights

Found = Iterator[Finding]


def check_run(run: Path) -> list[Finding]:
    """Everything in a run's folder that is not as it was written."""
    folder = RunFolder(run)
    folder.require()
    checkpoints, found = read_checkpoints(folder)
    newest = checkpoints[0] if checkpoints else None
    found += config_findings(folder, newest)
    found += json_findings(folder)
    if newest is not None:
        found += findings(run, newest.known())
    elif records := records_without_checkpoint(run, folder.read_status().get("frames"), published=False):
        found.append(Finding(folder.checkpoints, f"no whole checkpoint, but {records}", "put it back from a copy"))
    known = {str(finding.path) for finding in found}
    found += [each for each in table_findings(folder, newest) if str(each.path) not in known]
    found += evaluation_findings(run / "evaluation")
    aside = sorted(path.name for path in (run / SET_ASIDE).glob("*"))
    if aside:
        found.append(Finding(run / SET_ASIDE, f"{len(aside)} files set aside before ({aside[0]}, ...)", damage=False))
    return found


def read_checkpoints(folder: RunFolder) -> tuple[list[Checkpoint], list[Finding]]:
    """The whole ones, newest first, and what is wrong with the others."""
    whole: list[Checkpoint] = []
    found: list[Finding] = []
    for path in numbered(folder.checkpoints):
        try:
            whole.append(read_checkpoint(path))
        except DamagedCheckpoint as damage:
            found.append(Finding(path, str(damage).removeprefix(str(path)).strip(), "one before it may be whole"))
    for each, damaged in enumerate(found):
        before = [checkpoint.number for checkpoint in whole if checkpoint.number < int(damaged.path.name)]
        then = f"resuming goes on from checkpoint {before[0]}" if before else "no checkpoint before it is whole"
        found[each] = Finding(damaged.path, damaged.what, then)
    return whole, found


def config_findings(folder: RunFolder, newest: Checkpoint | None) -> Found:
    """The config, whether the checkpoint was made with it, and whether its weights fit."""
    try:
        config = read_config(folder.config)
    except (OSError, ValueError) as error:
        then = f"checkpoint {newest.number} has a copy (config in state.json)" if newest is not None else ""
        yield Finding(folder.config, without(folder.config, error), then)
        return
    if newest is None:
        return
    try:
        check_settings(config, newest, folder.config)
        load_weights(agent_of(config), unnest("agent", newest.tensors), folder.path)
    except ValueError as error:
        yield Finding(folder.config, without(folder.config, error))


def agent_of(config: RunConfig) -> Agent:
    return build_agent(config, Laboratory(config.task, config.optics))


def json_findings(folder: RunFolder) -> Found:
    """versions.json and status.json."""
    for name, kind in (("versions.json", Versions), ("status.json", Status)):
        path = folder.path / name
        if path.exists():
            yield from attempt(path, lambda path=path, kind=kind: read_object(path, kind), "the run can go on without")


def table_findings(folder: RunFolder, newest: Checkpoint | None) -> Found:
    """Whether every part of the trial table can be read, and has its rows."""
    parts = newest.known().parts if newest is not None else {}
    for path in sorted((folder.path / TRIALS).glob("*.parquet")):
        number = part_number(path)
        if number is None:
            continue
        try:
            rows = read_part(path).height
        except (OSError, ValueError) as error:
            yield Finding(path, without(path, error), "put it back from a copy")
            continue
        if number in parts and rows != parts[number]["rows"]:
            yield Finding(folder.path / TRIALS / part_name(number), f"{rows} rows of {parts[number]['rows']}")


def evaluation_findings(folder: Path) -> Found:
    """The tables, notes and recordings of the run's evaluations."""
    readers: dict[str, Callable[[Path], object]] = {
        "trials.parquet": read_trials,
        "evaluation.json": lambda path: parse_json(path.read_bytes()),
        "recording.zarr.zip": read_recording,
    }
    for name, read in readers.items():
        for path in sorted(folder.rglob(name)):
            yield from attempt(path, lambda path=path, read=read: read(path), "evaluate again to replace it")


def attempt(path: Path, read: Callable[[], object], then: str) -> Found:
    """A finding if a file cannot be read."""
    try:
        read()
    except (OSError, ValueError) as error:
        yield Finding(path, without(path, error), then)


def without(path: Path, error: Exception) -> str:
    """What an error says, without the path that it begins with."""
    return " ".join(str(error).removeprefix(str(path)).lstrip(": ").split())
