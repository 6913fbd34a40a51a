"""Captions are the docstrings of the draw functions: written once, read on the page and in the API reference.

What follows "How to read it: " is the caption, or the whole docstring if it does not say so. What follows "The paper: "
stands on a line of its own, and says what the paper shows or finds in the same place.
"""

import inspect
from collections.abc import Callable
from typing import NamedTuple

READING, PAPER = "How to read it: ", "The paper: "


class Caption(NamedTuple):
    """How to read a figure, and what the paper shows there (empty if it shows nothing like it)."""

    reading: str
    paper: str


def caption_of(draw: Callable[..., object]) -> Caption:
    """The caption in a draw function's docstring; ValueError if it has none."""
    whole = " ".join((inspect.getdoc(draw) or "").split())
    if not whole:
        raise ValueError(f"{draw.__name__} has no docstring; the page needs it as a caption")
    before, _, after = whole.partition(READING)
    reading, _, paper = (after or before).partition(PAPER)
    return Caption(capital(reading.strip()), paper.strip())


def capital(text: str) -> str:
    """With a capital letter in front."""
    return text[:1].upper() + text[1:]
