"""Where the gaze goes while time passes."""

from functools import wraps

from matplotlib.axes import Axes

from gnomon.analysis.gaze import GazePaths
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
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Image, Section, Table
from gnomon.report.panels import SQUARE, WITH_KEY, family_figure, missing, rows_of, with_key
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
    def shifted(result: GazeStrategy) -> list[int]:
        return result.shift.sample_interval.tolist()

    seen = [found for _, found in rows_of(study) if found.gaze is not None]
    figures = (
        Figure(
            tuple(mean_path(study, gallery, found) for found in seen),
            "Mean gaze on the monitor, every seed", caption_of(draw_mean_paths),
        ),
        family_figure(
            study, gallery, "single-paths", lambda found: found.gaze, longest_alone,
            "Single trials of the longest interval", "Single trials' gaze paths", SQUARE,
        ),
        family_figure(
            study, gallery, "shift", lambda found: found.strategy, with_key(draw_shift, shifted),
            "From Set to Go", "Distance to Go after Set", WITH_KEY,
        ),
        family_figure(
            study, gallery, "branch", lambda found: found.strategy, with_key(draw_branch, shifted),
            "Leaving the common path at Set", "Distance from the common path", WITH_KEY,
        ),
        family_figure(
            study, gallery, "movement", lambda found: found.gaze, travelled,
            "How far the gaze travels per frame waited", "Distance travelled per frame",
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


@wraps(draw_movement)
def travelled(axes: Axes, result: GazePaths) -> None:
    draw_movement(axes, result, "travelled")


@wraps(draw_single_paths)
def longest_alone(axes: Axes, result: GazePaths) -> None:
    draw_single_paths(axes, result, result.intervals[-1].sample_interval)


def mean_path(study: Study, gallery: Gallery, found: Findings) -> Image:
    result = found.gaze
    assert result is not None

    draw = with_key(draw_mean_paths, lambda paths: [each.sample_interval for each in paths.intervals])
    prints, alternative = study.prints([found]), f"Mean gaze path on the monitor, {found.name}"
    return gallery.panel(
        f"gaze-{found.name}", prints, lambda axes: draw(axes, result), alternative, found.name, WITH_KEY
    )


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
