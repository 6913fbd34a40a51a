"""Every statement of the paper's results, with its verdict."""

from collections import Counter

from gnomon.report.gallery import Gallery
from gnomon.report.page import VERDICTS, Section, Table
from gnomon.report.statements.all import STATEMENTS, UNTESTED
from gnomon.report.wording import count, listed
from gnomon.study.files import Study

PAPER_SEEDS = 15


def section(study: Study, gallery: Gallery) -> Section:
    header = ("where", "the paper says, in our words", "verdict", "here", "rule of the verdict")
    rows = []
    for statement in STATEMENTS:
        judged = statement.judge(study)
        rows.append((statement.where, statement.says, judged.verdict, judged.here, statement.rule))
    text = (
        "A verdict follows from the numbers by the rule in the last column. “Ours” marks rules for words that the "
        "paper leaves open, such as “near-perfect”. The interval of a number over seeds is its mean ± t s / √n "
        "(Student's t, 95 %), not cut at the limits of a correlation or a share. Where it does not settle the matter, "
        "and wherever there is a single seed, the verdict is “not decided”. The paper's learning curves have "
        f"{PAPER_SEEDS} seeds.",
        "The agents here were not trained as the paper's were: see the table of how they differ from the preset paper.",
    )
    untested = Table(
        "Not tested here",
        ("where", "the paper says, in our words", "why not"),
        tuple((each.where, each.says, each.why) for each in UNTESTED),
    )
    return Section("The paper's statements", text, (), (Table("Each statement", header, tuple(rows)), untested))


def tally(study: Study) -> str:
    """One sentence: how many statements got which verdict."""
    verdicts = Counter(statement.judge(study).verdict for statement in STATEMENTS)
    if set(verdicts) == {"not decided"}:
        return f"None of the {count(len(STATEMENTS), 'statement')} of the paper is decided by these agents alone."
    parts = listed([f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS if verdicts[verdict]])
    return f"Of {count(len(STATEMENTS), 'statement')} of the paper tested here: {parts}."
