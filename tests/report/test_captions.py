"""A caption is written once, in the docstring of the function that draws."""

import pytest

from gnomon.report.captions import caption_of


def draw_thing() -> None:
    """A thing, drawn.

    How to read it: points on the line are
    right. The paper: shows it, too.
    """


def draw_plainly() -> None:
    """Another thing (first line).

    All of it is the caption.
    """


def draw_nothing() -> None: ...


def test_a_caption_is_what_the_docstring_says() -> None:
    assert caption_of(draw_thing) == ("Points on the line are right.", "shows it, too.")
    assert caption_of(draw_plainly) == ("Another thing (first line). All of it is the caption.", "")


def test_a_figure_without_a_caption_is_refused() -> None:
    with pytest.raises(ValueError, match="draw_nothing has no docstring"):
        caption_of(draw_nothing)
