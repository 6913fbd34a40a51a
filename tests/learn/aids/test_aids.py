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
from gnomon.learn.aids.initial_state import InitialStateSettings
from gnomon.learn.aids.kl_limit import FASTER, KLLimit, KLLimitSettings
from gnomon.learn.aids.lstd_critic import LSTDCritic, LSTDCriticSettings
from gnomon.learn.aids.reward_shaping import RewardShapingSettings, shaped_reward
from gnomon.learn.aids.rollback import RollbackSettings
from gnomon.learn.aids.success_annealing import SuccessAnnealing, SuccessAnnealingSettings
from gnomon.learn.aids.vision_freeze import VisionFreezeSettings
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

    assert names("rollback", "success_annealing", "reward_shaping") == [
        "success_annealing",
        "reward_shaping",
        "rollback",
    ]


def test_a_run_without_aids_is_one_in_which_they_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of aids that are off change nothing; neither does taking the whole mechanism away."""
    odd = Aids(chrono=ChronoSettings(7.0), kl_limit=KLLimitSettings(1e-9), rollback=RollbackSettings(1.0))

    def learned(config: LearningConfig) -> dict[str, Tensor]:
        actor = small_actor("lstm", lanes=12, length=6)
        learner = build_learner(actor, replace(config, batch=4))
        learner.learn(acted(actor), Progress(best=0.9, success=0.1))
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
        (InitialStateSettings, {"rate": 0.0}, "initial_state.rate is 0.0"),
        (KLLimitSettings, {"nats": math.nan}, "kl_limit.nats is nan"),
        (LSTDCriticSettings, {"memory": 1.0}, "lstd_critic.memory is 1.0"),
        (LSTDCriticSettings, {"until": 0.0}, "lstd_critic.until is 0.0"),
        (RewardShapingSettings, {"width": 0.0}, "reward_shaping.width is 0.0"),
        (RollbackSettings, {"below": 1.5}, "rollback.below is 1.5"),
        (SuccessAnnealingSettings, {"polish_frames": 0}, "success_annealing.polish_frames is 0"),
        (VisionFreezeSettings, {"frames": 0}, "vision_freeze.frames is 0"),
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


def test_shaped_rewards_against_the_formula() -> None:
    t_s, t_p = (torch.tensor([values], dtype=torch.int16) for values in ([20, 20, -1], [20, 35, -1]))
    own = torch.tensor([[1.0, 0.0, 0.25]])
    shaped = shaped_reward(own, t_s, t_p, share=0.5, width=10.0, discount=0.98)
    expected = [0.5 * 0.98**-40 + 0.5, 0.5 * math.exp(-1.5) * 0.98**-55, 0.25]
    assert shaped[0].tolist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("frames", "share"), [(0, 1.0), (940, 1.0), (955, 0.5), (970, 0.0), (1_000, 0.0)])
def test_rewards_are_shaped_until_shortly_before_the_end(frames: int, share: float) -> None:
    aid: Any = one_aid("reward_shaping")
    aid.before_unroll(Progress(frames, 1_000))
    assert aid.share == pytest.approx(share)


@pytest.mark.parametrize(("polish", "width"), [(0.0, 16.0), (0.5, 8.0), (1.0, 4.0)])
def test_shaped_rewards_narrow_with_polishing(polish: float, width: float) -> None:
    aid: Any = one_aid("reward_shaping", reward_shaping=RewardShapingSettings(width=16.0, final_width=4.0))
    aid.before_unroll(Progress(polish=polish))
    assert aid.width == pytest.approx(width)


def test_polishing_begins_with_mastery_and_survives_a_checkpoint() -> None:
    settings = SuccessAnnealingSettings(mastery=0.8, polish_frames=100, final_entropy_cost=0.001)
    aid = one_aid("success_annealing", success_annealing=settings)
    aid.before_unroll(Progress(frames=50, best=0.79))
    assert aid.learner.entropy_cost == LEARNING.loss.entropy_cost
    aid.before_unroll(Progress(frames=200, best=0.8))
    again = one_aid("success_annealing", success_annealing=settings)
    again.load_state_dict(aid.state_dict())
    assert isinstance(again, SuccessAnnealing)
    assert again.mastered == 200
    progress = Progress(frames=250, best=0.8)
    again.before_unroll(progress)
    assert progress.polish == 0.5
    assert again.learner.entropy_cost == pytest.approx(math.sqrt(LEARNING.loss.entropy_cost * 0.001))


@pytest.mark.parametrize(("best", "factor"), [(0.0, 1.0), (0.5, 1.0), (0.7, 0.2), (0.9, 0.04), (1.0, 0.04)])
def test_learning_rates_fall_with_the_best_success(best: float, factor: float) -> None:
    aid = one_aid("success_annealing", success_annealing=SuccessAnnealingSettings(final_learning_rate=0.04, mastery=2))
    aid.before_unroll(Progress(best=best))
    assert aid.learner.learning_rate.factor(Progress()) == pytest.approx(factor)


def test_steps_grow_again_within_the_kl_limit_but_not_beyond_the_schedule() -> None:
    aid = one_aid("kl_limit", kl_limit=KLLimitSettings(nats=1e9))
    unroll, factors = acted(small_actor("lstm", lanes=4, length=5)), aid.learner.learning_rate.factors
    factors["kl_limit"] = 0.5
    aid.before_unroll(Progress())
    aid.after_unroll(unroll, {"kl": 0.1})
    assert factors["kl_limit"] == 0.5 * FASTER
    for _ in range(40):
        aid.after_unroll(unroll, {"kl": 0.1})
    assert factors["kl_limit"] == 1.0
    aid.after_unroll(unroll, {})  # no batch was full
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


@pytest.mark.parametrize(("best", "share"), [(0.0, 1.0), (0.4, 1.0), (0.5, 0.5), (0.6, 0.0), (1.0, 0.0)])
def test_the_value_loss_shapes_the_controller_until_the_task_is_half_learned(best: float, share: float) -> None:
    aid = one_aid("lstd_critic", lstd_critic=LSTDCriticSettings(until=0.6))
    assert isinstance(aid, LSTDCritic)
    aid.before_unroll(Progress(best=best))
    assert aid.share == pytest.approx(share)


def test_only_a_privileged_critic_minds_the_time() -> None:
    def values(privileged: bool, later: int) -> float:
        actor = small_actor("lstm", lanes=12, length=10)
        unroll = acted(actor)
        aids = Aids(use=("lstd_critic",), lstd_critic=LSTDCriticSettings(privileged=privileged))
        learner = build_learner(actor, replace(LEARNING, batch=12, aids=aids))
        learner.learn(unroll, Progress())
        return learner.learn(replace(unroll, since=unroll.since + later), Progress())["mean_value"]

    assert values(privileged=False, later=0) == values(privileged=False, later=20)
    assert values(privileged=True, later=0) != values(privileged=True, later=20)
