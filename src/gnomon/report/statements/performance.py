"""Statements of section 3.1: how well the two agents do the task, and how far they generalise."""

import math

import numpy as np

from gnomon.analysis.generalisation import Generalisation, generalisation
from gnomon.analysis.performance import Production, production
from gnomon.analysis.seeds import end_bias_over_seeds, time_to_half, widths
from gnomon.report.statements.seeds import Spread, both, difference, from_difference, spread, spread_of, verdict
from gnomon.report.statements.statement import (
    Judgement,
    Statement,
    about_both,
    about_feedforward,
    about_recurrent,
)
from gnomon.report.wording import NOTHING, count, number, over_seeds, shares_over_seeds, within
from gnomon.study.files import Family, Study

MATCHED = (
    "Ours: the largest mean error over the trained intervals is below the task's strictest tolerance, with its "
    "interval over seeds; contradicted if the interval lies above it."
)
MILLION = 1e6
REGIONS = {"interpolated": "between", "below": "below", "above": "above"}  # of untrained intervals


# Numbers of one seed --------------------------------------------------------------------------------------


def produced(study: Study, family: Family) -> list[Production]:
    return [each.production for each in study.of(family) if each.production is not None]


def largest_error(bias: np.ndarray) -> float:
    """The largest mean error (frames) over intervals; an interval that was never answered is an infinite miss."""
    return float(np.abs(np.where(np.isnan(bias), math.inf, bias)).max()) if len(bias) else math.nan


def mean_size(bias: np.ndarray) -> float:
    """The mean size of the mean error over intervals; an interval that was never answered is an infinite miss."""
    return float(np.abs(np.where(np.isnan(bias), math.inf, bias)).mean()) if len(bias) else math.nan


def shares(study: Study, family: Family) -> list[float]:
    return [each.share_within for each in study.of(family)]


def share_of_a_constant(study: Study) -> float:
    """The largest share of trials that one and the same answer gets within the tolerance: what needs no clock."""
    t_s = np.array(study.facts.intervals)
    answers = np.arange(t_s.max() + 1)[:, None]
    return float((np.abs(answers - t_s) < study.facts.tolerance).mean(axis=1).max())


def region_errors(study: Study, family: Family, region: str) -> list[float]:
    """Each seed's mean size of the mean error over the untrained intervals of a region, frames."""
    results = [each.generalisation for each in study.of(family) if each.generalisation is not None]
    return [float(np.abs(each.bias[np.array(each.kind) == region]).mean()) for each in results if region in each.kind]


# Judges ---------------------------------------------------------------------------------------------------


def against_tolerance(study: Study, errors: Spread, also: str) -> Judgement:
    limit = study.facts.tolerance
    here = f"largest mean error {errors.written(1)} frames, tolerance {number(limit, 0)}{also}"
    return Judgement(here, verdict(errors.below(limit), errors.above(limit)))


def matches(study: Study, family: Family) -> Judgement:
    errors = spread(largest_error(each.bias) for each in produced(study, family))
    return against_tolerance(study, errors, f"; {shares_over_seeds(shares(study, family))} of trials within it")


def tested(study: Study, family: Family, region: str) -> list[Generalisation]:
    """The seeds that were tested at untrained intervals of this region."""
    results = [each.generalisation for each in study.of(family) if each.generalisation is not None]
    return [each for each in results if region in each.kind]


def off_the_line(found: Generalisation) -> float:
    """How far mean production between trained intervals is off the line through the two nearest, mean over intervals.

    In units of half of the way to the nearest trained interval: one that is answered like its neighbour is 2 off.
    """
    trained, between = found.region("trained"), found.region("interpolated")
    known, t_s = found.sample_interval[trained], found.sample_interval[between]
    expected = np.interp(t_s, known, found.mean[trained])
    half_way = np.abs(t_s[:, None] - known).min(axis=1) / 2
    return mean_size((found.mean[between] - expected) / half_way)


def interpolates(study: Study, family: Family) -> Judgement:
    seeds = tested(study, family, "interpolated")
    off = spread(off_the_line(each) for each in seeds)
    errors = spread(largest_error(each.bias[each.region("interpolated")]) for each in seeds)
    limit = study.facts.tolerance
    here = (
        f"off the line through the answers to the two nearest trained intervals by {off.written()} of half of the way "
        f"to the nearest; largest mean error {errors.written(1)} frames, tolerance {number(limit, 0)}"
    )
    matched = verdict(errors.below(limit), errors.above(limit))
    return Judgement(here, both(verdict(off.below(1), off.above(1)), matched))


def extrapolates(study: Study, family: Family) -> Judgement:
    seeds, limit = tested(study, family, "above"), study.facts.tolerance
    t_s = sorted({int(each) for found in seeds for each in found.sample_interval[found.region("above")]})
    errors = [spread(largest_error(found.bias[found.sample_interval == each]) for found in seeds) for each in t_s]
    said = [
        f"{each.value:.1f} ({within(each.interval, 1)}) at {frames}" for each, frames in zip(errors, t_s, strict=True)
    ]
    here = f"size of the mean error, frames (95 %; {count(len(seeds), 'seed')}): {', '.join(said) or NOTHING}"
    near, far = [each.below(limit) for each in errors], [each.above(limit) for each in errors]
    return Judgement(here, verdict(bool(near) and all(near), bool(far) and all(far)))


def learns(study: Study, family: Family) -> Judgement:
    blind, found = share_of_a_constant(study), spread(shares(study, family))
    here = f"{found.written()} of trials within the tolerance; without a clock at most {number(blind)}"
    return Judgement(here, verdict(found.above(blind), found.below(blind)))


def learns_more_slowly(study: Study, with_memory: Family, without: Family) -> Judgement:
    if with_memory.name not in study.learning or without.name not in study.learning:
        return Judgement("no learning curves of both are at hand", "not decided")
    slow, fast = (
        [float(value) / MILLION for value in time_to_half(study.learning[family.name].over_frames)]
        for family in (without, with_memory)
    )
    later = difference(slow, fast)
    here = (
        f"half of the final reward rate after {over_seeds(slow, 1)} million frames, the recurrent agent after "
        f"{over_seeds(fast, 1)}; difference {later.written(1, '+')}"
    )
    differing = differing_settings(with_memory, without)
    if differing:
        here += (
            f". The two differ in {len(differing)} settings besides the controller, so their speeds cannot be compared"
        )
        return Judgement(here, "not decided")
    return Judgement(here, verdict(later.above(0), later.below(0)))


def differing_settings(first: Family, second: Family) -> list[str]:
    """Settings but the controller in which two families differ."""
    ours, theirs = ({each.name: each.value for each in family.settings} for family in (first, second))
    return [name for name in ours if name.rpartition(".")[2] != "controller" and ours.get(name) != theirs.get(name)]


def less_accurate(study: Study, with_memory: Family, without: Family) -> Judgement:
    less = difference(shares(study, without), shares(study, with_memory))
    here = f"share of trials within the tolerance, feedforward minus recurrent: {less.written(2, '+')}"
    return Judgement(here, verdict(less.below(0), less.above(0)))


def wider(study: Study, with_memory: Family, without: Family) -> Judgement:
    found = widths(produced(study, without), produced(study, with_memory))
    more = from_difference(found.overall)
    at = [each.difference > 0 for each in found.differences]
    here = (
        f"mean s.d. in frames, feedforward minus recurrent: {more.written(1, '+')}; wider at {sum(at)} of {len(at)} "
        "intervals, means over seeds"
    )
    return Judgement(here, verdict(more.above(0), more.below(0)))


def towards_the_mean(end: int):
    """At the shortest (0) or the longest (-1) interval: productions err towards the middle of the intervals."""

    def judge(study: Study, family: Family) -> Judgement:
        ends = end_bias_over_seeds(produced(study, family))
        found = spread_of(ends.shortest if end == 0 else ends.longest, len(produced(study, family)))
        here = f"mean error at {study.facts.intervals[end]} frames: {found.written(1, '+')}"
        yes, no = (found.above(0), found.below(0)) if end == 0 else (found.below(0), found.above(0))
        return Judgement(here, verdict(yes, no))

    return judge


def generalises_worse(study: Study, with_memory: Family, without: Family) -> Judgement:
    more = {
        words: difference(region_errors(study, without, region), region_errors(study, with_memory, region))
        for region, words in REGIONS.items()
    }
    said = [f"{words} {each.written(1, '+')}" for words, each in more.items() if not math.isnan(each.value)]
    here = f"mean error in frames, feedforward minus recurrent: {'; '.join(said) or NOTHING}"
    worse, better = (sum(getattr(each, side)(0) for each in more.values()) for side in ("above", "below"))
    return Judgement(here, verdict(worse > 0 and not better, better > 0 and not worse))


ONLY_A_FIGURE = "Which intervals the paper tested, only a figure tells."

STATEMENTS = (
    Statement(
        "recurrent-accuracy", "3.1, Fig. 3a-b",
        "The recurrent agent does the task almost perfectly: its productions match the samples at every trained "
        "interval.",
        production, MATCHED, about_recurrent(matches),
    ),
    Statement(
        "recurrent-interpolates", "3.1, Fig. 3c",
        "The recurrent agent has learned a general rule: it also times intervals between the trained ones.",
        generalisation,
        "Ours: mean production is off the line through the answers to the two nearest trained intervals by less than "
        "half of the way to the nearest (a subject that has memorised a list of intervals is off by all of it), mean "
        "over intervals; and every mean error is below the tolerance; both with their intervals over seeds. "
        f"Contradicted if one interval says the opposite. {ONLY_A_FIGURE}",
        about_recurrent(interpolates),
    ),
    Statement(
        "recurrent-extrapolates", "3.1, Fig. 3c",
        "The recurrent agent extrapolates to intervals outside the trained ones. Here: above the longest.",
        generalisation,
        "Ours: the mean error is below the tolerance, with its interval over seeds, at every interval tested; "
        f"contradicted if it is above at every one. {ONLY_A_FIGURE} Below the shortest nothing can be tested: Set "
        "would appear while Ready is still on.",
        about_recurrent(extrapolates),
    ),
    Statement(
        "feedforward-learns", "3.1, Fig. 3",
        "The feedforward agent learns the task, too.",
        production,
        "Ours: the share of trials within the tolerance is above the best that a fixed answer reaches, with its "
        "interval over seeds; contradicted if it is below.",
        about_feedforward(learns),
    ),
    Statement(
        "feedforward-slower", "3.1, Fig. 3a",
        "The feedforward agent learns more slowly than the recurrent one.",
        time_to_half,
        "Frames until half of an agent's final reward rate, Welch interval of the difference over seeds. "
        "Decided only if both were trained with the same settings.",
        about_both(learns_more_slowly),
    ),
    Statement(
        "feedforward-less-accurate", "3.1, Fig. 3",
        "The feedforward agent is less accurate than the recurrent one.",
        production,
        "Share of trials within the tolerance, Welch interval of the difference over seeds: below 0; contradicted if "
        "above.",
        about_both(less_accurate),
    ),
    Statement(
        "feedforward-wider", "3.1, Fig. 3b",
        "The feedforward agent's productions are more widely distributed than the recurrent one's.",
        widths,
        "S.d. of production, mean over trained intervals, Welch interval of the difference over seeds: above 0; "
        "contradicted if below.",
        about_both(wider),
    ),
    Statement(
        "feedforward-bias-short", "3.1, Fig. 3b",
        "The feedforward agent's productions are biased towards the mean at both ends. Here: the shortest interval, "
        "answered late.",
        end_bias_over_seeds, "Mean error above 0, with its interval over seeds; contradicted if below.",
        about_feedforward(towards_the_mean(0)),
    ),
    Statement(
        "feedforward-bias-long", "3.1, Fig. 3b",
        "The feedforward agent's productions are biased towards the mean at both ends. Here: the longest interval, "
        "answered early.",
        end_bias_over_seeds, "Mean error below 0, with its interval over seeds; contradicted if above.",
        about_feedforward(towards_the_mean(-1)),
    ),
    Statement(
        "feedforward-generalises-worse", "3.1, Fig. 3c",
        "The feedforward agent generalises less well to untrained intervals than the recurrent one.",
        generalisation,
        "Mean error between, below and above the trained intervals, each with Welch's interval of the difference over "
        "seeds: above 0 in at least one region and below 0 in none; contradicted the other way round.",
        about_both(generalises_worse),
    ),
    Statement(
        "feedforward-matched", "3.1, Fig. 3b",
        "For all that, the feedforward agent's productions match the samples remarkably well.",
        production, MATCHED, about_feedforward(matches),
    ),
)  # fmt: skip
