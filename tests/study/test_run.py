"""A study of tiny agents: every stage is a file, nothing is done twice, and what is read is what was written."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from tiny_study import EASY, SEED, TRIALS, light, tiny_runs, tiny_study

from gnomon.agent.controllers import CONTROLLERS
from gnomon.lab.tasks import PAPER
from gnomon.records.recordings import read_recording
from gnomon.records.trials import read_trials, write_trials
from gnomon.study import run
from gnomon.study.files import Study, read_study
from gnomon.study.participants import Participant, participants
from gnomon.study.stages import Stages
from gnomon.study.trials import lanes_for, scripted_trials, untrained_recording, with_probes


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    with light():
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return tiny_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def done(runs: list[str], tmp_path_factory: pytest.TempPathFactory) -> Study:
    return tiny_study(runs, tmp_path_factory.mktemp("out"))[0]


def test_every_stage_is_a_file(done: Study) -> None:
    for family in done.families:
        for member in family.members:
            table = read_trials(done.folder / "trials" / f"{member.name}.parquet")
            assert 0.8 * TRIALS < table.height == done.findings[member.name].n_trials <= TRIALS
            assert set(table["sample_interval"]) == set(EASY.intervals)
            assert (done.folder / "trials" / f"{member.name}-probes.parquet").exists() == family.compared
            for name in (member.name, f"{member.name}-untrained"):
                assert (done.folder / "recordings" / f"{name}.zarr.zip").exists() == family.compared
            result = done.findings[member.name]
            there = [result.population, result.untrained, result.gaze, result.observer]
            assert [each is not None for each in there] == [family.compared] * 4
    assert not list(done.folder.rglob("*.part"))


def test_what_is_read_says_who_took_part(done: Study) -> None:
    again = read_study(done.folder)
    assert again.facts == done.facts
    assert [family.name for family in again.compared] == ["lstm", "feedforward"]
    assert [family.recurrent for family in again.families] == [
        CONTROLLERS[family.controller].recurrent for family in again.families
    ]
    assert [member.seed for member in again.families[0].members] == [0, 1]
    assert again.facts.intervals == EASY.intervals
    assert again.live is not None
    assert set(again.learning) == {"lstm", "feedforward", "gru"}


def test_a_folder_without_a_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no study in"):
        read_study(tmp_path)


def test_results_are_those_of_the_trial_table(done: Study) -> None:
    table = read_trials(done.folder / "trials" / "feedforward-0.parquet")
    late = pl.col("production_interval") - pl.col("sample_interval")
    near = table.filter(pl.col("outcome").is_in(["correct", "wrong"]) & (late.abs() < 8)).height
    assert done.findings["feedforward-0"].share_within == pytest.approx(near / table.height)


def test_nothing_is_done_twice_and_what_is_lost_is_done_again(done: Study, runs: list[str]) -> None:
    everyone = participants(runs)

    def again() -> list[str]:
        stages = Stages(done.folder)
        run.run_study(everyone, stages, trials=TRIALS, seed=SEED, live=everyone[-1])
        return stages.made

    assert again() == []
    (done.folder / "trials" / "gru-0.parquet").unlink()
    assert again() == ["trials of gru-0"]


class Here:
    """A process that is none: it does its work when it is started."""

    shares: ClassVar[list[list[str]]] = []

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], daemon: bool) -> None:
        jobs, *given = args
        self.shares.append([each.name for each, _ in jobs])
        self.start = lambda: run.study_some(jobs, pickle.loads(pickle.dumps(given[0])), *given[1:])

    def join(self) -> None: ...


def test_several_processes_share_the_participants(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = scripted_trials("perfect", EASY, TRIALS, SEED)
    monkeypatch.setattr(run, "make_trials", lambda who, task, trials, seed, path, recording: write_trials(table, path))
    monkeypatch.setattr(run, "compared", lambda groups: ())
    monkeypatch.setattr(run, "get_context", lambda method: SimpleNamespace(Process=Here))
    stages, everyone = Stages(tmp_path), participants(runs)
    names = [each.name for each in everyone]
    run.run_study(everyone, stages, trials=TRIALS, seed=SEED, processes=3)
    assert Here.shares == [names[1::3], names[2::3]]
    assert [name for name in stages.made if name.startswith("trials")] == [f"trials of {name}" for name in names[::3]]
    assert {path.stem for path in (tmp_path / "trials").iterdir()} == set(names)


def test_other_weights_or_seeds_are_other_trials(
    done: Study, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = participants(runs[3:])[0]
    table = read_trials(done.folder / "trials" / "gru-0.parquet")
    monkeypatch.setattr(run, "make_trials", lambda who, task, trials, seed, path, recording: write_trials(table, path))
    stages = Stages(tmp_path)

    def made(who: Participant, trials: int, seed: int) -> list[str]:
        stages.made.clear()
        run.study_one(who, stages, trials, seed, closely=False)
        return list(stages.made)

    both = ["trials of gru-0", "results of gru-0"]
    assert made(each, 100, 1) == both
    assert made(each, 100, 1) == []
    assert made(each, 100, 2) == both
    assert made(each, 101, 2) == both
    assert made(replace(each, weights="others"), 101, 2) == both


def test_the_seed_in_the_middle_stands_for_its_family(done: Study) -> None:
    family = done.families[0]
    shares = {each.name: each.share_within for each in done.of(family)}
    assert done.middle(family).name == min(shares, key=lambda name: shares[name])  # of two, the lower


# Trials ---------------------------------------------------------------------------------------------------


def test_probes_lie_between_below_and_beyond_the_trained_intervals() -> None:
    task = with_probes(PAPER)
    assert task.probe_intervals == (15, 25, 35, 45, 55, 65, 75, 85, 95, 110, 120, 130, 140, 150)
    assert task.intervals == PAPER.intervals
    assert with_probes(replace(PAPER, intervals=(1, 2))).probe_intervals == (3, 4, 5, 6, 7)
    assert with_probes(replace(PAPER, intervals=(22, 30))).probe_intervals[0] == PAPER.flash + 1  # Ready is off by then


def test_lanes_do_whole_episodes() -> None:
    assert [lanes_for(PAPER, trials) for trials in (10, 100, 2000, 60_000)] == [10, 20, 40, 1200]
    table = scripted_trials("perfect", replace(EASY, trials_per_episode=6), 120, seed=1)
    assert table.filter(pl.col("trial") == 0).height == 20  # one in six, as in the task
    assert table["lane"].n_unique() == 20


def test_an_untrained_network_is_shown_what_the_agent_saw(done: Study, runs: list[str]) -> None:
    """These agents were never trained: the replay must give the very units that were recorded."""
    recorded = read_recording(done.folder / "recordings" / "lstm-0.zarr.zip")
    replayed = read_recording(done.folder / "recordings" / "lstm-0-untrained.zarr.zip")
    np.testing.assert_allclose(replayed["units_cell"], recorded["units_cell"], atol=2e-3)
    for name in ("episode", "episode_frame", "gaze_index"):
        np.testing.assert_array_equal(replayed[name].values, recorded[name].values)
    each = participants(runs[:1])[0]
    whitened = replace(each.config.agent, whitening=0.05)  # as an agent begins to learn, not as its weights are drawn
    for config in (replace(each.config, seed=99), replace(each.config, agent=whitened)):
        other = untrained_recording(replace(each, config=config), recorded)
        assert np.abs(other["units_cell"].values - recorded["units_cell"].values).max() > 0.01
