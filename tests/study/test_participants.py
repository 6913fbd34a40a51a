"""Who takes part: families, names, and clear words for those who cannot."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_study import TINY, tiny_runs

from gnomon.config import Loss, RunConfig
from gnomon.lab.laboratory import Laboratory
from gnomon.lab.tasks import CuedProduction, ReadySetGo
from gnomon.records.trials import take_trials
from gnomon.study.participants import compared, families, participants
from gnomon.study.settings import in_words, settings_beside_the_papers
from gnomon.subjects.scripted import NoisySubject


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return tiny_runs(tmp_path_factory.mktemp("runs"))


def test_seeds_are_a_family_and_other_settings_are_not(runs: list[str]) -> None:
    every = families(participants([*runs, "noisy"]))
    named = {family.name: [member.name for member in family.members] for family in every}
    assert named == {
        "lstm": ["lstm-0", "lstm-1"], "feedforward": ["feedforward-0"], "gru": ["gru-0"], "noisy": ["noisy"]
    }  # fmt: skip
    assert [family.name for family in compared(every)] == ["lstm", "feedforward"]
    assert [family.name for family in compared(every[2:])] == ["gru", "noisy"]


def test_people_are_always_looked_at_closely(runs: list[str], tmp_path: Path) -> None:
    laboratory = Laboratory(ReadySetGo(pause=5), seed=5)
    subject = NoisySubject(laboratory, 1)
    for _ in range(2_000):
        laboratory.step(subject.act().action)
    take_trials(laboratory.trials).with_columns(dropped_frames=0).write_csv(tmp_path / "people.csv")
    every = families(participants([str(tmp_path / "people.csv"), *runs]))
    assert [family.name for family in compared(every)] == ["lstm", "feedforward", "people"]
    assert [family.name for family in compared(every[:1])] == ["people"]


def test_a_short_horizon_never_stands_for_its_controller(runs: list[str]) -> None:
    first, second = participants(runs[:2])
    learning = replace(first.config.learning, loss=Loss(horizon=4))
    short = [replace(each, config=replace(each.config, learning=learning)) for each in (first, second)]
    short = [replace(each, config=replace(each.config, seed=number)) for number, each in enumerate(short)]
    every = families([*short, second])
    assert [family.horizon for family in every] == [4, None]
    assert compared(every) == every[1:]


def test_workers_make_no_other_family(runs: list[str]) -> None:
    first, second = participants(runs[:2])
    shared = replace(second.config.learning, workers=2)
    (family,) = families([first, replace(second, config=replace(second.config, learning=shared))])
    assert len(family.members) == 2


def test_families_of_one_name_keep_their_members_names(runs: list[str]) -> None:
    first, second = participants(runs[:2])
    wider = replace(
        second, config=replace(second.config, learning=replace(second.config.learning, loss=Loss(discount=0.9)))
    )
    assert [family.name for family in families([first, wider])] == ["lstm-0", "lstm-1"]


def test_weights_have_a_fingerprint_of_their_own(runs: list[str]) -> None:
    assert len({each.weights for each in participants(runs)}) == 4
    assert [p.weights for p in participants(runs)] == [p.weights for p in participants(runs)]


def test_bad_participants(runs: list[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run is named"):
        participants([])
    with pytest.raises(ValueError, match=r"lstm-0 is named twice"):
        participants([runs[0], runs[0]])
    with pytest.raises(FileNotFoundError, match=re.escape("there is no run nobody; name a run's folder")):
        participants(["nobody"])
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text(RunConfig(task=CuedProduction()).to_json())
    with pytest.raises(ValueError, match=r"several tasks \(.*lstm-0 ready_set_go, .*other cued_production\)"):
        participants([runs[0], str(other)])
    with pytest.raises(ValueError, match="a report is about ready_set_go; the task here is cued_production"):
        participants([str(other)])
    (other / "config.json").write_text(TINY.to_json())
    with pytest.raises(FileNotFoundError, match="there is no checkpoint"):
        participants([str(other)])


def test_settings_stand_beside_the_papers(runs: list[str]) -> None:
    (each,) = participants(runs[:1])
    settings = {setting.name.rpartition(".")[2]: setting for setting in settings_beside_the_papers(each)}
    assert (settings["retina"].value, settings["retina"].paper) == ("[8, 8]", "[72, 96]")
    assert (settings["units"].value, settings["units"].paper) == ("16", "128")
    assert "seed" not in settings
    assert settings_beside_the_papers(participants(["noisy"])[0]) == ()


def test_values_in_words() -> None:
    values = (None, True, False, (10, 0.5), 3_200_000, 1e-5, "cpu")
    assert [in_words(value) for value in values] == ["none", "on", "off", "[10, 0.5]", "3,200,000", "1e-05", "cpu"]
