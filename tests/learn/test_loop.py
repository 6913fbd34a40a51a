"""A run stops at its limits, and its scores and metrics are what they say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import CONFIG, FRAMES_PER_ROUND, WAITING, changed, limit

from gnomon.config import RunConfig
from gnomon.learn import scores
from gnomon.learn.build import stream
from gnomon.learn.loop import Limits, Trainer, resume, start
from gnomon.published.agents import load_agent
from gnomon.records.runs import RunFolder


def test_frames_of_the_schedule_limit_a_run_without_other_limits(tmp_path: Path) -> None:
    config = changed(schedule=replace(CONFIG.learning.schedule, frames=3 * FRAMES_PER_ROUND - 5))
    trainer = start(config, tmp_path / "run")
    assert trainer.run(Limits()) == "frames"
    assert trainer.rounds == 3
    status = trainer.folder.read_status()
    assert (status["state"], status["reason"], status["frames"]) == (
        "finished",
        "frames",
        3 * FRAMES_PER_ROUND,
    )


def test_minutes_limit_a_run_and_count_across_processes(tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run")
    minutes = Limits(frames=10**9, minutes=0.25 / 60)
    assert trainer.run(minutes) == "minutes"
    assert trainer.minutes_trained >= 0.25 / 60
    again, _ = resume(tmp_path / "run")
    assert again.run(minutes) == "minutes"
    assert again.rounds == trainer.rounds > 0


def test_the_criterion_stops_a_run_once_there_are_enough_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "RECENT_TRIALS", 12)
    trainer = start(CONFIG, tmp_path / "run")
    enough: list[bool] = []

    def report(row: dict[str, Any]) -> None:
        enough.append(len(finished(trainer)) >= 12)

    assert trainer.run(Limits(frames=200 * FRAMES_PER_ROUND, criterion=0.0), report) == "criterion"
    assert enough == [False] * (trainer.rounds - 1) + [True]
    assert trainer.run(Limits(frames=trainer.frames + 1, criterion=1.0)) == "frames"


def test_minutes_add_up_over_several_calls(tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(limit(2))
    before = trainer.minutes_trained
    trainer.run(limit(4))
    minutes = trainer.folder.read_metrics()["minutes"].to_list()
    assert minutes == sorted(minutes)
    assert minutes[-1] > before > 0


def test_a_run_of_a_config_alone_is_a_whole_run(tmp_path: Path) -> None:
    """Somebody copied a config, which leaves the number of workers open, into a new folder."""
    (tmp_path / "run").mkdir()
    open_config = replace(CONFIG, learning=replace(CONFIG.learning, workers=0))
    (tmp_path / "run" / "config.json").write_text(open_config.to_json())
    trainer, complaints = resume(tmp_path / "run")
    trainer.run(limit(1))
    assert complaints == []
    assert trainer.folder.threads() == torch.get_num_threads()
    assert load_agent(tmp_path / "run")[1].learning.workers == 1


def finished(trainer: Trainer) -> list[str]:
    """Outcomes of the trials since the last checkpoint that were not cut off."""
    outcomes = [outcome for table in trainer._trials for outcome in table["outcome"]]
    return [outcome for outcome in outcomes if outcome != "cut_off"]


def test_scores_are_shares_of_the_last_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "RECENT_TRIALS", 40)
    rows: list[dict[str, Any]] = []
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(limit(66), rows.append)
    table = [row for row in trainer.folder.read_trials().to_dicts() if row["outcome"] not in ("cut_off", "aborted")]
    assert len(table) > 50  # the oldest are gone
    recent = table[-40:]
    hits = [
        row["production_interval"] is not None and abs(row["production_interval"] - row["sample_interval"]) < 8
        for row in recent
    ]
    assert 0 < sum(hits) < 40
    assert rows[-1]["criterion"] == sum(hits) / 40
    assert rows[-1]["rewarded"] == sum(row["reward"] > 0 for row in recent) / 40
    for interval in (5, 10):
        own = [hit for hit, row in zip(hits, recent, strict=True) if row["sample_interval"] == interval]
        assert rows[-1][f"criterion_{interval}"] == sum(own) / len(own)


def test_a_line_of_metrics_is_the_mean_of_its_rounds(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(limit(6), rows.append)
    lines = trainer.folder.read_metrics().to_dicts()
    assert [line["round"] for line in lines] == [2, 4, 6]
    for line, two in zip(lines, (rows[:2], rows[2:4], rows[4:]), strict=True):
        assert (line["frames"], line["criterion"]) == (two[-1]["frames"], two[-1]["criterion"])
        for name in ("reward_rate", "entropy", "value_loss", "distinct", "gradient_norm"):
            assert line[name] == pytest.approx(sum(row[name] for row in two) / 2), name
        assert two[0]["entropy"] != two[1]["entropy"]


def test_a_round_goes_on_until_vision_has_learned(tmp_path: Path) -> None:
    """Batches of 80 from 32 lanes: the first after three unrolls, the next two after five and eight."""
    frames: list[int] = []
    start(WAITING, tmp_path / "run").run(limit(8), lambda row: frames.append(row["frames"]))
    assert frames == [unrolls * FRAMES_PER_ROUND for unrolls in (3, 5, 8)]


def test_a_folder_that_holds_a_run_is_not_touched(tmp_path: Path) -> None:
    folder = start(CONFIG, tmp_path / "run").folder
    other = replace(CONFIG, seed=99)
    with pytest.raises(ValueError, match="holds a run already"):
        start(other, folder.path)
    assert RunConfig.from_json(folder.config.read_text()) == CONFIG
    with pytest.raises(FileNotFoundError, match=r"not a run: it has no config\.json"):
        resume(tmp_path)


def test_seeds_and_purposes_have_streams_of_their_own() -> None:
    streams = {stream(seed, purpose) for seed in range(50) for purpose in ("laboratory", "actions")}
    assert len(streams) == 100
    assert stream(0, "actions") == 49193793476549900  # in every process, on every machine


def test_a_run_that_is_done_is_left_as_it_is(tmp_path: Path) -> None:
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(Limits(frames=2 * FRAMES_PER_ROUND))
    before = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    status = trainer.folder.read_status()
    again, _ = resume(tmp_path / "run")
    assert again.run(Limits(frames=FRAMES_PER_ROUND)) == "frames"
    assert sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir()) == before
    assert again.folder.read_status() == status


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"frames": -5}, "frames is -5; a limit must be above 0"),
        ({"minutes": 0.0}, "minutes is 0.0; a limit must be above 0"),
        ({"criterion": 5.0}, "criterion is 5.0; it is a share"),
    ],
)
def test_a_limit_that_makes_no_sense_is_named(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Limits(**limits)


def test_the_reward_rate_is_the_tasks_own(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    trainer = start(CONFIG, tmp_path / "run")
    trainer.run(limit(66), rows.append)
    earned = trainer.folder.read_trials()["reward"].sum()
    assert earned > 0
    assert sum(row["reward_rate"] for row in rows) * FRAMES_PER_ROUND / 1000 == pytest.approx(earned)


def test_bfloat16_needs_a_processor_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = changed(precision="bfloat16")
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx2": True})
    with pytest.raises(ValueError, match="this processor has no instructions for it; choose 'single'"):
        Trainer(config, RunFolder(tmp_path / "run"))
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx512_bf16": True})
    trainer = Trainer(config, RunFolder(tmp_path / "run"))
    assert trainer.agent.controller.products is trainer.agent.vision.products is torch.bfloat16
    assert trainer.round()["gradient_norm"] > 0
