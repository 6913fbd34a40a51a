"""Reads configs of the first format, whose learning had 34 flat settings, most of them aids.

Runs and agents made before format 2 are read with the same meaning; what no longer exists is left out.
"""

from typing import Any

from gnomon.declared import as_declared

# The defaults of then, for settings that a config does not name.
DEFAULTS: dict[str, Any] = {
    "lanes": 512, "unroll": 100, "batch": 128, "vision_every": 1, "discount": 0.99, "entropy_cost": 0.003,
    "final_entropy_cost": 0.0002, "value_cost": 0.5, "critic_memory": 0.95, "critic_told": False, "value_until": 0.75,
    "horizon": None, "learning_rate": 1e-3, "vision_learning_rate": 1e-4, "vision_frames": 2_000_000,
    "final_learning_rate": 0.0005, "careful_learning_rate": 0.1, "mastery": 0.85, "polish_frames": 8_000_000,
    "grading": 20.0, "final_grading": 8.0, "repay_discount": False, "trust": 3e-3, "lost": 0.5, "whiten": False,
    "adam_betas": [0.9, 0.95], "adam_epsilon": 1e-4, "clip_norm": 1000.0, "frames": 60_000_000, "settling": 0.1,
    "device": "cpu",
}  # fmt: skip
GONE = ("rewards_per_batch", "stagger", "dedup")
NEVER = 2.0  # a share of rewarded trials that no run reaches
ANNEALED = (0.5, 0.94)  # shares of the frames between which the learning rates fell


def converted(config: dict[str, Any]) -> dict[str, Any]:
    """A config of the first format as one of the second. ValueError if it is not one."""
    given = config.get("learning", {})
    if not isinstance(given, dict):
        raise ValueError(f"learning is {given!r}; it must be an object with settings")
    unknown = sorted(set(given) - set(DEFAULTS) - set(GONE))
    if unknown:
        raise ValueError(f"LearningConfig has no setting {', '.join(unknown)}; it has {', '.join(sorted(DEFAULTS))}")
    old = {**DEFAULTS, **given}
    for name in ("frames", "vision_frames", "mastery", "whiten"):  # what others follow from
        as_declared(name, type(DEFAULTS[name]), old[name])
    agent = config.get("agent", {})
    if not isinstance(agent, dict):
        raise ValueError(f"agent is {agent!r}; it must be an object with settings")
    span = agent.get("memory_span")
    plain = {name: value for name, value in agent.items() if name != "memory_span"}
    return {**config, "agent": plain, "learning": learning(old, span)}


def learning(old: dict[str, Any], span: float | None) -> dict[str, Any]:
    """The settings of learning, grouped; `span` is that of chrono initialisation, if it was on."""
    polished = old["mastery"] <= 1 and old["final_entropy_cost"] is not None
    narrow = old["final_grading"] if old["final_grading"] is not None else old["grading"]
    aids: dict[str, tuple[bool, dict[str, Any]]] = {
        "chrono": (span is not None, {"span": span}),
        "whitened_inputs": (old["whiten"], {}),
        "initial_state": (old["settling"] is not None, {"rate": old["settling"]}),
        "success_annealing": (
            polished or old["careful_learning_rate"] != 1,
            {
                "final_learning_rate": old["careful_learning_rate"],
                "mastery": old["mastery"] if polished else NEVER,
                "polish_frames": old["polish_frames"],
                "final_entropy_cost": old["final_entropy_cost"] or old["entropy_cost"],
            },
        ),
        "vision_freeze": (old["vision_frames"] < old["frames"], {"frames": old["vision_frames"]}),
        "reward_shaping": (
            old["grading"] is not None,
            {"width": old["grading"], "final_width": narrow, "repay_discount": old["repay_discount"]},
        ),
        "lstd_critic": (
            old["critic_memory"] is not None,
            {
                "memory": old["critic_memory"],
                "privileged": old["critic_told"],
                "until": old["value_until"] if old["value_until"] is not None else NEVER,
            },
        ),
        "kl_limit": (old["trust"] is not None, {"nats": old["trust"]}),
        "rollback": (old["lost"] is not None, {"below": old["lost"]}),
    }
    anneals = old["final_learning_rate"] != 1
    return {
        **{name: old[name] for name in ("lanes", "unroll", "batch", "device")},
        "optimiser": {
            **{name: old[name] for name in ("learning_rate", "vision_learning_rate", "clip_norm", "vision_every")},
            "betas": old["adam_betas"],
            "epsilon": old["adam_epsilon"],
        },
        "loss": {
            **{name: old[name] for name in ("discount", "value_cost", "entropy_cost")},
            "horizon": old["horizon"] or 0,
        },
        "schedule": {
            "frames": old["frames"],
            "final_learning_rate": old["final_learning_rate"],
            **(dict(zip(("anneal_from", "anneal_until"), ANNEALED, strict=True)) if anneals else {}),
        },
        "aids": {
            "use": [name for name, (on, _) in aids.items() if on],
            **{name: settings for name, (on, settings) in aids.items() if on and settings},
        },
    }
