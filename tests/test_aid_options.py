"""Every aid can be switched on, switched off and set, from the command line and in an experiment's file."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from commands_typed import SMALL

from gnomon.cli import load, parse
from gnomon.commands.train import run_config
from gnomon.config import RunConfig
from gnomon.learn.aids import AIDS, Aids
from gnomon.learn.loop import Trainer
from gnomon.presets import preset
from gnomon.records.runs import RunFolder
from gnomon.sweep.experiment import read_experiment

SETTINGS = [(aid, setting.name) for aid in AIDS for setting in fields(getattr(Aids(), aid))]


def typed(*arguments: str) -> RunConfig:
    """The config that `gnomon train` would train with."""
    return run_config(parse(load("train", arguments)[0], "train", arguments))


def written(folder: Path, *lines: str) -> RunConfig:
    """The config of a run in an experiment with these lines."""
    path = folder / "try.toml"
    path.write_text("\n".join(['[[run]]\nname = "x"', *lines]))
    (training,) = read_experiment(path)
    return training.config


def other(value: Any) -> Any:
    """Another value of a setting."""
    return not value if isinstance(value, bool) else value / 2 if isinstance(value, float) else value // 2


def option(*names: str) -> str:
    return "--" + ".".join(names).replace("_", "-")


@pytest.mark.parametrize("aid", AIDS)
def test_each_aid_alone(aid: str, tmp_path: Path) -> None:
    here = typed("--preset", "paper", "--learning.aids.use", aid, *SMALL)
    assert here.learning.aids == Aids(use=(aid,))
    trainer = Trainer(here, RunFolder(tmp_path))
    assert [type(each) for each in trainer.learner.aids] == [AIDS[aid]]
    assert written(tmp_path, 'preset = "paper"', f'learning.aids.use = ["{aid}"]').learning.aids == Aids(use=(aid,))


@pytest.mark.parametrize("aid", AIDS)
def test_all_aids_but_one(aid: str, tmp_path: Path) -> None:
    rest = tuple(name for name in AIDS if name != aid)
    expected = replace(preset("laptop").learning.aids, use=rest)
    here = typed("--learning.aids.use", *rest, *SMALL)
    assert here.learning.aids == expected
    trainer = Trainer(here, RunFolder(tmp_path))
    assert [each.name for each in trainer.learner.aids] == list(rest)
    names = ", ".join(f'"{name}"' for name in rest)
    assert written(tmp_path, f"learning.aids.use = [{names}]").learning.aids == expected


def test_no_aids_at_all(tmp_path: Path) -> None:
    assert preset("laptop").learning.aids.use
    for config in (typed("--learning.aids.use", "--seed", "1"), written(tmp_path, "learning.aids.use = []")):
        assert config.learning.aids == replace(preset("laptop").learning.aids, use=())
        assert config.learning.loss == preset("laptop").learning.loss


@pytest.mark.parametrize(("aid", "setting"), SETTINGS)
def test_each_setting_of_each_aid(aid: str, setting: str, tmp_path: Path) -> None:
    before = preset("laptop").learning.aids
    value = other(getattr(getattr(before, aid), setting))
    expected = replace(before, **{aid: replace(getattr(before, aid), **{setting: value})})
    assert expected != before
    name = option("learning", "aids", aid, setting)
    assert typed(*([name] if value is True else [name, str(value)])).learning.aids == expected
    line = f"learning.aids.{aid}.{setting} = {str(value).lower()}"
    assert written(tmp_path, line).learning.aids == expected


@pytest.mark.parametrize("aid", AIDS)
def test_a_wrong_value_names_the_aid_and_its_setting(aid: str, tmp_path: Path) -> None:
    setting = fields(getattr(Aids(), aid))[0].name
    with pytest.raises(ValueError, match=option("learning", "aids", aid, setting)):
        typed(option("learning", "aids", aid, setting), "much")
    with pytest.raises(ValueError, match=rf"learning\.aids\.{aid}\.{setting} is 'much'; it must be a"):
        written(tmp_path, f'learning.aids.{aid}.{setting} = "much"')
    with pytest.raises(ValueError, match=rf"{aid}\.{setting} is -5(\.0)?; it"):
        written(tmp_path, f"learning.aids.{aid}.{setting} = -5")
