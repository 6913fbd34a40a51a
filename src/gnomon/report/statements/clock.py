"""Statements of sections 3.3 and 3.4 about where the clock is, judged by interventions."""

from gnomon.analysis.clock import NO, YES, clock
from gnomon.analysis.clock_dynamics import scaling
from gnomon.report.sections.clock import of_family
from gnomon.report.statements.seeds import both, spread, verdict
from gnomon.report.statements.statement import Judgement, Statement, about_feedforward, about_recurrent
from gnomon.study.files import Family, Study

ONE_SPEED = 0.5  # scaling index: nearer to one speed (0) than to temporal scaling (1)


def shares(study: Study, family: Family, what: str) -> list[float]:
    """Donor shares of every seed."""
    swaps = (each.clock.swap(what) for each in of_family(study, family))
    return [swap.share.value for swap in swaps if swap is not None]


def not_run() -> Judgement:
    return Judgement("the battery of interventions was not run", "not decided")


def counts_inside(study: Study, family: Family) -> Judgement:
    memory, gaze = spread(shares(study, family, "state")), spread(shares(study, family, "gaze"))
    if not of_family(study, family):
        return not_run()
    here = f"donor share {memory.written()} when the memory is swapped at Set, {gaze.written()} when the gaze is"
    return Judgement(here, both(verdict(memory.above(YES), memory.below(YES)), verdict(gaze.below(NO), gaze.above(NO))))


def counts_in_the_world(study: Study, family: Family) -> Judgement:
    gaze = spread(shares(study, family, "gaze"))
    if not of_family(study, family):
        return not_run()
    here = f"donor share {gaze.written()} when the gaze is swapped at Set; there is no memory to swap"
    return Judgement(here, verdict(gaze.above(YES), gaze.below(YES)))


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
        f"Ours: when the memory is swapped at Set with another trial's, the donor share is above {YES:g}; when the "
        f"gaze is, below {NO:g}; each with its interval over seeds. Contradicted if one interval says the opposite.",
        about_recurrent(counts_inside),
    ),
    Statement(
        "recurrent-one-speed", "3.3, Fig. 5",
        "Not said, but implied: after Set the recurrent agent's activity falls at one speed (it falls from a higher "
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
        f"Ours: when the gaze is swapped at Set with another trial's, the donor share is above {YES:g}, with its "
        "interval over seeds; contradicted if below.",
        about_feedforward(counts_in_the_world),
    ),
)  # fmt: skip
