"""Statements of section 3.5: sizes, other controllers, a frozen LSTM, and 10-step RL."""

from collections.abc import Callable

import numpy as np

from gnomon.analysis.performance import production
from gnomon.report.figures.performance import words
from gnomon.report.statements.performance import largest_error, produced, share_of_a_constant, shares
from gnomon.report.statements.seeds import difference, spread, verdict
from gnomon.report.statements.statement import (
    Judgement,
    Statement,
    feedforward,
    nobody,
    recurrent,
)
from gnomon.report.wording import number, share
from gnomon.study.files import Family, Study

ONE_SEED = "one seed decides nothing"

Pair = tuple[Family, Family]  # the variant and what it is compared with


# Who --------------------------------------------------------------------------------------------------------


def reference(study: Study, with_memory: bool) -> Family | None:
    return recurrent(study) if with_memory else feedforward(study)


def sizes(study: Study, with_memory: bool) -> list[Pair]:
    """Families like a compared one but for the number of units: fewer with a memory, more without."""
    base = reference(study, with_memory)
    return [] if base is None else [
        (family, base) for family in study.families
        if family.trained and family.controller == base.controller and family.horizon is None
        and (family.units < base.units if with_memory else family.units > base.units)
    ]  # fmt: skip


def ten_step(study: Study, with_memory: bool) -> list[Pair]:
    """The compared controllers, trained with a short horizon."""
    base = reference(study, with_memory)
    return [] if base is None else [
        (family, base) for family in study.families
        if family.trained and family.controller == base.controller and family.horizon is not None
    ]  # fmt: skip


def named(controller: str) -> Callable[[Study], list[Pair]]:
    """The families of a controller, beside the recurrent agent."""

    def pick(study: Study) -> list[Pair]:
        base = recurrent(study)
        return [] if base is None else [
            (family, base) for family in study.families
            if family.trained and family.controller == controller and family.horizon is None
        ]  # fmt: skip

    return pick


# Judges -----------------------------------------------------------------------------------------------------


def over_pairs(
    who: str, pick: Callable[[Study], list[Pair]], judge: Callable[[Study, Family, Family], Judgement]
) -> Callable[[Study], Judgement]:
    """All pairs together: all must be reproduced, one contradicted is enough to contradict."""

    def judged(study: Study) -> Judgement:
        pairs = pick(study)
        if not pairs:
            return nobody(who)
        each = [judge(study, *pair) for pair in pairs]
        verdicts = {one.verdict for one in each}
        together = "contradicted" if "contradicted" in verdicts else "not decided"
        here = ". ".join(f"{words(family.name)}: {one.here}" for (family, _), one in zip(pairs, each, strict=True))
        return Judgement(here, "reproduced" if verdicts == {"reproduced"} else together)

    return judged


def with_trials(study: Study, family: Family) -> str:
    """Shares within the tolerance, of a single seed with its interval over lanes; and what one seed is worth."""
    found = study.of(family)
    if len(found) > 1 or found[0].production is None:
        return ", ".join(share(value) for value in shares(study, family)) + " of trials within the tolerance"
    low, high = found[0].production.within.interval
    return (
        f"{share(found[0].share_within)} of trials within the tolerance (95 % over lanes {share(low)} to "
        f"{share(high)}); {ONE_SEED}"
    )


def same(study: Study, variant: Family, base: Family) -> Judgement:
    """Mean productions like those of the reference, within the tolerance."""
    expected = np.mean([each.mean for each in produced(study, base)], axis=0)
    away = spread(largest_error(each.mean - expected) for each in produced(study, variant))
    usual = spread(shares(study, base))
    here = (
        f"{with_trials(study, variant)}; {words(base.name)} {usual.written()}; mean productions differ by up to "
        f"{away.written(1)} frames"
    )
    limit = study.facts.tolerance
    return Judgement(here, verdict(away.below(limit), away.above(limit)))


def learned(study: Study, variant: Family, base: Family) -> Judgement:
    blind, found = share_of_a_constant(study), spread(shares(study, variant))
    here = f"{with_trials(study, variant)}; without a clock at most {share(blind)}"
    return Judgement(here, verdict(found.above(blind), found.below(blind)))


def biased(study: Study, variant: Family, base: Family) -> Judgement:
    errors = [[largest_error(each.bias) for each in produced(study, family)] for family in (variant, base)]
    more = difference(*errors)
    single = f"; {ONE_SEED}" if len(errors[0]) == 1 else ""
    here = (
        f"largest mean error {number(spread(errors[0]).value, 1)} frames, {words(base.name)} "
        f"{number(spread(errors[1]).value, 1)}; difference {more.written(1, '+')}{single}"
    )
    return Judgement(here, verdict(more.above(0), more.below(0)))


def impaired(study: Study, variant: Family, base: Family) -> Judgement:
    less = difference(shares(study, variant), shares(study, base))
    limit = study.facts.tolerance
    errors = spread(largest_error(each.bias) for each in produced(study, variant))
    here = f"{with_trials(study, variant)}; change {less.written(2, '+')}"
    return Judgement(here, verdict(less.below(0) and errors.above(limit), less.above(0) or errors.below(limit)))


SAME = (
    "Ours: the mean production differs from the usual agent's by less than the tolerance at every trained interval, "
    "with its interval over the variant's seeds; contradicted if the interval lies above it."
)
LEARNED = (
    "Ours: the share of trials within the tolerance is above the best that a fixed answer reaches, with its interval "
    "over seeds; contradicted if it is below."
)
BIASED = (
    "The largest mean error over the trained intervals is larger than the LSTM's, Welch interval over seeds; "
    "contradicted if smaller."
)
CONTROLLERS = {"rnn": "vanilla RNN", "gru": "GRU", "rmc": "relational memory core"}

STATEMENTS = (
    Statement(
        "recurrent-size", "3.5, Fig. 7", "Fewer units have a minimal effect on the LSTM agent's performance.",
        production, SAME, over_pairs("smaller LSTM", lambda study: sizes(study, True), same),
    ),
    Statement(
        "feedforward-size", "3.5, Fig. 7",
        "More units have a minimal effect on the feedforward agent's performance.",
        production, SAME, over_pairs("larger feedforward agent", lambda study: sizes(study, False), same),
    ),
    *(
        Statement(
            f"{controller}-learns", "3.5, Fig. 7", f"An agent with a {name} learns the task.", production, LEARNED,
            over_pairs(name, named(controller), learned),
        )
        for controller, name in CONTROLLERS.items()
    ),
    *(
        Statement(
            f"{controller}-biased", "3.5, Fig. 7", f"The agent with a {name} shows some biases.", production, BIASED,
            over_pairs(name, named(controller), biased),
        )
        for controller, name in CONTROLLERS.items() if controller != "gru"
    ),
    Statement(
        "frozen-lstm", "3.5, Fig. 7", "A frozen LSTM learns as well as a trained one.", production, SAME,
        over_pairs("frozen LSTM", named("frozen_lstm"), same),
    ),
    Statement(
        "ten-step-feedforward", "3.5, Fig. 7", "10-step RL impairs the feedforward agent severely.", production,
        "Fewer trials within the tolerance than with the whole unroll (Welch interval over seeds), and (ours, for "
        "\"severely\") a largest mean error above the tolerance. Contradicted if more trials are, or if that error is "
        "below.",
        over_pairs("10-step feedforward agent", lambda study: ten_step(study, False), impaired),
    ),
    Statement(
        "ten-step-recurrent", "3.5, Fig. 7", "10-step RL does not impair the recurrent agent.", production, SAME,
        over_pairs("10-step recurrent agent", lambda study: ten_step(study, True), same),
    ),
)  # fmt: skip
