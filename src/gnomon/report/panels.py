"""What sections share: the same figure for every compared family, and a word about analyses that could not be done."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TypeVar

from matplotlib.axes import Axes

from gnomon.report.captions import caption_of
from gnomon.report.figures.performance import words
from gnomon.report.figures.units import draw_interval_key
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Image
from gnomon.study.files import Family, Study
from gnomon.study.findings import Findings

WITH_KEY = (5.9, 3.8)  # inches, of a panel with the key of the sample intervals beside it
SQUARE = (4.6, 4.6)

Result = TypeVar("Result")


def family_figure(
    study: Study,
    gallery: Gallery,
    kind: str,
    result: Callable[[Findings], Result | None],
    draw: Callable[[Axes, Result], None],
    title: str,
    alternative: str,
    size: tuple[float, float] | None = None,
) -> Figure:
    """A panel for every compared family; the caption is that of `draw`."""
    return Figure(family_panels(study, gallery, kind, result, draw, alternative, size), title, caption_of(draw))


def family_panels(
    study: Study,
    gallery: Gallery,
    kind: str,
    result: Callable[[Findings], Result | None],
    draw: Callable[[Axes, Result], None],
    alternative: str,
    size: tuple[float, float] | None = None,
) -> tuple[Image, ...]:
    """The same panel for every compared family that has the result, of its median seed."""
    images = []
    for family in study.compared:
        found = study.middle(family)
        shown = result(found)
        if shown is not None:
            title = words(family.name) if len(family.members) == 1 else f"{words(family.name)} ({found.name})"
            more = {} if size is None else {"size": size}
            images.append(
                gallery.panel(
                    f"{kind}-{family.name}",
                    study.prints([found]),
                    lambda axes, shown=shown: draw(axes, shown),
                    f"{alternative}, {title}",
                    title,
                    **more,
                )
            )
    return tuple(images)


def with_key(
    draw: Callable[[Axes, Result], None], intervals: Callable[[Result], Sequence[int]]
) -> Callable[[Axes, Result], None]:
    """Draws the key of the sample intervals as well."""

    @wraps(draw)
    def both(axes: Axes, result: Result) -> None:
        draw(axes, result)
        draw_interval_key(axes, intervals(result))

    return both


def rows_of(study: Study) -> Iterator[tuple[Family, Findings]]:
    """Every member of the compared families."""
    for family in study.compared:
        for found in study.of(family):
            yield family, found


def missing(study: Study, analysis: str) -> tuple[str, ...]:
    """A sentence for each participant whose analysis could not be done."""
    reasons = [(found.name, dict(found.missing).get(analysis)) for _, found in rows_of(study)]
    return tuple(f"Not done for {name}: {reason}." for name, reason in reasons if reason is not None)
