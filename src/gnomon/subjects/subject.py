"""What a subject is, and the loop in which every subject acts.

An agent, a scripted subject or a person: each decides for all lanes of a laboratory, frame by frame. Training,
evaluations, recordings and films are bodies of the same loop:

    for moment in frames(laboratory, subject):
        ...

The body runs between two frames. What is to be changed from outside is changed there: `laboratory.gaze` (lattice
indices, int64 [lanes]) and, of an agent, `subject.state` (unit name -> [lanes, ...]) may be read and set, lane by lane.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from gnomon.lab.laboratory import Frame, Laboratory


@dataclass(frozen=True)
class Decision:
    """What a subject does on a frame."""

    action: Tensor
    """int64 [lanes]."""


AnyDecision = TypeVar("AnyDecision", bound=Decision, covariant=True)


class Subject(ABC, Generic[AnyDecision]):
    """Someone who sits in every lane of a laboratory."""

    name: str
    """What to call it in titles."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    @abstractmethod
    def act(self) -> AnyDecision:
        """Decide what to do in every lane on the coming frame, by what the laboratory shows now."""

    def begin(self, first: Tensor) -> None:
        """What is seen next is the first of an episode in these lanes: bool [lanes]. Called after every frame."""

    def look_anew(self) -> None:
        """There are more observations in the laboratory than before."""


@dataclass(frozen=True)
class Moment(Generic[AnyDecision]):
    """One frame of a subject's life."""

    observation: Tensor
    """What was seen: observation ids, int64 [lanes]."""
    decision: AnyDecision
    """What was decided."""
    frame: Frame
    """What followed."""


def frames(laboratory: Laboratory, subject: Subject[AnyDecision]) -> Iterator[Moment[AnyDecision]]:
    """Let a subject act in its laboratory, frame by frame, for as long as the caller goes on."""
    while True:
        observation = laboratory.observation
        decision = subject.act()
        frame = laboratory.step(decision.action)
        subject.begin(frame.episode_end)
        yield Moment(observation, decision, frame)
