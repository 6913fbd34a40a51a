"""`make chaos`: the tests of this folder again and again, with other seeds each turn, until the time is up.

What was done is counted and printed after every turn, and at the end, however it comes.
"""

import signal
import time

import pytest
from chaos_cases import CHAOS


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """None: pytest's own loop, which does one turn."""
    if not CHAOS.minutes or session.testsfailed or session.config.option.collectonly:
        return None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a summary comes also then
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    start = time.monotonic()
    while True:
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            over = time.monotonic() - start > 60 * CHAOS.minutes
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None if over else following)
            if session.testsfailed:
                session.shouldfail = f"to see it again: GNOMON_CHAOS_TURN={CHAOS.turn} python -m pytest {item.nodeid}"
                raise session.Failed(session.shouldfail)
            if over:
                return True
        CHAOS.turn += 1
        reporter.write_line(f"\nturn {CHAOS.turn}, {(time.monotonic() - start) / 60:.1f} minutes: {CHAOS}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if CHAOS.counts:
        terminalreporter.write_line(f"chaos: {CHAOS}")
