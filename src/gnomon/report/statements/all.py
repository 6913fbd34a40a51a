"""Every statement of the paper's results, in the paper's order; and those that nothing here can test."""

from gnomon.report.statements import clock, gaze, performance, psychophysics, units, variants
from gnomon.report.statements.statement import Statement, Untested

STATEMENTS: tuple[Statement, ...] = (
    *performance.STATEMENTS,
    *psychophysics.STATEMENTS,
    *units.STATEMENTS,
    *clock.RECURRENT,
    *gaze.STATEMENTS,
    *clock.FEEDFORWARD,
    *variants.STATEMENTS,
)

NO_ANIMALS = "There are no data of animals here."

UNTESTED = (
    Untested(
        "2.1", "Other settings of the curriculum give much the same results.",
        "Every agent here was trained with the same curriculum.",
    ),
    Untested("3.2", "The feedforward agent's performance resembles data of humans and other primates.", NO_ANIMALS),
    Untested("3.3", "The recurrent agent's averages resemble activity in the parietal cortex of monkeys.", NO_ANIMALS),
    Untested("3.4", "The strategy resembles stereotyped movements of rats that time an interval.", NO_ANIMALS),
)  # fmt: skip
