"""Chrono initialisation (Tallec & Ollivier 2018): half of the gated units start with long time constants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.learn.aids.base import Aid

if TYPE_CHECKING:
    from gnomon.learn.learner import Learner


@dataclass(frozen=True)
class ChronoSettings:
    """Chrono initialisation: half of the units of a gated controller start with time constants of up to `span`."""

    span: float = 200.0
    """Frames; time constants are drawn from 1 to this. A forget bias of 1, as is usual, is about 3 frames."""

    def __post_init__(self) -> None:
        if not 1 <= self.span < math.inf:
            raise ValueError(f"chrono.span is {self.span}; it must be at least 1 frame")


class Chrono(Aid):
    """Changes the first weights, and nothing afterwards."""

    name = "chrono"

    def __init__(self, settings: ChronoSettings, learner: Learner) -> None:
        learner.agent.controller.chrono_initialise(settings.span, learner.generator)
