"""Where is the clock? The battery of interventions on one agent, from its weights to files.

clock/NAME.parquet   trials of every arm
clock/NAME.json      what they show (`ClockFindings`)
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import xarray as xr

from gnomon.analysis.clock import Clock, clock
from gnomon.analysis.clock_dynamics import GAZE, Scaling, scaling
from gnomon.analysis.results import from_json, to_json
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import PAPER, ReadySetGo
from gnomon.published.agents import find_agent, load_agent
from gnomon.records.runs import write_text
from gnomon.records.trials import write_trials
from gnomon.study.clock_battery import agent_subject, run_battery, scripted_clock
from gnomon.study.threads import use_one_thread
from gnomon.subjects.clocks import CLOCKS
from gnomon.subjects.evaluation import Report

FRAMES = 2_000  # in each lane: about nine trials
FOLDER = "clock"


@dataclass(frozen=True, eq=False)
class ClockFindings:
    """What interventions show about one subject."""

    name: str
    controller: str  # of a scripted clock: its name
    memory: bool  # whether it has a state that can be changed
    step: float  # degrees of one step of the gaze
    frames: int  # in each lane
    seed: int
    clock: Clock
    scaling: Scaling | None  # of the units, None if too few trials were answered
    gaze_scaling: Scaling | None  # of the gaze


def clock_name(asked: str) -> str:
    """What a subject is called in files and figures; raises if there is none such."""
    if asked in CLOCKS:
        return asked
    folder = find_agent(Path(asked))
    if not folder.exists():
        raise FileNotFoundError(
            f"there is no agent {asked}; name a run's folder, published/NAME, or a scripted clock ({', '.join(CLOCKS)})"
        )
    return folder.resolve().name


def study_clock(
    asked: str,
    folder: Path,
    *,
    name: str | None = None,
    frames: int = FRAMES,
    seed: int = 1,
    report: Report = lambda done, wanted: None,
) -> ClockFindings:
    """Run the battery on an agent or a scripted clock, and write its two files into FOLDER/clock."""
    name = name or clock_name(asked)
    if asked in CLOCKS:
        controller, task, optics, make = name, PAPER, OpticsConfig(), scripted_clock(CLOCKS[asked])
    else:
        agent, config = load_agent(Path(asked))
        if not isinstance(config.task, ReadySetGo):
            raise ValueError(f"{asked} does {config.task.name}; the battery is for {ReadySetGo.name}")
        controller, task, optics = config.agent.controller, config.task, config.optics
        make = agent_subject(agent.cpu(), seed + 3)  # where the battery's laboratory is
    use_one_thread()
    battery = run_battery(make, task, optics, frames_each=frames, seed=seed, report=report)
    control = battery.trials.filter(pl.col("arm") == "control")
    found = ClockFindings(
        name=name,
        controller=controller,
        memory="state" in battery.trials["what"],
        step=optics.step_angle,
        frames=frames,
        seed=seed,
        clock=clock(battery.trials),
        scaling=scaling_if_any(battery.recording, control, None),
        gaze_scaling=scaling_if_any(battery.recording, control, GAZE),
    )
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    write_trials(battery.trials, folder / table_path(name))
    write_text(folder / clock_path(name), to_json(found))
    return found


def scaling_if_any(recording: xr.Dataset, trials: pl.DataFrame, units: str | None) -> Scaling | None:
    """None where too few trials were answered late enough."""
    try:
        return scaling(recording, trials, units)
    except ValueError:
        return None


def table_path(name: str) -> str:
    return f"{FOLDER}/{name}.parquet"


def clock_path(name: str) -> str:
    return f"{FOLDER}/{name}.json"


def read_clock(folder: Path, name: str) -> ClockFindings | None:
    """What was found about a subject, None if the battery has not been run."""
    path = folder / clock_path(name)
    return from_json(ClockFindings, path.read_text()) if path.exists() else None
