"""The examples run, and what they print is true."""

import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from small_run import CONFIG, FRAMES_PER_ROUND
from torch import Tensor

from gnomon.learn.loop import Limits, start
from gnomon.subjects.scripted import PerfectSubject

EXAMPLES = Path(__file__).parents[1] / "examples"

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
