"""Statements of section 3.2: the spread of the feedforward agent's productions, and the Bayesian observer."""

import numpy as np

from gnomon.analysis.performance import Production, production
from gnomon.analysis.scalar_variability import IDENTIFIED, ScalarVariability, scalar_variability
from gnomon.report.statements.performance import produced
from gnomon.report.statements.seeds import both, spread, verdict
from gnomon.report.statements.statement import Judgement, Statement, about_feedforward
from gnomon.report.wording import count, number, within
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


def scales(study: Study, family: Family) -> Judgement:
    fits = fits_of(study, family)
    order = spread(fit.order.value for fit in fits)
    falls = [fit.drop.below(0) for fit in fits]
    widest = ", ".join(str(fit.widest) for fit in fits)
    here = (
        f"rank correlation of s.d. and interval {order.written(2)}; the s.d. is largest at {widest} frames, and falls "
        f"after it beyond the noise of lanes in {sum(falls)} of {count(len(falls), 'seed')}"
    )
    fallen = len(falls) > 1 and all(falls)
    return Judgement(here, verdict(order.above(0) and not any(falls), order.below(0) or fallen))


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


KNOWN = f"c is identified in a seed if its interval over lanes is narrower than {number(IDENTIFIED, 1)}"

STATEMENTS = (
    Statement(
        "feedforward-sigmoid", "3.2", "The feedforward agent's curve of mean production is shaped like a sigmoid.",
        production,
        "Ours: mean production rises more steeply in the middle third of the intervals than at either end, each with "
        "its interval over seeds; contradicted if less steeply at one end.",
        about_feedforward(sigmoid),
    ),
    Statement(
        "feedforward-sd-scales", "3.2, Fig. 4a",
        "The s.d. of the feedforward agent's productions grows with the sample interval.",
        scalar_variability,
        "The rank correlation of s.d. and interval is above 0, with its interval over seeds, and in no seed does the "
        "s.d. fall at the long end by more than lanes vary (95 %). Contradicted if the correlation is below 0, or if "
        "the s.d. falls in every one of several seeds.",
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
)  # fmt: skip
