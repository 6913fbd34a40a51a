"""The examples run, and what they print is true."""

import importlib.util
import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray
from PIL import Image
from small_run import CONFIG, FRAMES_PER_ROUND
from torch import Tensor

from gnomon.learn.loop import Limits, start
from gnomon.records.metrics import append_metrics
from gnomon.records.recordings import write_recording
from gnomon.records.trials import write_trials
from gnomon.subjects.scripted import PerfectSubject

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

Captured = pytest.CaptureFixture[str]


def test_agent_to_figure(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = start(CONFIG, tmp_path / "small")
    trainer.run(Limits(frames=FRAMES_PER_ROUND))
    script = EXAMPLES / "agent_to_figure.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(trainer.folder.path), "60", str(tmp_path / "drawn" / "figure")])
    names = runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert f"{trainer.folder.path}: lstm, 16 units, trained on ready_set_go\n" in printed
    assert f"figure: {tmp_path / 'drawn' / 'figure.png'}\n" in printed
    assert names["done"].trials.height == 60
    with Image.open(tmp_path / "drawn" / "figure.png") as image:
        assert image.size[0] > image.size[1] > 300  # two panels side by side
        assert len(image.convert("RGB").getcolors(1 << 20) or ()) > 10


def test_agent_to_figure_wants_a_published_agent_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def load_nothing(path: Path) -> None:
        asked.append(path)
        raise FileNotFoundError

    monkeypatch.setattr("gnomon.published.agents.load_agent", load_nothing)
    monkeypatch.setattr(sys, "argv", ["kernel.py", "-f", "connection.json"])  # as in a notebook
    with pytest.raises(FileNotFoundError):
        exec((EXAMPLES / "agent_to_figure.py").read_text(encoding="utf-8"), {})
    assert asked == [Path("published/lstm-0")]


@pytest.fixture(scope="module")
def other_library() -> ModuleType:
    spec = importlib.util.spec_from_file_location("other_library", EXAMPLES / "other_library.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_other_library_runs(other_library: ModuleType, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_library, "LANES", 16)
    other_library.main(updates=2, seed=0)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].strip() for line in printed[:3]] == ["at random", "update 1", "update 2"]
    assert printed[3].startswith("It earns ")
    assert printed[4].startswith("Slope of mean t_p over t_s: ")
    assert len(printed) == 5


def test_other_library_counts_what_happened(
    other_library: ModuleType, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The perfect subject answers every trial right, also the last of an episode; the report must say so."""
    monkeypatch.setattr(other_library, "LANES", 8)
    monkeypatch.setitem(other_library.EASY, "trials_per_episode", 2)
    lanes = other_library.Lanes(seed=0)
    subject = PerfectSubject(lanes.env.laboratory)
    ends = 0
    for _ in range(300):
        _, goes_on = lanes.step(subject.act().action)
        ends += int((1 - goes_on).sum())
    answered = sum(map(len, lanes.productions.values()))
    assert ends > 10
    assert lanes.rewards == lanes.trials == answered >= 2 * ends
    rate, means = lanes.report("perfect")
    assert means == [5.0, 20.0]
    assert rate == pytest.approx(1000 * answered / (300 * 8))
    assert f"perfect: {rate:5.2f} rewards, {rate:5.2f} trials per 1,000 frames" in capsys.readouterr().out
    assert (lanes.frames, lanes.rewards, lanes.trials) == (0, 0.0, 0)


class Delayed:
    """Sixteen lanes; a picture tells what to do now, and each third frame pays for that of two frames before."""

    def __init__(self) -> None:
        self.frame, self.chosen = 0, torch.zeros(16)
        self.show()

    def show(self) -> None:
        self.pixels = torch.zeros(16, 1, 3, 3, dtype=torch.uint8)
        self.pixels[:, :, self.frame % 3] = 255

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        if self.frame % 3 == 0:
            self.chosen = (actions == 2).float()
        reward = self.chosen if self.frame % 3 == 2 else torch.zeros(16)
        goes_on = torch.full((16,), float(self.frame % 3 != 2))
        self.frame += 1
        self.show()
        return reward, goes_on


def test_other_library_learns_from_a_later_reward(other_library: ModuleType) -> None:
    torch.manual_seed(0)
    lanes = Delayed()
    network = other_library.ActorCritic(inputs=9, actions=3)
    optimiser = torch.optim.Adam(network.parameters(), other_library.LEARNING_RATE)
    for _ in range(30):
        other_library.learn(lanes, network, optimiser)
    shown = torch.zeros(3, 1, 3, 3, dtype=torch.uint8)
    shown[range(3), :, range(3)] = 255
    logits, values = network(shown)
    assert logits.softmax(1)[0, 2] > 0.9
    # Two frames, one frame and no frame before a sure reward that ends the episode.
    expected = other_library.DISCOUNT ** torch.tensor([2.0, 1.0, 0.0])
    torch.testing.assert_close(values.detach(), expected, atol=0.1, rtol=0)


def test_what_the_reward_asks_for() -> None:
    names = runpy.run_path(str(EXAMPLES / "what_the_reward_asks_for.py"))
    play, returns = names["play"], names["returns"]
    assert play(0, 0.0, episodes=50)[1:] == (1.0, 1.0)
    assert play(-7, 0.0, episodes=50)[1:] == (1.0, 1.0)
    _, rewarded, within = play(-12, 0.0, episodes=200)  # good for the two lenient trials at an interval, and no more
    assert within == 0.0
    assert 0.3 < rewarded < 0.5
    assert play(-5, 1.0, episodes=500)[0] > play(0, 1.0, episodes=500)[0]  # early pays
    assert play(-10, 4.0, episodes=500)[0] < play(-2, 4.0, episodes=500)[0]  # but not too early

    one = np.array([[1.0], [1.0]])
    value = returns(one, 10 * one, 100 * one)  # two trials: 10 frames to the reward, 100 to the next Set
    np.testing.assert_allclose(value[:, 0], [0.99**10 * (1 + 0.99**100 * 0.99**10), 0.99**10])


def test_what_an_agent_without_memory_learns() -> None:
    names = runpy.run_path(str(EXAMPLES / "what_an_agent_without_memory_learns.py"))
    logits = np.random.default_rng(0).normal(scale=0.3, size=(4, names["FARTHEST"] + 1, 3))

    def expected_reward(logits: NDArray[np.float64]) -> float:
        _, entered = names["visits"](names["softmax"](logits), names["screens"]())
        return float((entered * names["rewards"]()).sum(0).mean())

    # With whole returns and no discount the ascent is the gradient of the expected reward of a trial.
    whole = names["Setting"](unroll=10**9, discount=1.0)
    ascent, values, trial = names["gradient"](logits, np.zeros(logits.shape[:2]), 0.0, whole)
    assert trial == pytest.approx(expected_reward(logits))
    for entry in [(0, 10, 0), (0, 12, 2), (1, 10, 2), (2, 9, 1), (3, 5, 0)]:
        step = np.zeros_like(logits)
        step[entry] = 1e-4
        slope = (expected_reward(logits + step) - expected_reward(logits - step)) / 2e-4
        assert ascent[entry] == pytest.approx(slope, rel=1e-4)
    # Returns that are cut at every frame are the values they are cut with.
    cut = names["returns"](names["softmax"](logits), names["screens"](), values, 0.0, names["Setting"](unroll=2))
    np.testing.assert_allclose(cut[200, 0, 5, 1], 0.99 * values[names["GO"], 5])

    means, within = names["learn"](names["Setting"](unroll=400), updates=15)
    assert means.shape == (10,)
    assert 0.05 < within < 1


def test_how_noisy_the_gradient_is_separates_signal_from_noise() -> None:
    example = runpy.run_path(str(EXAMPLES / "how_noisy_the_gradient_is.py"))
    count, weights = 400, 50
    generator = torch.Generator().manual_seed(0)
    signal = torch.zeros(len(example["LAMBDAS"]), weights)
    signal[:, 0] = 2.0
    signal[1] *= -1.0  # leads astray
    size = torch.ones(len(signal), 1)
    size[2] = 0.5  # quieter
    batches = signal + size * torch.randn(count, len(signal), weights, generator=generator)
    first, astray, quieter = example["compare"](batches)[:3]
    assert first.signal == pytest.approx(2.0, abs=0.15)
    assert first.noise == pytest.approx(weights**0.5, rel=0.05)
    assert (first.cosine, first.gain) == (pytest.approx(1.0, abs=0.1), pytest.approx(1.0))
    assert astray.cosine == pytest.approx(-1.0, abs=0.1)
    assert astray.gain < -0.8
    assert quieter.gain == pytest.approx((weights + 4) / (weights / 4 + 4), rel=0.2)


def test_how_noisy_the_gradient_is_reads_a_run(tmp_path: Path, capsys: Captured) -> None:
    trainer = start(CONFIG, tmp_path / "small")
    trainer.run(Limits(frames=FRAMES_PER_ROUND))
    example = runpy.run_path(str(EXAMPLES / "how_noisy_the_gradient_is.py"))
    rows = example["main"](trainer.folder.path, 2)
    assert [row.trace_decay for row in rows] == list(example["LAMBDAS"])
    assert all(row.noise > 0 for row in rows)
    assert "lambda   signal    noise" in capsys.readouterr().out


def a_run(folder: Path, rewarded: list[float]) -> None:
    """A folder with nothing but a config and metrics."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(CONFIG.to_json())
    rows = [
        {"round": i, "frames": 1_000_000 * (i + 1), "minutes": float(i), "rewarded": share, "criterion": share / 2}
        for i, share in enumerate(rewarded)
    ]
    append_metrics(folder / "metrics.jsonl", rows)


def test_what_each_part_is_worth(tmp_path: Path, capsys: Captured) -> None:
    a_run(tmp_path / "runs" / "lstm-1", [0.1, 0.6, 0.4, 0.9])
    a_run(tmp_path / "runs" / "lstm-0", [0.2, 0.3, 0.5, 0.8])
    a_run(tmp_path / "runs" / "lstm_without_chrono-0", [0.1, 0.4, 0.2, 0.3])
    a_run(tmp_path / "runs" / "lstm_plain-0", [0.0, 0.1, 0.1, 0.0])
    a_run(tmp_path / "runs" / "lstm_plain_with_value_network-0", [0.0, 0.1, 0.2, 0.2])
    (tmp_path / "runs" / "begun-0").mkdir()
    (tmp_path / "runs" / "begun-0" / "config.json").write_text(CONFIG.to_json())  # nothing is known of it yet
    example = runpy.run_path(str(EXAMPLES / "what_each_part_is_worth.py"))
    example["main"](tmp_path / "runs", tmp_path / "figure")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert table[2:] == [
        ["lstm", "40 45", "80 90", "3.0 2.0", "0 20"],
        ["lstm_plain", "0", "0", "-", "10"],
        ["lstm_plain_with_value_network", "10", "20", "-", "0"],
        ["lstm_without_chrono", "15", "30", "-", "20"],
    ]
    words = (tmp_path / "figure.svg").read_text()
    assert all(label in words for label in ("without chrono", "lstm plain", "with value network"))
    with pytest.raises(SystemExit, match="has no run of a whole recipe"):
        example["main"](tmp_path / "runs" / "lstm-0", None)


def test_answers_by_condition(tmp_path: Path, capsys: Captured) -> None:
    for name, factor in (("lstm_20deg-0", 1.0), ("lstm_20deg-1", 1.2), ("feedforward_20deg-0", 0.5)):
        a_run(tmp_path / "runs" / name, [0.5, 0.5])
        t_s = np.repeat([20, 40], 6)
        trials = pl.DataFrame(
            {
                "task": "ready_set_go",
                "lane": np.arange(12) % 3,
                "sample_interval": t_s,
                "production_interval": (t_s * factor).round().astype(int),
                "outcome": "correct",
                **dict.fromkeys(("episode", "trial", "tolerance", "reward", "start_frame", "end_frame"), 0),
            }
        )
        write_trials(trials, tmp_path / "runs" / name / "evaluation" / "trials.parquet")
    silent = trials.with_columns(production_interval=None, outcome=pl.lit("timeout"))
    a_run(tmp_path / "runs" / "feedforward_fixed-0", [0.0, 0.0])
    write_trials(silent, tmp_path / "runs" / "feedforward_fixed-0" / "evaluation" / "trials.parquet")
    example = runpy.run_path(str(EXAMPLES / "answers_by_condition.py"))
    example["main"](tmp_path / "runs", tmp_path / "figure")
    *table, last = capsys.readouterr().out.splitlines()
    assert last.startswith("left out: feedforward_fixed-0: none of the 12 trials has a production interval")
    header, _, *rows = (line.strip("| ").split(" | ") for line in table)
    assert header == ["agent", "seeds", "within 8 (%)", "slope", "20", "40"]
    assert rows == [
        ["feedforward, 20deg", "1", "0 (0 to 0)", "0.50 (0.50 to 0.50)", "10", "20"],
        ["lstm, 20deg", "2", "75 (50 to 100)", "1.10 (1.00 to 1.20)", "22", "44"],
    ]
    assert "20deg" in (tmp_path / "figure.svg").read_text()
    with pytest.raises(SystemExit, match="has no evaluated runs"):
        example["main"](tmp_path, None)


@pytest.mark.parametrize("experiment", sorted((ROOT / "experiments" / "results").iterdir()), ids=lambda path: path.name)
def test_the_tables_of_the_experiments_are_those_of_their_trials(experiment: Path, capsys: Captured) -> None:
    runpy.run_path(str(EXAMPLES / "answers_by_condition.py"))["main"](experiment, None)
    _, _, *rows = capsys.readouterr().out.splitlines()
    documents = [line for page in (ROOT / "docs").glob("*.md") for line in page.read_text().splitlines()]
    assert rows
    for row in rows:
        cells = row.rstrip("| ").split(" | ")
        while cells[-1] == "-":
            del cells[-1]  # intervals that another agent of the same table was asked for
        assert any(line.strip().startswith(" | ".join(cells)) for line in documents), row


def test_how_much_room_is_used(tmp_path: Path, capsys: Captured) -> None:
    """One trial of eight frames between Ready and the response, two of them at the limit; all else is left out."""
    evaluation = tmp_path / "feedforward_20deg-0" / "evaluation"
    evaluation.mkdir(parents=True)
    config = replace(CONFIG, optics=replace(CONFIG.optics, gaze_step=20, gaze_limit=20.0))  # 9 steps of 2.11 degrees
    (evaluation / "evaluation.json").write_text(json.dumps({"config": json.loads(config.to_json())}))
    yaw = np.array([[19, 19, 19, 19, 0, 2.1, -4.2, -6.3, -19, -19, 8.4, 0, 19, 19]])
    frames = np.arange(yaw.size)[None]
    axes = ("lane", "frame")
    arrays = {"yaw": yaw, "pitch": yaw / 2, "episode": 0 * frames, "episode_frame": frames}
    write_recording(
        xr.Dataset({name: (axes, array) for name, array in arrays.items()}), evaluation / "recording.zarr.zip"
    )
    row = {"task": "ready_set_go", "outcome": "correct", "lane": 0, "episode": 0, "trial": 0, "tolerance": 8.0}
    row |= {"start_frame": 2, "ready_frame": 4, "set_frame": 8, "end_frame": 12, "reward": 1.0}
    write_trials(pl.DataFrame([row | {"sample_interval": 4, "production_interval": 4}]), evaluation / "trials.parquet")
    runpy.run_path(str(EXAMPLES / "how_much_room_is_used.py"))["main"]([evaluation])
    *_, last = capsys.readouterr().out.splitlines()
    assert last.strip("| ").split(" | ") == ["feedforward_20deg-0", "20", "5", "19", "25"]
