"""A study of tiny agents, from trials to the page: stages that resume, families, verdicts that follow from numbers."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small_run import CONFIG, TASK

from gnomon.analysis import observer_fit
from gnomon.analysis.results import from_json
from gnomon.config import RunConfig
from gnomon.lab.tasks import PAPER, CuedProduction
from gnomon.learn.loop import start
from gnomon.records.trials import read_trials, write_trials
from gnomon.report import claims, gallery, study
from gnomon.report.contents import contents, write_report
from gnomon.report.gallery import Gallery
from gnomon.report.page import render
from gnomon.report.participants import Participant, chiefs, families, participants
from gnomon.report.stages import Stages, fingerprint
from gnomon.report.study import Findings, Study, run_study, with_probes
from gnomon.subjects import evaluation

TRIALS, SEED = 100, 5
# Set comes soon, so that even a gaze that wanders at random answers it now and then.
EASY = replace(TASK, intervals=(2, 4, 6, 8), foreperiods=(1,), flash=1, trials_per_episode=8, episode_seconds=20)
TINY = replace(CONFIG, task=EASY)


def tiny_run(folder: Path, controller: str, seed: int, config: RunConfig = TINY) -> str:
    """A run whose agent knows nothing yet; its name as one types it."""
    agent = replace(config.agent, controller=controller)
    trainer = start(replace(config, agent=agent, seed=seed), folder / f"{controller}-{seed}")
    trainer.save()
    rows = [{"frames": 100 * n, "minutes": n / 10, "reward_rate": n / 8} for n in range(1, 5)]
    (trainer.folder.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / f"{controller}-{seed}")


@pytest.fixture(scope="module", autouse=True)
def light() -> Iterator[None]:
    """Two observers in place of six, fitted to few productions; pictures that are drawn but not rendered."""

    def save(figure: object, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        for suffix in (".png", ".svg"):
            path.with_name(path.name + suffix).write_text(f"a picture of {path.name}")

    def compare(trials: pl.DataFrame, intervals: Sequence[int]) -> observer_fit.Comparison:
        return observer_fit.compare(trials, (("bls", "discrete"), ("identity", "none")), intervals=intervals)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "save", save)
        patch.setattr(study, "compare", compare)
        patch.setattr(observer_fit, "MIN_PRODUCTIONS", 3)
        patch.setattr(evaluation, "FRAMES_PER_TRIAL", 600)  # a gaze that wanders for longer is not waited for
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [tiny_run(folder, *who) for who in (("lstm", 0), ("lstm", 1), ("feedforward", 0), ("gru", 0))]


@pytest.fixture(scope="module")
def done(runs: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Stages, str]:
    """A study, its stages and its page."""
    stages = Stages(tmp_path_factory.mktemp("out"))
    found = run_study(participants(runs), stages, trials=TRIALS, seed=SEED, live=participants(runs[3:])[0])
    return found, stages, render(contents(found, Gallery(stages), ["gnomon report ..."]))


# Stages ---------------------------------------------------------------------------------------------------


def writing(text: str, *names: str) -> Callable[[Path], None]:
    def make(part: Path) -> None:
        for name in names:
            (part / name).write_text(text)

    return make


def test_a_stage_is_done_once(tmp_path: Path) -> None:
    said: list[str] = []
    first = Stages(tmp_path, said.append)
    before = first.run("s", [1], ["a"], writing("one", "a"))
    assert (first.run("s", [1], ["a"], writing("two", "a")), first.made) == (before, ["s"])
    later = Stages(tmp_path, said.append)
    assert later.run("s", [1], ["a"], writing("three", "a")) == before
    assert (later.made, (tmp_path / "a").read_text(), said) == ([], "one", ["s"])


def test_a_stage_is_redone_for_other_inputs_or_lost_files(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    before = stages.run("s", [1], ["a", "b"], writing("one", "a", "b"))
    assert stages.run("s", [2], ["a", "b"], writing("two", "a", "b")) != before
    assert (tmp_path / "a").read_text() == "two"
    (tmp_path / "b").unlink()
    stages.run("s", [2], ["a", "b"], writing("three", "a", "b"))
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("three", "three")


def test_a_stage_that_fails_leaves_the_old_files_and_no_record(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    stages.run("s", [1], ["a"], writing("one", "a"))

    def fail(part: Path) -> None:
        (part / "a").write_text("ha")
        raise ValueError("half-way")

    with pytest.raises(ValueError, match="half-way"):
        stages.run("s", [2], ["a"], fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "stages.json"]
    assert (tmp_path / "a").read_text() == "one"
    assert json.loads((tmp_path / "stages.json").read_text()) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from gnomon.report.stages import Stages
def make(part):
    (part / "a").write_text("ne")
    os.kill(os.getpid(), signal.SIGKILL)
Stages(Path(sys.argv[1])).run("s", [2], ["a"], make)
"""


def test_a_kill_leaves_whole_files(tmp_path: Path) -> None:
    Stages(tmp_path).run("s", [1], ["a"], writing("old", "a"))
    gone = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=300)
    assert gone.returncode == -signal.SIGKILL
    assert (tmp_path / "a").read_text() == "old"
    Stages(tmp_path).run("s", [2], ["a"], writing("new", "a"))
    assert (tmp_path / "a").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "stages.json"]


def test_new_files_never_pass_for_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped when the files are in their place and not recorded yet, then asked for the old ones."""
    stages = Stages(tmp_path)
    stages.run("s", [1], ["a"], writing("old", "a"))
    saves = iter([stages._save])
    monkeypatch.setattr(stages, "_save", lambda: next(saves)())
    with pytest.raises(StopIteration):
        stages.run("s", [2], ["a"], writing("new", "a"))
    assert (tmp_path / "a").read_text() == "new"
    Stages(tmp_path).run("s", [1], ["a"], writing("old", "a"))
    assert (tmp_path / "a").read_text() == "old"


def test_fingerprints_tell_inputs_apart() -> None:
    assert fingerprint("a", 1) == fingerprint("a", 1)
    assert len({fingerprint("a", 1), fingerprint("a", 2), fingerprint("b", 1), fingerprint(["a", 1])}) == 4


# Participants ---------------------------------------------------------------------------------------------


def test_seeds_are_a_family_and_other_settings_are_not(runs: list[str]) -> None:
    every = families(participants([*runs, "noisy"]))
    named = {family.name: [member.name for member in family.members] for family in every}
    assert named == {
        "lstm": ["lstm-0", "lstm-1"], "feedforward": ["feedforward-0"], "gru": ["gru-0"], "noisy": ["noisy"]
    }  # fmt: skip
    assert [family.name for family in chiefs(every)] == ["lstm", "feedforward"]
    assert [family.name for family in chiefs(every[2:])] == ["gru", "noisy"]


def test_families_of_one_name_keep_their_members_names(runs: list[str]) -> None:
    first, second = participants(runs[:2])
    wider = replace(second, config=replace(second.config, learning=replace(second.config.learning, discount=0.9)))
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


def test_probes_lie_between_below_and_beyond_the_trained_intervals() -> None:
    task = with_probes(PAPER)
    assert task.probe_intervals == (5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 110, 120, 130, 140, 150)
    assert task.intervals == PAPER.intervals
    assert with_probes(replace(PAPER, intervals=(1, 2))).probe_intervals == (3, 4, 5, 6, 7)  # no interval of 0 frames


# The study ------------------------------------------------------------------------------------------------


def test_every_stage_is_a_file(done: tuple[Study, Stages, str]) -> None:
    found, stages, _ = done
    for family in found.families:
        close = family in found.chiefs
        for member in family.members:
            table = read_trials(stages.folder / "trials" / f"{member.name}.parquet")
            assert 0.8 * TRIALS < table.height == found.findings[member.name].n_trials <= TRIALS
            assert set(table["sample_interval"]) == set(EASY.intervals)
            assert (stages.folder / "trials" / f"{member.name}-probes.parquet").exists() == close
            assert (stages.folder / "recordings" / f"{member.name}.zarr.zip").exists() == close
            result = from_json(Findings, (stages.folder / "results" / f"{member.name}.json").read_text())
            assert [result.population is not None, result.gaze is not None, result.observer is not None] == [close] * 3
    assert not list(stages.folder.rglob("*.part"))


def test_results_are_those_of_the_trial_table(done: tuple[Study, Stages, str]) -> None:
    found, stages, _ = done
    table = read_trials(stages.folder / "trials" / "feedforward-0.parquet")
    late = pl.col("production_interval") - pl.col("sample_interval")
    near = table.filter(pl.col("outcome").is_in(["correct", "wrong"]) & (late.abs() < 8)).height
    assert found.findings["feedforward-0"].share_within == pytest.approx(near / table.height)


def test_numbers_on_the_page_are_the_results(done: tuple[Study, Stages, str]) -> None:
    found, _, html = done
    for name in ("lstm-0", "lstm-1", "feedforward-0"):
        result = found.findings[name]
        assert result.production is not None
        assert result.observer is not None
        assert result.population is not None
        rows = "".join(re.findall(rf'<th scope="row">{name}</th>.*', html))
        low, high = result.production.line.slope_interval
        assert f"<td>{result.production.line.slope:.2f} ({low:.2f} to {high:.2f})</td>" in rows.replace("-0.00", "0.00")
        assert f"<td>{result.observer.w_m:.3f} (" in rows
        decoder = result.population.decoder("set")
        assert f"<td>{decoder.absolute_error:.1f} ({decoder.chance_absolute_error:.1f})</td>" in rows
    shares = [100 * found.findings[name].share_within for name in ("lstm-0", "lstm-1")]
    assert f"{np.mean(shares):.0f} ± {np.std(shares, ddof=1):.0f}\N{NO-BREAK SPACE}%" in html


def test_the_page_is_whole_and_self_contained(done: tuple[Study, Stages, str]) -> None:
    found, stages, html = done
    sources = re.findall(r'<img src="([^"]{30})', html)
    assert len(sources) == len(list((stages.folder / "figures").glob("*.png"))) > 20
    assert all(source.startswith("data:image/") for source in sources)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', html)
    assert len(re.findall("<h2>", html)) == 12
    for claim in claims.claims(found):
        assert claim.subject in html
    assert len(html) < 6e6


def test_nothing_is_done_twice_and_what_is_lost_is_done_again(done: tuple[Study, Stages, str], runs: list[str]) -> None:
    _, stages, html = done

    def again(trials: int = TRIALS) -> tuple[list[str], str]:
        later = Stages(stages.folder)
        found = run_study(participants(runs), later, trials=trials, seed=SEED, live=participants(runs[3:])[0])
        return later.made, render(contents(found, Gallery(later), ["gnomon report ..."]))

    assert again() == ([], html)
    (stages.folder / "trials" / "gru-0.parquet").unlink()
    (stages.folder / "figures" / "gaze-lstm-1.png").unlink()
    made, page = again()
    assert made == ["trials of gru-0", "figure gaze-lstm-1"]
    assert page == html


def test_other_weights_or_seeds_are_other_trials(
    done: tuple[Study, Stages, str], runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = participants(runs[3:])[0]
    table = read_trials(done[1].folder / "trials" / "gru-0.parquet")
    monkeypatch.setattr(
        study, "make_trials", lambda who, task, trials, seed, path, recording: write_trials(table, path)
    )
    stages = Stages(tmp_path)

    def made(who: Participant, trials: int, seed: int) -> list[str]:
        stages.made.clear()
        study.study_one(who, stages, trials, seed, closely=False)
        return list(stages.made)

    both = ["trials of gru-0", "results of gru-0"]
    assert made(each, 100, 1) == both
    assert made(each, 100, 1) == []
    assert made(each, 100, 2) == both
    assert made(each, 101, 2) == both
    assert made(replace(each, weights="others"), 101, 2) == both


def test_too_few_trials_write_nothing(runs: list[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="trials is 99; a report needs at least 100"):
        write_report(runs, tmp_path / "out", trials=99, seed=0, commands=[])
    assert not (tmp_path / "out").exists()


# Verdicts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.8], "reproduced"),
        ([1.2, 1.0], "reproduced"),
        ([0.7, 0.85], "partly"),
        ([1.3], "partly"),
        ([0.4], "not reproduced"),
        ([float("nan")], "no data"),
        ([], "no data"),
    ],
)
def test_verdicts_follow_from_the_mean_over_seeds(values: list[float], verdict: str) -> None:
    assert claims.graded(values, claims.FOLLOWS, claims.SOMEWHAT) == verdict


def test_scripted_subjects_get_the_verdicts_they_deserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_now(*_: object, **__: object) -> None:
        raise ValueError("takes too long here")

    monkeypatch.setattr(study, "compare", not_now)
    found = run_study(participants(["perfect", "blind"]), Stages(tmp_path), trials=200, seed=1)
    verdicts = {claim.subject: claim.verdict for claim in claims.claims(found)}
    assert verdicts["perfect: learns"] == verdicts["perfect: between"] == verdicts["perfect: beyond"] == "reproduced"
    assert verdicts["blind: learns"] == verdicts["blind: between"] == verdicts["blind: beyond"] == "not reproduced"
    assert verdicts["perfect: spread"] == verdicts["perfect: observer"] == "no data"
    assert found.findings["perfect"].share_within == 1.0
    assert dict(found.findings["perfect"].missing)["scalar variability"].startswith("every sd")


def test_the_seed_in_the_middle_stands_for_its_family(done: tuple[Study, Stages, str]) -> None:
    found = done[0]
    family = found.families[0]
    shares = {each.name: each.share_within for each in found.of(family)}
    assert found.middle(family).name == min(shares, key=lambda name: shares[name])  # of two, the lower
