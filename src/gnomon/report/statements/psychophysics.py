"""Statements of section 3.2: the spread of the feedforward agent's productions, and the Bayesian observer."""

import numpy as np

from gnomon.analysis.observer_rivals import Rivals, rivals
from gnomon.analysis.performance import Production, production
from gnomon.analysis.scalar_variability import IDENTIFIED, ScalarVariability, scalar_variability
from gnomon.report.statements.performance import produced
from gnomon.report.statements.seeds import both, spread, verdict
from gnomon.report.statements.statement import Judgement, Statement, about_feedforward
from gnomon.report.wording import NOTHING, count, number, over_seeds, shares_over_seeds, within
from gnomon.study.files import Family, Study

EXPONENT = 0.7  # the paper's c


def fits_of(study: Study, family: Family) -> list[ScalarVariability]:
    return [each.scalar_variability for each in study.of(family) if each.scalar_variability is not None]


def slopes_of_thirds(found: Production) -> tuple[float, float, float]:
    """Slope of mean production over the shortest, the middle and the longest third of the intervals."""
    thirds = np.array_split(np.arange(len(found.mean)), 3)
    # Neighbouring thirds share an interval, so that every step between two intervals belongs to one of them.
    thirds = [np.append(third, third[-1] + 1) if third[-1] + 1 < len(found.mean) else third for third in thirds]
    slopes = [np.polyfit(found.sample_interval[third], found.mean[third], 1)[0] for third in thirds]
    return float(slopes[0]), float(slopes[1]), float(slopes[2])


def sigmoid(study: Study, family: Family) -> Judgement:
    enough = [each for each in produced(study, family) if len(each.mean) >= 4 and np.isfinite(each.mean).all()]
    slopes = [slopes_of_thirds(each) for each in enough]
    low, high = (spread(middle - ends[end] for ends in slopes for middle in [ends[1]]) for end in (0, 2))
    here = (
        f"the slope of mean production in the middle third exceeds that at the short end by {low.written(2, '+')} and "
        f"that at the long end by {high.written(2, '+')}"
    )
    return Judgement(here, both(verdict(low.above(0), low.below(0)), verdict(high.above(0), high.below(0))))


def grows(study: Study, family: Family) -> Judgement:
    order = spread(fit.order.value for fit in fits_of(study, family))
    here = f"rank correlation of s.d. and interval {order.written(2)}"
    return Judgement(here, verdict(order.above(0), order.below(0)))


def scales(study: Study, family: Family) -> Judgement:
    fits = fits_of(study, family)
    falls = [fit.drop.below(0) for fit in fits]
    widest = ", ".join(str(fit.widest) for fit in fits)
    here = (
        f"the s.d. is largest at {widest} frames, and falls after it beyond the noise of lanes in {sum(falls)} of "
        f"{count(len(falls), 'seed')}; the straight line explains "
        f"{shares_over_seeds([fit.linear.r_squared for fit in fits])} of how it varies"
    )
    several = len(falls) > 1
    return Judgement(here, verdict(several and not any(falls), several and all(falls)))


def exponent_words(fits: list[ScalarVariability]) -> str:
    """c of the fit like the paper's, over seeds, and how much it depends on the way it is fitted."""
    others = [fit.c for each in fits for fit in each.fits]
    known = sum(each.identified for each in fits)
    span = f"; {within((min(others), max(others)))} over seeds, constraints and ranges" if others else ""
    return (
        f"c = {spread(each.c for each in fits).written(2)}{span}; identified in {known} of {count(len(fits), 'seed')}"
    )


def sublinear(study: Study, family: Family) -> Judgement:
    fits = fits_of(study, family)
    c, known = spread(each.c for each in fits), bool(fits) and all(each.identified for each in fits)
    return Judgement(exponent_words(fits), verdict(known and c.below(1), known and c.above(1)))


def exponent(study: Study, family: Family) -> Judgement:
    fits = fits_of(study, family)
    c, known = spread(each.c for each in fits), bool(fits) and all(each.identified for each in fits)
    outside = c.above(EXPONENT) or c.below(EXPONENT)
    narrow = c.known and c.interval[1] - c.interval[0] < IDENTIFIED
    return Judgement(exponent_words(fits), verdict(known and narrow and not outside, known and outside))


def compared_models(study: Study, family: Family) -> list[Rivals]:
    return [each.rivals for each in study.of(family) if each.rivals is not None]


def observer_fits(study: Study, family: Family) -> Judgement:
    """The Bayesian observer against models without a prior, and against a description without any theory."""
    found = compared_models(study, family)
    clock = [each.behind("bayesian", "clock", "no_prior") for each in found]
    normals = [each.behind("bayesian", "normals") for each in found]
    best = [each.best("bayesian") for each in found]
    rejected = [each.rejected for each in best]
    here = (
        f"AIC of the Bayesian observer above that of the best model without a prior: {signed(clock)}; above that of a "
        f"normal for each interval: {signed(normals)}; chi-square rejects it in {sum(rejected)} of "
        f"{count(len(rejected), 'seed')}. It explains {shares_over_seeds([b.r2_mean for b in best])} of how mean "
        f"productions vary, and {shares_over_seeds([b.r2_bias for b in best])} of how the bias does"
    )
    several = len(found) > 1
    yes = several and all(value < 0 for value in (*clock, *normals))
    return Judgement(here, verdict(yes, several and all(value > 0 for value in clock)))


def signed(values: list[float]) -> str:
    return ", ".join(number(value, 0, "+") for value in values) or NOTHING


def observer_bias(study: Study, family: Family) -> Judgement:
    """What the Bayesian observer leaves of the bias at both ends."""
    found = compared_models(study, family)
    left = [spread(float(each.best("bayesian").residual[end]) for each in found) for end in (0, -1)]
    bias = [over_seeds([float(each.bias[end]) for each in found], 1) for end in (0, -1)]
    ends = (study.facts.intervals[0], study.facts.intervals[-1])
    here = "; ".join(
        f"at {t_s} frames the mean error is {error}; agent minus observer: {rest.written(1, '+')}"
        for t_s, error, rest in zip(ends, bias, left, strict=True)
    )
    limit = study.facts.tolerance
    off = [each.above(0) or each.below(0) for each in left]
    inside = [each.above(-limit) and each.below(limit) for each in left]
    return Judgement(here, verdict(all(inside) and not any(off), any(off)))


KNOWN = (
    f"c is identified in a seed if its interval over lanes is narrower than {number(IDENTIFIED, 1)}, and if other "
    "constraints, and fits without the longest intervals, change it by less than that"
)

STATEMENTS = (
    Statement(
        "feedforward-sigmoid", "3.2", "The feedforward agent's curve of mean production is shaped like a sigmoid.",
        production,
        "Ours: mean production rises more steeply in the middle third of the intervals than at either end, each with "
        "its interval over seeds; contradicted if less steeply at one end.",
        about_feedforward(sigmoid),
    ),
    Statement(
        "feedforward-sd-grows", "3.2, Fig. 4a",
        "The s.d. of the feedforward agent's productions grows with the sample interval.",
        scalar_variability,
        "The rank correlation of s.d. and interval is above 0, with its interval over seeds; contradicted if below.",
        about_feedforward(grows),
    ),
    Statement(
        "feedforward-sd-scalar", "3.2, Fig. 4a", "This approximates scalar variability.",
        scalar_variability,
        "Ours: in none of several seeds does the s.d. fall at the long end by more than lanes vary (95 %). "
        "Contradicted if it does in all: scalar variability grows without end.",
        about_feedforward(scales),
    ),
    Statement(
        "feedforward-sublinear", "3.2, Fig. 4a", "It grows slightly less than in proportion to the interval.",
        scalar_variability,
        f"The exponent c of a + b x^c is below 1, with its interval over seeds; contradicted if above. Not decided "
        f"unless c is identified in every seed ({KNOWN}).",
        about_feedforward(sublinear),
    ),
    Statement(
        "feedforward-exponent", "3.2, Fig. 4a", f"The best-fitting exponent is c = {EXPONENT}.",
        scalar_variability,
        f"{EXPONENT} lies within the interval of c over seeds, which is narrower than {number(IDENTIFIED, 1)}; "
        f"contradicted if it lies outside. Not decided unless c is identified in every seed ({KNOWN}).",
        about_feedforward(exponent),
    ),
    Statement(
        "feedforward-observer", "3.2, Fig. 4b",
        "A Bayesian least-squares observer describes the feedforward agent's productions approximately.",
        rivals,
        "Ours: in every one of several seeds it has a lower AIC than a clock with an end, than observers without a "
        "prior, and than a normal for each interval. Contradicted if in every seed a model without a prior has a lower "
        "AIC. This asks for more than the paper, which compares no other model.",
        about_feedforward(observer_fits),
    ),
    Statement(
        "feedforward-observer-bias", "3.2, Fig. 4b",
        "In particular, the observer shares the agent's bias towards the mean at both ends.",
        rivals,
        "What the observer leaves of the mean error at either end has an interval over seeds that holds 0 and lies "
        "within the tolerance (ours); contradicted if an interval excludes 0.",
        about_feedforward(observer_bias),
    ),
)  # fmt: skip
