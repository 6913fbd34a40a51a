"""Aids are on only if they are named, and leave nothing behind if they are not."""

import math
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from made_up import acted, build_learner, copy_weights
from small_run import LEARNING, small_actor
from torch import Tensor

from gnomon.config import LearningConfig
from gnomon.learn import learner as learner_module
from gnomon.learn.aids import AIDS, Aids
from gnomon.learn.aids.chrono import ChronoSettings
from gnomon.learn.aids.whitened_inputs import WhitenedInputsSettings


def test_the_default_is_plain() -> None:
    assert LearningConfig().aids.use == ()
    assert build_learner(small_actor("lstm", lanes=4, length=3), LEARNING).aids == []


def test_every_aid_has_settings_under_its_name() -> None:
    assert {field.name for field in fields(Aids)} == {"use", *AIDS}


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="unknown aid 'crono'; choose chrono, whitened_inputs"):
        Aids(use=("crono",))
    with pytest.raises(ValueError, match="name each aid once"):
        Aids(use=("chrono", "chrono"))


def test_the_order_of_the_names_does_not_matter() -> None:
    def names(*use: str) -> list[str]:
        learner = build_learner(small_actor("lstm", lanes=4, length=3), replace(LEARNING, aids=Aids(use=use)))
        return [aid.name for aid in learner.aids]

    assert names("whitened_inputs", "chrono") == ["chrono", "whitened_inputs"]
    both = ("chrono", "whitened_inputs")
    assert Aids(use=both[::-1]) == Aids(use=both)  # also as configs


def test_a_run_without_aids_is_one_in_which_they_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of aids that are off change nothing; neither does taking the whole mechanism away."""
    odd = Aids(chrono=ChronoSettings(7.0), whitened_inputs=WhitenedInputsSettings(0.5))

    def learned(config: LearningConfig) -> dict[str, Tensor]:
        actor = small_actor("lstm", lanes=12, length=6)
        learner = build_learner(actor, replace(config, batch=4))
        learner.learn(acted(actor), 0)
        return copy_weights(actor.agent)

    plain, with_settings = learned(LEARNING), learned(replace(LEARNING, aids=odd))
    monkeypatch.setattr(learner_module, "build_aids", lambda aids, learner: ())
    without = learned(LEARNING)
    for name, tensor in plain.items():
        assert torch.equal(tensor, with_settings[name]), name
        assert torch.equal(tensor, without[name]), name


@pytest.mark.parametrize(
    ("build", "settings", "message"),
    [
        (ChronoSettings, {"span": 0.5}, "chrono.span is 0.5; it must be at least 1 frame"),
        (ChronoSettings, {"span": math.nan}, "chrono.span is nan"),
        (WhitenedInputsSettings, {"smallest": 0.0}, "whitened_inputs.smallest is 0.0"),
    ],
)
def test_settings_that_make_no_sense_are_named(build: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**settings)


def test_a_frozen_controller_cannot_be_whitened() -> None:
    config = replace(LEARNING, aids=Aids(use=("whitened_inputs",)))
    with pytest.raises(ValueError, match="a frozen_lstm has no input weights that learn"):
        build_learner(small_actor("frozen_lstm", lanes=4, length=5), config)
