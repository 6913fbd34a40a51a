"""The monitor: widgets (name, box, colour), the pictures they make, and a flat drawing of them for humans.

Monitor coordinates run from 0 to 1, x to the right and y down, as in Psychlab.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal, overload

import numpy as np
import torch

# 0.35 + 0.1 and 0.45 differ in their last bits: boxes that overlap by less (monitor units) only touch.
TOUCH = 1e-9
# The bars of a cross fill this middle part of its box, in shares of the box's side.
CROSS_BAND = (0.4, 0.6)

Colour = tuple[int, int, int]  # red, green, blue, each 0..255
Shape = Literal["square", "cross"]


@dataclass(frozen=True)
class Box:
    """An upright rectangle in monitor units; (left, top) is its upper left corner."""

    left: float
    top: float
    width: float
    height: float

    def __post_init__(self) -> None:
        if not (self.width > 0 and self.height > 0):
            raise ValueError(f"a box needs a positive width and height, got {self}")

    @classmethod
    def around(cls, centre_x: float, centre_y: float, size: float) -> "Box":
        """The square of side `size` with this centre."""
        return cls(centre_x - size / 2, centre_y - size / 2, size, size)

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def middle(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.top + self.height / 2

    @overload
    def contains(self, x: float, y: float) -> bool: ...
    @overload
    def contains(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor: ...
    def contains(self, x: float | torch.Tensor, y: float | torch.Tensor) -> bool | torch.Tensor:
        """Whether points fall in the box, elementwise for tensors; the edges count as inside."""
        return (x >= self.left) & (x <= self.right) & (y >= self.top) & (y <= self.bottom)

    def overlaps(self, other: "Box") -> bool:
        """Whether the two boxes share an area; touching edges is not overlap."""
        return (
            min(self.right, other.right) - max(self.left, other.left) > TOUCH
            and min(self.bottom, other.bottom) - max(self.top, other.top) > TOUCH
        )


MONITOR = Box(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Widget:
    """One thing on the monitor: a filled box, or a cross of two bars within its box."""

    name: str
    box: Box
    colour: Colour
    shape: Shape = "square"

    @property
    def parts(self) -> tuple[Box, ...]:
        """The boxes that are filled with the widget's colour (the two bars of a cross share their middle)."""
        if self.shape == "square":
            return (self.box,)
        box, (start, end) = self.box, CROSS_BAND
        band = end - start
        return (
            Box(box.left + start * box.width, box.top, band * box.width, box.height),
            Box(box.left, box.top + start * box.height, box.width, band * box.height),
        )


Picture = tuple[Widget, ...]


def hexadecimal(colour: Colour) -> str:
    """A colour as web pages write it: (255, 10, 10) is "#ff0a0a"."""
    red, green, blue = colour
    return f"#{red:02x}{green:02x}{blue:02x}"


def check_colour(owner: str, colour: Colour) -> None:
    """Raise ValueError unless the colour is three whole numbers from 0 to 255; `owner` says whose it is."""
    whole = all(isinstance(channel, int) and not isinstance(channel, bool) for channel in colour)
    if len(colour) != 3 or not whole or not all(0 <= channel <= 255 for channel in colour):
        raise ValueError(f"the colour of {owner} is {colour!r}; it must be three whole numbers from 0 to 255")


def check_picture(picture: Picture) -> None:
    """Raise ValueError unless every widget is on the monitor, of a legal colour, and clear of the others."""
    for widget in picture:
        box = widget.box
        if not all(-TOUCH <= edge <= 1 + TOUCH for edge in (box.left, box.top, box.right, box.bottom)):
            raise ValueError(f"widget {widget.name!r} at {box} leaves the monitor, which runs from 0 to 1 in x and y")
        check_colour(f"widget {widget.name!r}", widget.colour)
    for one, other in combinations(picture, 2):
        if one.box.overlaps(other.box):
            raise ValueError(
                f"widgets {one.name!r} at {one.box} and {other.name!r} at {other.box} overlap; "
                "the widgets of one picture must lie side by side"
            )


def paint(picture: Picture, background: Colour, pixels: int) -> np.ndarray:
    """A flat drawing of the whole monitor: uint8 [pixels, pixels, 3], row 0 at the top."""
    if pixels < 1:
        raise ValueError(f"pixels is {pixels}; a drawing needs at least 1 pixel a side")
    image = np.empty((pixels, pixels, 3), np.uint8)
    image[:] = background
    centres = (np.arange(pixels) + 0.5) / pixels  # monitor units
    for widget in picture:
        for part in widget.parts:
            rows = (centres >= part.top) & (centres <= part.bottom)
            columns = (centres >= part.left) & (centres <= part.right)
            image[np.ix_(rows, columns)] = widget.colour
    return image
