"""Where the gaze goes while time passes."""

from collections.abc import Callable

from matplotlib.axes import Axes

from gnomon.analysis.gaze_strategy import RADII, GazeStrategy
from gnomon.report.captions import caption_of
from gnomon.report.figures.gaze import (
    PHASE_LOOKS,
    draw_branch,
    draw_mean_paths,
    draw_movement,
    draw_shift,
    draw_single_paths,
)
from gnomon.report.figures.performance import words
from gnomon.report.figures.units import draw_interval_key
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Image, Section, Table
from gnomon.report.panels import SQUARE, WITH_KEY, family_panels, missing, rows_of
from gnomon.report.wording import (
    estimated,
    number,
    over_seeds,
    sentence,
    share,
    share_estimated,
    shares_over_seeds,
)
from gnomon.study.files import Study
from gnomon.study.findings import Findings


def section(study: Study, gallery: Gallery) -> Section:
    def movement(axes: Axes, found: Findings) -> None:
        assert found.gaze is not None
        draw_movement(axes, found.gaze, "travelled")

    def longest_alone(axes: Axes, found: Findings) -> None:
        assert found.gaze is not None
        draw_single_paths(axes, found.gaze, found.gaze.intervals[-1].sample_interval)

    def with_strategy(draw: Callable[[Axes, GazeStrategy], None]) -> Callable[[Axes, Findings], None]:
        def on(axes: Axes, found: Findings) -> None:
            assert found.strategy is not None
            draw(axes, found.strategy)
            draw_interval_key(axes, found.strategy.shift.sample_interval.tolist())

        return on

    def has(found: Findings) -> bool:
        return found.gaze is not None

    def has_strategy(found: Findings) -> bool:
        return found.strategy is not None

    seen = [found for _, found in rows_of(study) if found.gaze is not None]
    figures = (
        Figure(
            tuple(mean_path(study, gallery, found) for found in seen),
            "Mean gaze on the monitor, every seed", caption_of(draw_mean_paths),
        ),
        Figure(
            family_panels(study, gallery, "single-paths", has, longest_alone, "Single trials' gaze paths", SQUARE),
            "Single trials of the longest interval", caption_of(draw_single_paths),
        ),
        Figure(
            family_panels(
                study, gallery, "shift", has_strategy, with_strategy(draw_shift), "Distance to Go after Set", WITH_KEY
            ),
            "From Set to Go", caption_of(draw_shift),
        ),
        Figure(
            family_panels(
                study, gallery, "branch", has_strategy, with_strategy(draw_branch), "Distance from the common path",
                WITH_KEY,
            ),
            "Leaving the common path at Set", caption_of(draw_branch),
        ),
        Figure(
            family_panels(study, gallery, "movement", has, movement, "Distance travelled per frame"),
            "How far the gaze travels per frame waited", caption_of(draw_movement),
        ),
    )  # fmt: skip
    text = []
    for family in study.compared:
        moved = [each.gaze.overall[0] for each in study.of(family) if each.gaze is not None]
        if moved:
            text.append(
                f"{sentence(words(family.name))}: between Ready and Set the gaze moves in "
                f"{shares_over_seeds([m.share_moved for m in moved])} of the frames, "
                f"{over_seeds([m.travelled for m in moved], 3)} monitor widths per frame. The mean path explains "
                f"{shares_over_seeds([m.stereotypy for m in moved])} of where it is."
            )
    tables = (strategy_table(seen), movement_table(seen)) if seen else ()
    return Section("Gaze", (*text, *missing(study, "gaze")), figures if seen else (), tables)


def mean_path(study: Study, gallery: Gallery, found: Findings) -> Image:
    result = found.gaze
    assert result is not None

    def on(axes: Axes) -> None:
        draw_mean_paths(axes, result)
        draw_interval_key(axes, [each.sample_interval for each in result.intervals])

    alternative = f"Mean gaze path on the monitor, {found.name}"
    return gallery.panel(f"gaze-{found.name}", study.prints([found]), on, alternative, found.name, WITH_KEY)


def movement_table(seen: list[Findings]) -> Table:
    rows = []
    for found in seen:
        assert found.gaze is not None
        for each in found.gaze.overall:
            rows.append(
                (
                    found.name, PHASE_LOOKS[each.phase][0], number(each.travelled, 3), share(each.share_moved),
                    number(each.spread, 3), share(each.stereotypy), share(each.share_off_monitor),
                )
            )  # fmt: skip
    header = ("agent", "phase", "travelled per frame", "moves in", "spread", "mean path explains", "off the monitor")
    note = "Distances in monitor widths. Spread: mean distance of single trials from the mean path at the same frame."
    return Table("Gaze while waiting", header, tuple(rows), note)


def strategy_table(seen: list[Findings]) -> Table:
    """What the paper says of both agents' gaze, in numbers of each seed."""
    rows = []
    for found in seen:
        result = found.strategy
        if result is None:
            continue
        hold, shift = result.hold, result.shift
        cells = [share_estimated(hold.within[-1].value, hold.within[-1].interval)]
        cells += [
            estimated(one.value, one.interval, digits)
            for one, digits in (
                (hold.drift, 1), (shift.half_way, 2), (shift.linearity, 2), (result.branch.branching, 2),
                (result.expansion.slope, 3),
            )
        ]  # fmt: skip
        rows.append((found.name, *cells))
    header = (
        "agent", f"within {RADII[-1]:g}° of the cross", "drift, degrees", "half of the way after",
        "R² of a straight shift", "branching", "expansion, degrees per frame",
    )  # fmt: skip
    note = (
        "The first two from Ready to Set: share of frames near the cross, and how far the mean gaze goes. Then from "
        "Set to the response: the share of the time after which half of the way to Go is done. Branching: how much "
        "further trials with Set are from trials without, 15 frames after Set, in units of the spread of single "
        "trials. Expansion: growth of the mean path's extent with the sample interval. Brackets: 95 %."
    )
    return Table("Strategies of the gaze", header, tuple(rows), note)
