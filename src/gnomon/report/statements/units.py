"""Statements of section 3.3: what the units do in a trial, as numbers of their first principal component."""

from gnomon.analysis.counter import Counter, counter
from gnomon.analysis.units import Population, population
from gnomon.report.statements.seeds import both, spread, verdict
from gnomon.report.statements.statement import Judgement, Statement, about_feedforward, about_recurrent
from gnomon.report.wording import count, over_seeds, shares_over_seeds
from gnomon.study.files import Family, Study


def populations(study: Study, family: Family) -> list[Population]:
    return [each.population for each in study.of(family) if each.population is not None]


def counters(study: Study, family: Family) -> list[Counter]:
    return [each.counter for each in populations(study, family)]


def left_over(found: Counter, tolerance: float) -> float:
    """How far the end is from the start (height), less what the tolerance is worth in sample interval at Set."""
    return found.distance.value - tolerance * found.height_per_frame.value


def is_counter(found: Counter, tolerance: float) -> bool:
    """Whether one seed's component rises until Set, turns there, falls, and comes back."""
    turns = abs(found.turn.value) < tolerance and found.fall.below(0)
    return found.risen.above(0) and turns and left_over(found, tolerance) < 0


# Judges ---------------------------------------------------------------------------------------------------


def rises(study: Study, family: Family) -> Judgement:
    found = counters(study, family)
    rise, risen = spread(each.rise.value for each in found), spread(each.risen.value for each in found)
    variance = shares_over_seeds([float(each.explained_variance[0]) for each in populations(study, family)])
    before = shares_over_seeds([each.before_set.value for each in found])
    here = (
        f"on a scale from 0 to 1 it is {risen.written(2, '+')} higher at Set than at Ready; rank correlation with time "
        f"{rise.written()}; {before} of the whole climb is done by Set; the component holds {variance} of the variance"
    )
    return Judgement(here, both(verdict(risen.above(0), risen.below(0)), verdict(rise.above(0), rise.below(0))))


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
    left = spread(left_over(each, limit) for each in found)
    away = over_seeds([each.distance.value for each in found])
    worth = over_seeds([limit * each.height_per_frame.value for each in found])
    here = (
        f"on a scale from 0 to 1 the end is {away} away from the start; {limit:g} frames of sample interval are worth "
        f"{worth} at Set; difference {left.written(2, '+')}"
    )
    return Judgement(here, verdict(left.below(0), left.above(0)))


def ordered(study: Study, family: Family) -> Judgement:
    order = spread(each.order_at_set.value for each in counters(study, family))
    here = f"rank correlation of the height at Set with the sample interval {order.written()}"
    return Judgement(here, verdict(order.above(0), order.below(0)))


def represents(study: Study, family: Family) -> Judgement:
    """The feedforward agent's units tell the time, but not as a counter does."""
    found = populations(study, family)
    more = spread(each.decoder("ready").r2 - each.decoder("ready").chance_r2 for each in found)
    before = [each.untrained.decoder("ready").r2 for each in study.of(family) if each.untrained is not None]
    counting = [is_counter(each.counter, study.facts.tolerance) for each in found]
    here = (
        f"R² of the time since Ready exceeds chance by {more.written()} (R² {over_seeds(r2_of(found))}; before "
        f"training {over_seeds(before)}); the first component is a counter in {sum(counting)} of "
        f"{count(len(counting), 'seed')}"
    )
    several = len(counting) > 1
    simple = verdict(several and not any(counting), several and all(counting))
    return Judgement(here, both(verdict(more.above(0), more.below(0)), simple))


def r2_of(found: list[Population]) -> list[float]:
    return [each.decoder("ready").r2 for each in found]


SIGN = "Its sign is chosen so that it grows from Ready to Set."

STATEMENTS = (
    Statement(
        "counter-rises", "3.3, Fig. 5",
        "Recurrent agent: the first principal component of the LSTM's cell state rises evenly while the sample "
        "interval is shown.",
        counter,
        f"{SIGN} It is higher at Set than at Ready, and its rank correlation with time is above 0, both with their "
        "intervals over seeds. Contradicted if one is below 0.",
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
        "Ours: the end is off the start by less than what the tolerance is worth (as much as the component gains at "
        "Set when the sample interval grows by it), with its interval over seeds; contradicted if by more.",
        about_recurrent(returns),
    ),
    Statement(
        "counter-ordered", "3.3, Fig. 5",
        "Aligned to Set, the activity is ordered by interval: it is higher when the interval is longer.",
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
        "straightforward\") in none of several seeds does the first component pass the first three tests above. "
        "Contradicted if it passes them in all. It says that the time can be read from the units, not that they have "
        "learned it: the R² before training, with the same frames, stands beside it.",
        about_feedforward(represents),
    ),
)  # fmt: skip
