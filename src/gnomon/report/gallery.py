"""Figures as stages: a panel is drawn again only when what it shows, or how it is drawn, has changed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gnomon.report.figures.style import HEIGHT, WIDTH, panels, save, styled
from gnomon.report.page import Image
from gnomon.study.stages import Stages, code


@dataclass(frozen=True)
class Gallery:
    """Draws into `figures/` of the stages' folder."""

    stages: Stages

    def panel(
        self,
        name: str,
        inputs: Sequence[str],
        draw: Callable[[Axes], None],
        alternative: str,
        title: str = "",
        size: tuple[float, float] = (WIDTH, HEIGHT),
    ) -> Image:
        """One panel (size in inches); `inputs` are the fingerprints of the results it shows."""

        def single() -> Figure:
            figure, axes = panels(1, 1, *size)
            draw(axes[0, 0])
            return figure

        return self.figure(name, [*inputs, *map(str, size)], single, alternative, title)

    def figure(
        self, name: str, inputs: Sequence[str], build: Callable[[], Figure], alternative: str, title: str = ""
    ) -> Image:
        """A figure that makes its own axes."""
        outputs = [f"figures/{name}.png", f"figures/{name}.svg"]

        def make(part: Path) -> None:
            with styled():
                save(build(), part / "figures" / name)

        self.stages.run(f"figure {name}", [list(inputs), code("report/figures")], outputs, make)
        return Image(self.stages.folder / "figures" / name, alternative, title)
