"""Statements of section 3.4: where the gaze goes."""

from gnomon.report.statements.statement import Statement

STATEMENTS: tuple[Statement, ...] = ()
