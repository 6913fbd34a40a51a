"""Statements of section 3.3: what the units do in a trial, as numbers of their first principal component."""

import math

from gnomon.analysis.counter import Counter, counter
from gnomon.analysis.units import Population, population
from gnomon.report.statements.seeds import both, spread, verdict
from gnomon.report.statements.statement import Judgement, Statement, Verdict, about_feedforward, about_recurrent
from gnomon.report.wording import count, over_seeds, shares_over_seeds
from gnomon.study.files import Family, Study


def populations(study: Study, family: Family) -> list[Population]:
    return [each.population for each in study.of(family) if each.population is not None]


def counters(study: Study, family: Family) -> list[Counter]:
    return [each.counter for each in populations(study, family)]


def frames_left(found: Counter) -> float:
    """How far the end is from the start, in frames of sample interval: what the counter gains in so many at Set."""
    per_frame = found.height_per_frame.value
    return found.distance.value / per_frame if per_frame > 0 else math.inf


# Judges ---------------------------------------------------------------------------------------------------


def rises(study: Study, family: Family) -> Judgement:
    found = counters(study, family)
    rise, everywhere = spread(each.rise.value for each in found), [each.share_rising == 1 for each in found]
    variance = shares_over_seeds([float(each.explained_variance[0]) for each in populations(study, family)])
    here = (
        f"rank correlation with time {rise.written()}; higher at Set than at Ready at every interval in "
        f"{sum(everywhere)} of {count(len(found), 'seed')}; the component holds {variance} of the variance"
    )
    return Judgement(here, verdict(rise.above(0) and all(everywhere), rise.below(0)))


def falls(study: Study, family: Family) -> Judgement:
    found, limit = counters(study, family), study.facts.tolerance
    fall, turn = spread(each.fall.value for each in found), spread(each.turn.value for each in found)
    here = (
        f"rank correlation with time after Set {fall.written()}; its highest point is {turn.written(1, '+')} frames "
        "after Set"
    )
    at_set = verdict(turn.above(-limit) and turn.below(limit), turn.above(limit) or turn.below(-limit))
    return Judgement(here, both(verdict(fall.below(0), fall.above(0)), at_set))


def returns(study: Study, family: Family) -> Judgement:
    found, limit = counters(study, family), study.facts.tolerance
    left = spread(frames_left(each) for each in found)
    undone = [-each.fallen.value / each.risen.value for each in found if each.risen.value > 0]
    here = (
        f"{shares_over_seeds(undone)} of the rise is undone by the response; the end is off the start by as much as "
        f"the component gains in {left.written(1)} frames"
    )
    return Judgement(here, verdict(left.below(limit), left.above(limit)))


def ordered(study: Study, family: Family) -> Judgement:
    order = spread(each.order_at_set.value for each in counters(study, family))
    here = f"rank correlation of the height at Set with the sample interval {order.written()}"
    return Judgement(here, verdict(order.above(0), order.below(0)))


def represents(study: Study, family: Family) -> Judgement:
    """The feedforward agent's units tell the time, but not as a counter does."""
    found = populations(study, family)
    more = spread(each.decoder("ready").r2 - each.decoder("ready").chance_r2 for each in found)
    before = [each.untrained.decoder("ready").r2 for each in study.of(family) if each.untrained is not None]
    tests = {"rises": rises, "turns and falls": falls, "returns": returns}
    verdicts: dict[str, Verdict] = {name: judge(study, family).verdict for name, judge in tests.items()}
    failed = [name for name, each in verdicts.items() if each == "contradicted"]
    is_counter = set(verdicts.values()) == {"reproduced"}
    here = (
        f"R² of the time since Ready exceeds chance by {more.written()} (R² {over_seeds(r2_of(found))}; before "
        f"training {over_seeds(before)}). As a counter: "
        + ", ".join(f"{name} {each}" for name, each in verdicts.items())
    )
    return Judgement(here, both(verdict(more.above(0), more.below(0)), verdict(bool(failed), is_counter)))


def r2_of(found: list[Population]) -> list[float]:
    return [each.decoder("ready").r2 for each in found]


SIGN = "Its sign is chosen so that it grows from Ready to Set."

STATEMENTS = (
    Statement(
        "counter-rises", "3.3, Fig. 5",
        "Recurrent agent: the first principal component of the LSTM's cell state rises evenly while the sample "
        "interval is shown.",
        counter,
        f"{SIGN} Ours, for \"evenly\": its rank correlation with time is above 0, with its interval over seeds, and it "
        "is higher at Set than at Ready at every sample interval in every seed. Contradicted if the correlation is "
        "below 0.",
        about_recurrent(rises),
    ),
    Statement(
        "counter-falls", "3.3, Fig. 5", "At Set it begins to fall.",
        counter,
        "Its rank correlation with time after Set is below 0, and its highest point is less than the tolerance away "
        "from Set (ours), both with their intervals over seeds. Contradicted if one interval says the opposite.",
        about_recurrent(falls),
    ),
    Statement(
        "counter-returns", "3.3, Fig. 5", "It is back at its initial value when the same duration has passed again.",
        counter,
        "Ours: the end is off the start by less than what the component gains at Set in as many frames of sample "
        "interval as the tolerance has, with its interval over seeds; contradicted if by more.",
        about_recurrent(returns),
    ),
    Statement(
        "counter-ordered", "3.3, Fig. 5",
        "Aligned to Set, the activity is ordered by interval: it falls from a higher point when the interval is "
        "longer.",
        counter,
        "The rank correlation of the component at Set with the sample interval is above 0, with its interval over "
        "seeds; contradicted if below.",
        about_recurrent(ordered),
    ),
    Statement(
        "feedforward-units", "3.3, Fig. 5",
        "The feedforward agent's units represent intervals, too, but in a less straightforward way.",
        population,
        "The R² of the time since Ready is above chance, with its interval over seeds; and (ours, for \"less "
        "straightforward\") one of the three tests of a counter above contradicts it. Contradicted if all three find "
        "a counter.",
        about_feedforward(represents),
    ),
)  # fmt: skip
