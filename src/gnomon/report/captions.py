"""Captions are the docstrings of the draw functions: written once, read on the page and in the API reference.

A docstring's paragraph "How to read it: ..." is the caption. What follows "The paper: " in it stands on a line of its
own, and says what the paper shows or finds in the same place.
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
    """The caption in a draw function's docstring; ValueError if there is none."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in (inspect.getdoc(draw) or "").split("\n\n")]
    _, found, caption = " ".join(paragraphs).partition(READING)
    if not found:
        raise ValueError(f"the docstring of {draw.__name__} has no {READING.strip()!r}; the page needs it as a caption")
    reading, _, paper = caption.partition(PAPER)
    return Caption(capital(reading.strip()), paper.strip())


def capital(text: str) -> str:
    """With a capital letter in front."""
    return text[:1].upper() + text[1:]
