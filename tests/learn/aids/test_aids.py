"""Aids are on only if they are named, and leave nothing behind if they are not."""

import math
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from made_up import acted, build_learner, copy_weights
from small_run import LEARNING, small_actor
from torch import Tensor

from gnomon.config import LearningConfig, Schedule
from gnomon.learn import learner as learner_module
from gnomon.learn.aids import AIDS, Aids
from gnomon.learn.aids.base import Aid
from gnomon.learn.aids.chrono import ChronoSettings
from gnomon.learn.aids.kl_limit import FASTER, KLLimit, KLLimitSettings
from gnomon.learn.aids.whitened_inputs import WhitenedInputsSettings
from gnomon.learn.schedule import Progress


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

    assert names("kl_limit", "whitened_inputs", "chrono") == ["chrono", "whitened_inputs", "kl_limit"]
    assert Aids(use=("kl_limit", "chrono")) == Aids(use=("chrono", "kl_limit"))  # also as configs


def test_a_run_without_aids_is_one_in_which_they_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of aids that are off change nothing; neither does taking the whole mechanism away."""
    odd = Aids(chrono=ChronoSettings(7.0), kl_limit=KLLimitSettings(1e-9))

    def learned(config: LearningConfig) -> dict[str, Tensor]:
        actor = small_actor("lstm", lanes=12, length=6)
        learner = build_learner(actor, replace(config, batch=4))
        learner.learn(acted(actor), Progress())
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
        (KLLimitSettings, {"nats": math.nan}, "kl_limit.nats is nan"),
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


# What single aids do beyond the transcription of an update.


def one_aid(name: str, **settings: Any) -> Aid:
    config = replace(LEARNING, aids=Aids(use=(name,), **settings))
    (aid,) = build_learner(small_actor("lstm", lanes=4, length=5), config).aids
    return aid


def test_steps_grow_again_within_the_kl_limit_but_not_beyond_the_schedule() -> None:
    aid = one_aid("kl_limit", kl_limit=KLLimitSettings(nats=1e9))
    factors = aid.learner.learning_rate.factors
    factors["kl_limit"] = 0.5
    aid.before_unroll(Progress())
    aid.after_unroll({"kl": 0.1})
    assert factors["kl_limit"] == 0.5 * FASTER
    for _ in range(40):
        aid.after_unroll({"kl": 0.1})
    assert factors["kl_limit"] == 1.0
    aid.after_unroll({})  # no batch was full
    assert factors["kl_limit"] == 1.0


@pytest.mark.parametrize("done", [0.0, 0.5, 0.9, 1.0])
def test_the_kl_limit_falls_with_the_square_of_the_scheduled_rate(done: float) -> None:
    """As the divergence falls with the square of the step."""
    schedule = Schedule(frames=100, final_learning_rate=0.1)
    learner = build_learner(
        small_actor("lstm", lanes=4, length=5),
        LearningConfig(schedule=schedule, aids=Aids(use=("kl_limit",), kl_limit=KLLimitSettings(nats=0.01))),
    )
    aid = learner.aids[0]
    assert isinstance(aid, KLLimit)
    aid.before_unroll(Progress(frames=int(100 * done), total=100))
    assert aid.limit == pytest.approx(0.01 * (1 - 0.9 * done) ** 2)
