"""Statements of section 3.4: where the gaze goes, in numbers of the two strategies."""

from gnomon.analysis.gaze import gaze_paths
from gnomon.analysis.gaze_strategy import RADII, GazeStrategy, gaze_strategy
from gnomon.report.statements.seeds import both, spread, verdict
from gnomon.report.statements.statement import Judgement, Statement, about_feedforward, about_recurrent
from gnomon.report.wording import count, number, over_seeds, shares_over_seeds, within
from gnomon.study.files import Family, Study

MOST = 0.5  # a share above one half
WIDEST = RADII[-1]  # degrees: the smallest of the radii that holds the whole cross
STRAIGHT, SUDDEN = 0.5, 1.0  # when half of the way is done: steadily, or at the very end
BETWEEN = (STRAIGHT / 2, (STRAIGHT + SUDDEN) / 2)  # nearer to a steady shift than to a jump at Set or at the end


def strategies(study: Study, family: Family) -> list[GazeStrategy]:
    return [each.strategy for each in study.of(family) if each.strategy is not None]


def holds(study: Study, family: Family) -> Judgement:
    found = [each.hold for each in strategies(study, family)]
    moved = shares_over_seeds(share_moved(study, family))
    near = spread(each.within[-1].value for each in found)
    at_set = [float(value) for each in found for value in each.distance_at_set]
    span = within((min(at_set), max(at_set)), 1) if at_set else "–"
    here = (
        f"share of frames within {WIDEST:g} degrees of the cross {near.written()}. The gaze moves in "
        f"{moved} of the frames and drifts by "
        f"{over_seeds([each.drift.value for each in found], 1)} degrees from Ready to Set; at Set it is {span} degrees "
        "away from the cross, over intervals and seeds"
    )
    return Judgement(here, verdict(near.above(MOST), near.below(MOST)))


def shifts(study: Study, family: Family) -> Judgement:
    found = [each.shift for each in strategies(study, family)]
    half = spread(each.half_way.value for each in found)
    here = (
        f"half of the way to Go is done after {half.written()} of the time from Set to the response; a straight line "
        f"explains {shares_over_seeds([each.linearity.value for each in found])} of the mean course"
    )
    low, high = BETWEEN
    return Judgement(here, verdict(half.above(low) and half.below(high), half.below(low) or half.above(high)))


def stereotypy(study: Study, family: Family, phase: int) -> list[float]:
    """Share of the gaze's variance that the mean path explains, before (0) or after (1) Set."""
    return [each.gaze.overall[phase].stereotypy for each in study.of(family) if each.gaze is not None]


def share_moved(study: Study, family: Family) -> list[float]:
    """Share of the frames from Ready to Set in which the gaze moves."""
    return [each.gaze.overall[0].share_moved for each in study.of(family) if each.gaze is not None]


def walks(study: Study, family: Family) -> Judgement:
    alike = spread(stereotypy(study, family, 0))
    here = (
        f"from Ready to Set the mean path explains {alike.written()} of where the gaze is; it moves in "
        f"{shares_over_seeds(share_moved(study, family))} of the frames"
    )
    return Judgement(here, verdict(alike.above(MOST), alike.below(MOST)))


def branches(study: Study, family: Family) -> Judgement:
    found = [each.branch.branching for each in strategies(study, family)]
    apart, sure = spread(each.value for each in found), [each.above(0) for each in found]
    alike = spread(stereotypy(study, family, 1))
    here = (
        f"from Set to 15 frames after it, the distance to the path of trials without Set grows by "
        f"{apart.written(2, '+')} times the spread of single trials (above 0 over lanes in {sum(sure)} of "
        f"{count(len(sure), 'seed')}); after Set the mean path "
        f"explains {alike.written()} of where the gaze is"
    )
    return Judgement(here, both(verdict(apart.above(0), apart.below(0)), verdict(alike.above(MOST), alike.below(MOST))))


def expands(study: Study, family: Family) -> Judgement:
    slope = spread(each.expansion.slope.value for each in strategies(study, family))
    extents = [each.expansion.extent for each in strategies(study, family)]
    said = ", ".join(f"{number(float(each[0]), 1)} to {number(float(each[-1]), 1)}" for each in extents)
    here = (
        f"the extent of the mean path grows by {slope.written(3, '+')} degrees per frame of sample interval (shortest "
        f"to longest, in degrees: {said or '–'})"
    )
    return Judgement(here, verdict(slope.above(0), slope.below(0)))


STATEMENTS = (
    Statement(
        "recurrent-holds", "3.4, Fig. 6a",
        "At all sample intervals, the recurrent agent keeps its gaze close to the cross from Ready to Set.",
        gaze_strategy,
        f"Ours: in most frames (more than half) the gaze is within {WIDEST:g} degrees of the cross, which the whole "
        "cross fits into, with its interval over seeds; contradicted if in fewer.",
        about_recurrent(holds),
    ),
    Statement(
        "recurrent-shifts", "3.4, Fig. 6a",
        "After Set, the recurrent agent shifts its gaze linearly to Go, to arrive at the right time.",
        gaze_strategy,
        f"Ours: half of the way is done after {BETWEEN[0]:g} to {BETWEEN[1]:g} of the time, nearer to a steady shift "
        f"({STRAIGHT}) than to a jump at Set (0) or at the end (1), with its interval over seeds; contradicted if "
        "outside.",
        about_recurrent(shifts),
    ),
    Statement(
        "feedforward-path", "3.4, Fig. 6b", "After Ready, the feedforward agent follows a stereotyped path.",
        gaze_paths,
        "Ours: the mean path explains more than half of where the gaze is from Ready to Set, with its interval over "
        "seeds; contradicted if less.",
        about_feedforward(walks),
    ),
    Statement(
        "feedforward-branches", "3.4, Fig. 6b",
        "At Set, the feedforward agent leaves this path and follows another stereotyped one to Go.",
        gaze_strategy,
        "After Set the path leaves that of trials in which Set has not come, with its interval over seeds; and (ours) "
        "the mean path explains more than half of where the gaze is after Set. Contradicted if one interval says the "
        "opposite.",
        about_feedforward(branches),
    ),
    Statement(
        "feedforward-expands", "3.4, Fig. 6b",
        "The feedforward agent measures time by extending these paths consistently.",
        gaze_strategy,
        "The extent of the mean path grows with the sample interval, with its interval over seeds; contradicted if it "
        "shrinks.",
        about_feedforward(expands),
    ),
)  # fmt: skip
