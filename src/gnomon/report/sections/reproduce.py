"""Versions, and what to type to get the page again."""

from collections.abc import Sequence

from gnomon.report.page import Section, Table
from gnomon.study.files import Study


def section(study: Study, commands: Sequence[str]) -> Section:
    text = (
        "The same commands on the same versions give the same numbers. Every stage is a file beside this page (trials, "
        "recordings, results, figures), so a run that was stopped goes on where it was, and what is unchanged is not "
        "done again.",
        "gnomon play --out play.html, in this folder, writes the laboratory in the browser; the next page will link "
        "to it.",
    )
    versions = Table("This page was made with", ("what", "version"), study.facts.versions)
    return Section("How to reproduce this page", text, (), (versions,), tuple(commands))
