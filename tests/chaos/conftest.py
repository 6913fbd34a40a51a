"""Counts of what the chaos tests did, at the end of the report."""

import pytest
from chaos_cases import COUNTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        counts = ", ".join(f"{number:,} {name}" for name, number in COUNTS.items())
        terminalreporter.write_line(f"chaos: {counts}")
