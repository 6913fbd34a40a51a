"""Statements of section 3.3: what the units do in a trial."""

from gnomon.report.statements.statement import Statement

STATEMENTS: tuple[Statement, ...] = ()
