"""Aids: what this project adds to IMPALA, one file each, each of which can be left out.

An aid is on if `learning.aids.use` names it; its settings are `learning.aids.NAME`. Without any, the learner is the
paper's. `gnomon.learn.aids.base.Aid` lists what an aid may change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gnomon.learn.aids.base import Aid
from gnomon.learn.aids.chrono import Chrono, ChronoSettings
from gnomon.learn.aids.whitened_inputs import WhitenedInputs, WhitenedInputsSettings

if TYPE_CHECKING:
    from gnomon.learn.learner import Learner

# In this order they are built and asked.
AIDS: dict[str, type[Aid]] = {kind.name: kind for kind in (Chrono, WhitenedInputs)}


@dataclass(frozen=True)
class Aids:
    """Which aids are on, and the settings of each."""

    use: tuple[str, ...] = ()
    """Names of the aids that are on: chrono, whitened_inputs."""
    chrono: ChronoSettings = field(default_factory=ChronoSettings)
    whitened_inputs: WhitenedInputsSettings = field(default_factory=WhitenedInputsSettings)

    def __post_init__(self) -> None:
        for name in self.use:
            if name not in AIDS:
                raise ValueError(f"unknown aid {name!r}; choose {', '.join(AIDS)}")
        if len(set(self.use)) < len(self.use):
            raise ValueError(f"aids.use is {', '.join(self.use)}; name each aid once")
        # Their order means nothing, so configs that differ in it alone are the same.
        object.__setattr__(self, "use", tuple(name for name in AIDS if name in self.use))


def build_aids(aids: Aids, learner: Learner) -> list[Aid]:
    """Those that are on, in the order of `AIDS`."""
    return [AIDS[name](getattr(aids, name), learner) for name in aids.use]
