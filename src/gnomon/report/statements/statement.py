"""What a statement of the paper is, and what it takes to judge it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gnomon.study.files import Family, Study

Verdict = Literal["reproduced", "contradicted", "not decided"]


@dataclass(frozen=True)
class Judgement:
    """What was found here, and what follows from it."""

    here: str
    verdict: Verdict


@dataclass(frozen=True)
class Statement:
    """One statement of the paper, in our words, with the analysis that tests it and the rule of its verdict."""

    id: str
    where: str  # section and figure of the paper
    says: str  # what the paper says, no more; what it only implies is called so
    analysis: Callable[..., object]
    rule: str
    judge: Callable[[Study], Judgement]

    @property
    def analysis_name(self) -> str:
        """As in the API reference: "performance.production"."""
        return f"{self.analysis.__module__.removeprefix('gnomon.analysis.')}.{self.analysis.__name__}"


@dataclass(frozen=True)
class Untested:
    """A statement that no analysis here can test, and why."""

    where: str
    says: str
    why: str


def recurrent(study: Study) -> Family | None:
    """The compared family with a memory: the paper's recurrent agent."""
    return next((family for family in study.compared if family.trained and family.recurrent), None)


def feedforward(study: Study) -> Family | None:
    """The compared family without a memory: the paper's feedforward agent."""
    return next((family for family in study.compared if family.trained and not family.recurrent), None)


def nobody(who: str) -> Judgement:
    """When those whom a statement is about did not take part."""
    return Judgement(f"no {who} took part", "not decided")


def about(
    who: Callable[[Study], Family | None], name: str, judge: Callable[[Study, Family], Judgement]
) -> Callable[[Study], Judgement]:
    """A judge of a statement about one family."""

    def judged(study: Study) -> Judgement:
        family = who(study)
        return nobody(name) if family is None else judge(study, family)

    return judged


def about_recurrent(judge: Callable[[Study, Family], Judgement]) -> Callable[[Study], Judgement]:
    return about(recurrent, "recurrent agent", judge)


def about_feedforward(judge: Callable[[Study, Family], Judgement]) -> Callable[[Study], Judgement]:
    return about(feedforward, "feedforward agent", judge)


def about_both(judge: Callable[[Study, Family, Family], Judgement]) -> Callable[[Study], Judgement]:
    """A judge of a comparison; it is given the recurrent family first."""

    def judged(study: Study) -> Judgement:
        with_memory, without = recurrent(study), feedforward(study)
        if with_memory is None or without is None:
            return nobody("recurrent and feedforward agents")
        return judge(study, with_memory, without)

    return judged
