"""From a checkpoint back to an agent: one way for resuming, evaluating, showing and checking.

The config beside a checkpoint must be the one it was made with, and the weights must fit it and be finite.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gnomon.config import RunConfig, differing
from gnomon.saving.checkpoint import Checkpoint


def check_settings(config: RunConfig, checkpoint: Checkpoint, path: Path) -> None:
    """ValueError, which names the settings, unless the checkpoint was made with this config; the device may differ.

    path: of config.json.
    """
    try:
        made_with = RunConfig.from_json(checkpoint.notes["config"])
    except ValueError as error:
        raise ValueError(f"{path}: the config in checkpoint {checkpoint.number} cannot be read: {error}") from None
    device = made_with.learning.device
    here = replace(config, learning=replace(config.learning, device=device))
    if here == made_with:
        return
    changes = ", ".join(f"{name} was {was!r} and is {now!r}" for name, (was, now) in differing(made_with, here).items())
    raise ValueError(
        f"{path} is not the config that checkpoint {checkpoint.number} was made with: {changes}; change it back, "
        "or train a new run with the new settings"
    )


def load_weights(agent: nn.Module, weights: dict[str, Tensor], where: Path) -> None:
    """Give an agent its weights. ValueError, in one line, if they do not fit it or are not finite numbers.

    where: the folder that config and weights are from.
    """
    problem = misfit(agent.state_dict(), weights)
    if problem:
        raise ValueError(f"{where}: the weights do not fit the agent of config.json: {problem}")
    wrong = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
    if wrong:
        raise ValueError(f"{where}: the weights {wrong[0]} are not finite numbers (nan or infinite)")
    agent.load_state_dict(weights)


def misfit(own: dict[str, Any], weights: dict[str, Tensor]) -> str:
    """The first difference in names, shapes or types; empty if there is none."""
    for name in own | weights:
        if name not in weights:
            return f"there is no {name}"
        if name not in own:
            return f"the agent has no {name}"
        if own[name].shape != weights[name].shape or own[name].dtype != weights[name].dtype:
            found, right = ([*each.shape, str(each.dtype)] for each in (weights[name], own[name]))
            return f"{name} is {found}, and should be {right}"
    return ""
