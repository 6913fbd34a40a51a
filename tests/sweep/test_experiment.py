"""An experiment file becomes trainings, and a mistake in it is named."""

import re
from pathlib import Path

import pytest
from small_experiment import SMALL, toml
from small_run import CONFIG

from gnomon.sweep.experiment import read_experiment

PROJECT = Path(__file__).parents[2]


# Reading an experiment.


def test_every_setting_can_be_written_down(tmp_path: Path) -> None:
    path = tmp_path / "all.toml"
    path.write_text(toml(SMALL) + '[[run]]\nname = "small"\n')
    (training,) = read_experiment(path)
    assert (training.name, training.config) == ("small-3", CONFIG)


def test_a_run_has_the_shared_settings_unless_it_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(
        """
        learning.schedule.frames = 500
        learning.batch = 7
        units = 64
        [[run]]
        name = "b"
        seeds = [4, 2]
        [[run]]
        name = "a"
        controller = "gru"
        units = 32
        learning.batch = 9
        learning.optimiser.clip_norm = 3
        """
    )
    trainings = read_experiment(path)
    assert [training.name for training in trainings] == ["b-4", "b-2", "a-0"]  # as listed
    assert [training.config.seed for training in trainings] == [4, 2, 0]
    agents = [(training.config.agent.controller, training.config.agent.units) for training in trainings]
    assert agents == [("lstm", 64), ("lstm", 64), ("gru", 32)]
    assert [training.config.learning.batch for training in trainings] == [7, 7, 9]
    assert [training.config.learning.schedule.frames for training in trainings] == [500, 500, 500]
    assert isinstance(trainings[2].config.learning.optimiser.clip_norm, float)


RUN = '[[run]]\nname = "x"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("learning.schedule.frames = \n" + RUN, " is not TOML: Invalid value (at line 1"),
        ("", " lists no trainings; each begins with a line [[run]]"),
        ('run = "x"', " lists no trainings"),
        ('name = "y"\n' + RUN, ": name is set above the first [[run]]"),
        ("[[run]]\nunits = 3", ", run 1 has no name; a name has letters"),
        (RUN + '[[run]]\nname = "../up"', ", run 2 has the name '../up'; a name has letters"),
        (RUN + RUN, ": x-0 is listed twice"),
        (RUN + "seeds = [1, 1]", ": x-1 is listed twice"),
        (RUN + "seeds = 3", ", run 'x': seeds is 3; it must be a list of whole numbers"),
        (RUN + "seeds = [true]", ", run 'x': seeds is [True]; it must be a list"),
        (RUN + "seeds = []", ", run 'x': seeds is []; it must be a list"),
        (RUN + "seed = 1", ", run 'x': unknown setting 'seed'; did you mean seeds?"),
        (
            RUN + "learning.loss.horizn = 10",
            ", run 'x': unknown setting 'learning.loss.horizn'; did you mean learning.loss.horizon?",
        ),
        (
            RUN + "learning.horizon = 10",
            ", run 'x': unknown setting 'learning.horizon'; did you mean learning.loss.horizon?",
        ),
        (
            RUN + "optics.q = 1",
            ", run 'x': unknown setting 'optics.q'; choose optics.retina, optics.field_of_view, optics.g",
        ),
        (RUN + "horizon = 10", ", run 'x': unknown setting 'horizon'; did you mean learning.loss.horizon?"),
        (RUN + "zzz = 1", ", run 'x': unknown setting 'zzz'; choose preset, task_name, seeds, controller, units, feat"),
        ("learning = 3\n" + RUN, ", run 'x': unknown setting 'learning'; "),
        (RUN + "task.durations = [10, 20]", ", run 'x': unknown setting 'task.durations'"),
        (RUN + 'preset = "desktop"', ", run 'x': unknown preset 'desktop'; choose laptop, paper"),
        (RUN + "preset = 1", ", run 'x': preset is 1; it must be a text in quotes"),
        (RUN + 'task_name = "reproduction"', ", run 'x': unknown task 'reproduction'; choose "),
        (RUN + 'controller = "lsmt"', ", run 'x': unknown controller 'lsmt'; choose lstm, "),
        (RUN + 'controller = "rmc"\nunits = 100', ", run 'x': units of an rmc must be a multiple of "),
        (RUN + 'units = "32"', ", run 'x': units is '32'; it must be a whole number"),
        (RUN + "units = 32.0", ", run 'x': units is 32.0; it must be a whole number"),
        (RUN + "learning.batch = true", ", run 'x': learning.batch is True; it must be a whole number"),
        (
            RUN + "learning.loss.discount = [0.9]",
            ", run 'x': learning.loss.discount is (0.9,); it must be a number",
        ),
        (RUN + "learning.loss.discount = 1.5", ", run 'x': discount is 1.5; it must lie between 0 and 1"),
        (
            RUN + "learning.aids.chrono.span = 9",
            ", run 'x': unknown setting 'learning.aids.chrono.span'",
        ),
        (
            RUN + "learning.loss.horizon = 1.5",
            ", run 'x': learning.loss.horizon is 1.5; it must be a whole number",
        ),
        (
            RUN + "learning.optimiser.betas = [0.9]",
            ", run 'x': learning.optimiser.betas is (0.9,); it must be a list (2, each a n",
        ),
        (RUN + "task.intervals = 50", ", run 'x': task.intervals is 50; it must be a list (each a whole number)"),
        (RUN + "task.intervals = [50, 10]", ", run 'x': intervals is (50, 10); intervals must be ascending"),
        (RUN + "optics.gaze_step = 180", ", run 'x': no gaze of the lattice falls into box"),
    ],
)
def test_a_mistake_names_file_run_and_setting(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}{expected}")):
        read_experiment(path)


def test_the_papers_agents_have_equal_budgets() -> None:
    trainings = {training.name: training.config for training in read_experiment(PROJECT / "experiments" / "paper.toml")}
    others = ("rnn", "gru", "rmc", "frozen_lstm", "lstm32", "lstm256", "feedforward64", "feedforward512",
              "lstm_10step", "feedforward_10step")  # fmt: skip
    assert list(trainings) == [
        *(f"{name}-{seed}" for name in ("lstm", "feedforward") for seed in range(15)),
        *(f"{name}-{seed}" for name in others for seed in range(3)),
    ]
    budgets = {
        (config.agent.controller == "feedforward", config.learning.schedule.frames) for config in trainings.values()
    }
    assert len(budgets) == 2  # one for agents with a memory, one for those without
    for name, config in trainings.items():
        controller, units, horizon = re.fullmatch(r"([a-z_]*[a-z])(\d*)(_10step)?-\d+", name).groups()  # type: ignore
        assert config.agent.controller == controller
        assert config.agent.units == int(units or 128)
        assert config.learning.loss.horizon == (10 if horizon else 0)


def test_the_example_of_the_manual_is_an_experiment(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", (PROJECT / "docs" / "sweep.md").read_text(), re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example)
    trainings = {training.name: training.config for training in read_experiment(path)}
    assert list(trainings) == ["lstm-0", "lstm-1", "large-0", "ten_step-0"]
    assert {config.learning.schedule.frames for config in trainings.values()} == {20_000_000}
    assert trainings["large-0"].agent.units == 256
    assert trainings["ten_step-0"].learning.loss.horizon == 10


@pytest.mark.parametrize("file", sorted((PROJECT / "experiments").glob("*.toml")), ids=lambda path: path.stem)
def test_the_files_that_ship_can_be_read(file: Path) -> None:
    trainings = read_experiment(file)
    assert len({training.name for training in trainings}) == len(trainings) >= 5
    assert f"gnomon sweep experiments/{file.name}" in file.read_text().splitlines()[0]
