"""Statements of sections 3.3 and 3.4 about where the clock is, judged by interventions."""

from gnomon.analysis.clock import NO, YES, clock
from gnomon.analysis.clock_dynamics import scaling
from gnomon.report.sections.clock import of_family
from gnomon.report.statements.seeds import both, spread, verdict
from gnomon.report.statements.statement import Judgement, Statement, about_feedforward, about_recurrent
from gnomon.study.files import Family, Study

ONE_SPEED = 0.5  # scaling index: nearer to one speed (0) than to temporal scaling (1)
STOPS = 0.5  # frames of delay per frame held: nearer to a clock that stands still (1) than to one that runs on (0)


def shares(study: Study, family: Family, what: str) -> list[float]:
    """Donor shares of every seed."""
    swaps = (each.clock.swap(what) for each in of_family(study, family))
    return [swap.share.value for swap in swaps if swap is not None]


def delays(study: Study, family: Family, what: str) -> list[float]:
    """By how many frames the answer is later for each frame held, of every seed."""
    pauses = (pause for each in of_family(study, family) for pause in each.clock.pauses)
    return [pause.per_frame.value for pause in pauses if pause.what == what]


def not_run() -> Judgement:
    return Judgement("the battery of interventions was not run", "not decided")


def counts_inside(study: Study, family: Family) -> Judgement:
    memory, gaze = spread(shares(study, family, "state")), spread(shares(study, family, "gaze"))
    if not of_family(study, family):
        return not_run()
    frozen, fixed = spread(delays(study, family, "state")), spread(delays(study, family, "gaze"))
    here = (
        f"donor share {memory.written()} when the memory is swapped at Set, {gaze.written()} when the gaze is; a frame "
        f"for which the memory is held after Set delays the answer by {frozen.written()} frames, the gaze by "
        f"{fixed.written()}"
    )
    carries = both(verdict(memory.above(YES), memory.below(YES)), verdict(gaze.below(NO), gaze.above(NO)))
    runs = both(verdict(frozen.above(STOPS), frozen.below(STOPS)), verdict(fixed.below(STOPS), fixed.above(STOPS)))
    return Judgement(here, both(carries, runs))


def counts_in_the_world(study: Study, family: Family) -> Judgement:
    gaze = spread(shares(study, family, "gaze"))
    if not of_family(study, family):
        return not_run()
    fixed = spread(delays(study, family, "gaze"))
    here = (
        f"donor share {gaze.written()} when the gaze is swapped at Set; a frame for which it is held after Set delays "
        f"the answer by {fixed.written()} frames; there is no memory to swap"
    )
    carries, runs = verdict(gaze.above(YES), gaze.below(YES)), verdict(fixed.above(STOPS), fixed.below(STOPS))
    return Judgement(here, both(carries, runs))


def one_speed(study: Study, family: Family) -> Judgement:
    found = [each.scaling.index.value for each in of_family(study, family) if each.scaling is not None]
    if not found:
        return not_run()
    index = spread(found)
    here = f"scaling index {index.written()}: 0 is one speed for all intervals, 1 is speed that goes with 1 / t_s"
    return Judgement(here, verdict(index.below(ONE_SPEED), index.above(ONE_SPEED)))


RECURRENT = (
    Statement(
        "recurrent-clock", "3.3, Fig. 5", "The recurrent agent's units are its clock.",
        clock,
        f"Ours: it carries the sample interval (when the memory is swapped at Set with another trial's, the donor "
        f"share is above {YES:g}; when the gaze is, below {NO:g}), and it runs down (a frame for which the memory is "
        f"held after Set delays the answer by more than {STOPS:g} frames, one for which the gaze is by less); each "
        "with its interval over seeds. Contradicted if one interval says the opposite.",
        about_recurrent(counts_inside),
    ),
    Statement(
        "recurrent-one-speed", "3.3, Fig. 5",
        "Not said, but implied: after Set the recurrent agent's activity changes at one speed (it starts from a higher "
        "point when the interval is longer, and is back when the interval has passed).",
        scaling,
        f"Ours: the scaling index is below {ONE_SPEED:g} with its interval over seeds; "
        "contradicted if above, when long intervals are run through more slowly.",
        about_recurrent(one_speed),
    ),
)  # fmt: skip
FEEDFORWARD = (
    Statement(
        "feedforward-clock", "3.4",
        "The feedforward agent uses its environment as a clock (\"autostigmergy\").",
        clock,
        f"Ours: when the gaze is swapped at Set with another trial's, the donor share is above {YES:g}, and a frame "
        f"for which it is held after Set delays the answer by more than {STOPS:g} frames, each with its interval over "
        "seeds; contradicted if one is below.",
        about_feedforward(counts_in_the_world),
    ),
)  # fmt: skip
