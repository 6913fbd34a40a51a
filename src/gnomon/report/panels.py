"""What sections share: the same panel for every compared family, and a word about analyses that could not be done."""

from collections.abc import Callable, Iterator

from matplotlib.axes import Axes

from gnomon.report.figures.performance import words
from gnomon.report.gallery import Gallery
from gnomon.report.page import Image
from gnomon.study.files import Family, Study
from gnomon.study.findings import Findings

WITH_KEY = (5.9, 3.8)  # inches, of a panel with the key of the sample intervals beside it
SQUARE = (4.6, 4.6)


def family_panels(
    study: Study,
    gallery: Gallery,
    kind: str,
    has: Callable[[Findings], bool],
    draw: Callable[[Axes, Findings], None],
    alternative: str,
    size: tuple[float, float] | None = None,
) -> tuple[Image, ...]:
    """The same panel for every compared family that has the result, of its seed in the middle."""
    images = []
    for family in study.compared:
        found = study.middle(family)
        if has(found):
            title = words(family.name) if len(family.members) == 1 else f"{words(family.name)} ({found.name})"
            more = {} if size is None else {"size": size}
            images.append(
                gallery.panel(
                    f"{kind}-{family.name}",
                    study.prints([found]),
                    lambda axes, found=found: draw(axes, found),
                    f"{alternative}, {title}",
                    title,
                    **more,
                )
            )
    return tuple(images)


def rows_of(study: Study) -> Iterator[tuple[Family, Findings]]:
    """Every member of the compared families."""
    for family in study.compared:
        for found in study.of(family):
            yield family, found


def missing(study: Study, analysis: str) -> tuple[str, ...]:
    """A sentence for each participant whose analysis could not be done."""
    reasons = [(found.name, dict(found.missing).get(analysis)) for _, found in rows_of(study)]
    return tuple(f"Not done for {name}: {reason}." for name, reason in reasons if reason is not None)
