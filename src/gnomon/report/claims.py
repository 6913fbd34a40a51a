"""Paper versus here: each claim of the paper, the number found here, and a verdict that follows from the number.

The rules are in this file and are printed beside the verdicts, so that nobody has to take them on trust.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gnomon.analysis.scalar_variability import ScalarVariability
from gnomon.report.figures.performance import words
from gnomon.report.participants import Family
from gnomon.report.study import Findings, Study
from gnomon.report.wording import NOTHING, count, mean, number, over_seeds, share, shares_over_seeds

Verdict = Literal["reproduced", "partly", "not reproduced", "no data"]

LEARNED = 0.8  # share of all trials within the tolerance that counts as having learned the task
FOLLOWS = (0.8, 1.2)  # slopes of mean production that count as reproducing intervals
SOMEWHAT = 0.5  # slopes, coefficients of determination and shares from which on something is partly so
FAINTLY = 0.2  # share of the gaze that its mean path explains from which on there is a path at all
EXPONENT = 0.7  # of the paper's feedforward agent
WIDEST = 1.0  # an interval of c wider than this does not speak for any exponent
GROWS = 1.5  # s.d. at the longest sample interval over that at the shortest


@dataclass(frozen=True)
class Claim:
    """One line of the table."""

    subject: str
    paper: str
    here: str
    rule: str
    verdict: Verdict


def claims(study: Study) -> list[Claim]:
    """Every claim about the families that are looked at closely, then the one about the variants."""
    made: list[Claim] = []
    for family in study.chiefs:
        found = study.of(family)
        made += [learns(family, found), between(family, found), beyond(family, found), spread(family, found)]
        made += [observer(family, found)]
    made += [clock(family, study.of(family)) for family in study.chiefs if family.controller == "lstm"]
    made += [gaze_path(family, study.of(family)) for family in study.chiefs if family.controller == "feedforward"]
    made += variants(study)
    return made


def graded(values: Sequence[float], whole: tuple[float, float], some: float) -> Verdict:
    """By the mean over seeds: within `whole` it is reproduced, else from `some` on partly."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return "no data"
    value = mean(finite)
    return "reproduced" if whole[0] <= value <= whole[1] else "partly" if value >= some else "not reproduced"


def learned(found: Sequence[Findings]) -> bool:
    """Whether a family has learned the task, by its mean over seeds."""
    return mean([each.share_within for each in found]) >= LEARNED


def slopes(found: Sequence[Findings]) -> list[float]:
    return [each.production.line.slope for each in found if each.production is not None]


def learns(family: Family, found: Sequence[Findings]) -> Claim:
    shares = [each.share_within for each in found]
    verdict: Verdict = "reproduced" if learned(found) else graded(slopes(found), (math.inf, math.inf), SOMEWHAT)
    tolerance = family.members[0].task.base_tolerance
    here = f"{shares_over_seeds(shares)} of trials within {tolerance:g} frames; slope {over_seeds(slopes(found))}"
    rule = f"{share(LEARNED)} of trials within the tolerance; partly from a slope of {SOMEWHAT} on"
    return Claim(f"{words(family.name)}: learns", "learns to reproduce 10 to 100 frames", here, rule, verdict)


def between(family: Family, found: Sequence[Findings]) -> Claim:
    values = [each.generalisation.interpolated.slope for each in found if each.generalisation is not None]
    return generalises(family, "between", "reproduces intervals between the trained ones", values)


def beyond(family: Family, found: Sequence[Findings]) -> Claim:
    values = [each.generalisation.above.slope for each in found if each.generalisation is not None]
    return generalises(family, "beyond", "reproduces intervals beyond the trained ones", values)


def generalises(family: Family, where: str, paper: str, values: Sequence[float]) -> Claim:
    rule = f"slope {FOLLOWS[0]} to {FOLLOWS[1]}; partly from {SOMEWHAT} on"
    here = f"slope {over_seeds(values)}"
    return Claim(f"{words(family.name)}: {where}", paper, here, rule, graded(values, FOLLOWS, SOMEWHAT))


def growth(fits: Sequence[ScalarVariability]) -> float:
    """The s.d. at the longest sample interval over that at the shortest, mean over seeds."""
    return mean([float(fit.sd[-1] / fit.sd[0]) for fit in fits if fit.sd[0] > 0])


def grows(fits: Sequence[ScalarVariability]) -> bool:
    return growth(fits) >= GROWS


def spread(family: Family, found: Sequence[Findings]) -> Claim:
    """Scalar variability; the paper prints an exponent for the feedforward agent only."""
    fits = [each.scalar_variability for each in found if each.scalar_variability is not None]
    here = (
        f"c = {over_seeds([fit.c for fit in fits])}; "
        f"s.d. {number(growth(fits), 1)} times as large at the longest interval as at the shortest"
    )
    subject = f"{words(family.name)}: spread"
    if family.controller != "feedforward":
        verdict: Verdict = "no data" if not fits else "reproduced" if grows(fits) else "not reproduced"
        rule = f"s.d. grows at least {GROWS}-fold"
        return Claim(subject, "spread grows with the interval", here, rule, verdict)
    tight = [low <= EXPONENT <= high and high - low <= WIDEST for low, high in (fit.c_interval for fit in fits)]
    exponent = 2 * sum(tight) > len(fits)
    verdict = "no data" if not fits else "not reproduced"
    if grows(fits):
        verdict = "reproduced" if exponent else "partly"
    rule = (
        f"{EXPONENT} within a 95 % interval no wider than {WIDEST:g}, in most seeds; partly if s.d. grows {GROWS}-fold"
    )
    return Claim(subject, f"spread grows as a power law, c = {EXPONENT}", here, rule, verdict)


def observer(family: Family, found: Sequence[Findings]) -> Claim:
    """The BLS observer against observers without a prior."""
    subject, paper = f"{words(family.name)}: observer", "a Bayesian observer (BLS) describes the productions"
    rule = "a BLS observer has the lowest AIC in most seeds, and its fit can be trusted; partly if only the former"
    fitted = [(each.comparison, each.observer) for each in found]
    pairs = [(comparison, bls) for comparison, bls in fitted if comparison is not None and bls is not None]
    if not pairs:
        return Claim(subject, paper, NOTHING, rule, "no data")
    best = [comparison.fits[0].observer == "bls" for comparison, _ in pairs]
    sure = [bls.converged and not bls.complaint for _, bls in pairs]
    here = (
        f"BLS is best in {sum(best)} of {count(len(best), 'seed')}; w_m "
        f"{over_seeds([bls.w_m for _, bls in pairs], 3)}, w_p {over_seeds([bls.w_p for _, bls in pairs], 3)}"
    )
    most = 2 * sum(best) > len(best)
    trusted = 2 * sum(sure) > len(sure)
    return Claim(subject, paper, here, rule, ("reproduced" if trusted else "partly") if most else "not reproduced")


def clock(family: Family, found: Sequence[Findings]) -> Claim:
    """Elapsed time in the units."""
    seen = [each.population for each in found if each.population is not None]
    decoders = [[population.decoder(event) for population in seen] for event in ("ready", "set")]
    r2 = [[decoder.r2 for decoder in each] for each in decoders]
    chance = max((decoder.chance_r2_interval[1] for each in decoders for decoder in each), default=math.nan)
    weakest = [min(pair) for pair in zip(*r2, strict=True)]
    verdict = graded(weakest, (SOMEWHAT, math.inf), chance if math.isfinite(chance) else math.inf)
    here = f"R² {over_seeds(r2[0])} since Ready, {over_seeds(r2[1])} since Set (chance at most {number(chance)})"
    rule = f"R² of held-out trials at least {SOMEWHAT} for both; partly if above chance"
    return Claim(f"{words(family.name)}: units", "its units carry the time that has passed", here, rule, verdict)


def gaze_path(family: Family, found: Sequence[Findings]) -> Claim:
    """The clock in the world."""
    seen = [each.gaze.overall[0] for each in found if each.gaze is not None]
    moved, alike = [each.share_moved for each in seen], [each.stereotypy for each in seen]
    # Not by how much it moves: a gaze that wanders at random moves as much, but never along the same path.
    verdict = graded(alike, (SOMEWHAT, math.inf), FAINTLY)
    moves, explains = shares_over_seeds(moved), shares_over_seeds(alike)
    here = f"moves in {moves} of frames from Ready to Set; its mean path explains {explains}"
    rule = f"the mean path explains at least {share(SOMEWHAT)} of where the gaze is; partly from {share(FAINTLY)} on"
    paper = "keeps time by moving its gaze along a path"
    return Claim(f"{words(family.name)}: gaze", paper, here, rule, verdict)


def variants(study: Study) -> list[Claim]:
    """Whether the other agents learn as well."""
    others = [family for family in study.families if family not in study.chiefs]
    if not others:
        return []
    able = [family for family in others if learned(study.of(family))]
    unable = ", ".join(words(family.name) for family in others if family not in able)
    here = f"{len(able)} of {len(others)} learn" + (f"; not {unable}" if unable else "")
    verdict: Verdict = "reproduced" if not unable else "partly" if able else "not reproduced"
    paper = "other sizes, controllers and 10-step RL learn as well"
    rule = f"each has {share(LEARNED)} of trials within the tolerance; partly if some"
    return [Claim("variants", paper, here, rule, verdict)]
