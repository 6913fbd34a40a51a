"""The room around the monitor, and how room and monitor may look instead: what interventions change.

A look changes nothing but what is seen. The task, its boxes and its rewards stay as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gnomon.lab.screen import Picture

# The room is dim, so that cues stand out.
WALL_BRIGHTEST = 119
PLAIN = (48, 48, 56)  # red, green, blue: what the wall is without its texture

Wall = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Directions x, y, z [...] -> the wall's colour there, int16 [..., 3]."""


def wall_colour(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """The room's wall in directions x, y, z [...]: int16 [..., 3].

    Each channel varies smoothly and in its own way with the direction, with a low-frequency texture on top,
    so that every stretch of wall tells where it is.
    """
    length = (x.square() + y.square() + z.square()).sqrt()
    sideways, upward = x / length, y / length
    grain = torch.sin(9 * sideways + 4 * upward) * torch.sin(8 * upward - 5 * sideways)
    red = 48 + 34 * sideways + 12 * grain
    green = 48 + 34 * upward - 12 * grain
    blue = 56 - 20 * sideways - 20 * upward + 18 * torch.sin(6 * sideways - 7 * upward)
    return torch.stack([red, green, blue], dim=-1).round().clamp(0, WALL_BRIGHTEST).short()


def plain_wall(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """The same colour everywhere: the wall no longer tells where one looks."""
    return torch.tensor(PLAIN, dtype=torch.int16, device=x.device).expand(*x.shape, 3)


def mirrored_wall(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Left and right exchanged: the wall tells a wrong place."""
    return wall_colour(-x, y, z)


WALLS: dict[str, Wall] = {"textured": wall_colour, "plain": plain_wall, "mirrored": mirrored_wall}


@dataclass(frozen=True)
class Look:
    """How room and monitor look; by default as they are."""

    without: tuple[str, ...] = ()
    """Names of the widgets that are not seen."""
    wall: str = "textured"
    """textured, plain or mirrored."""

    def picture(self, picture: Picture) -> Picture:
        """What is seen of a picture."""
        return tuple(widget for widget in picture if widget.name not in self.without)
