"""Enforced fixation: a gaze that is held, whatever its subject does."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Restraint:
    """What the laboratory does to the gaze of restrained subjects."""

    held: Tensor
    """Whether each lane's gaze is held where it is, so that moves have no effect: bool [lanes]."""
    may_jump: Tensor
    """Whether the move towards the box takes a held gaze there at once: bool [lanes]."""
    box: int
