"""docs/paper.md: the paper's statements with the analyses that test them, made from the same list as the page's table.

`python -m gnomon.report.statements.document > docs/paper.md` writes it; a test says when it is stale.
"""

from gnomon.report.statements.all import STATEMENTS, UNTESTED

INTRODUCTION = """\
# What the paper says, and how it is tested

The statements of "Interval timing in deep reinforcement learning agents" (Deverett, Faulkner, Fortunato, Wayne, Leibo;
NeurIPS 2019) in the paper's order and in our own words, each with the analysis that tests it and the rule of its
verdict. `gnomon reproduce` writes a page with the verdicts and the numbers behind them. Its table is made from the same
list as this document (`gnomon.report.statements`).

A verdict is one of three:

- **reproduced** or **contradicted**: the numbers say so, with their uncertainty;
- **not decided**: they do not. One seed never decides anything about a kind of agent.

An interval "over seeds" is the mean ± t s / √n (Student's t, 95 %). For the difference of two kinds of agent it is
Welch's. "Ours" marks rules for words that the paper leaves open. "The tolerance" is the strictest one of the task,
8 frames.

The two agents compared here differ in more than their memory ([results](results.md)). So a verdict on a comparison is
about these agents.
"""


def document() -> str:
    """The whole document."""
    lines = [INTRODUCTION, "| where | the paper says | analysis | rule of the verdict |", "|---|---|---|---|"]
    lines += [
        f"| {each.where} | {each.says} | `{each.analysis_name}` | {each.rule} |".replace("≥", "at least")
        for each in STATEMENTS
    ]
    lines += ["", "## Not tested here", "", "| where | the paper says | why not |", "|---|---|---|"]
    lines += [f"| {each.where} | {each.says} | {each.why} |" for each in UNTESTED]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(document(), end="")
