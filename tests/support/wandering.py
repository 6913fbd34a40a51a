"""Drives any task through all it can do: a gaze that visits its boxes, strays and clicks at random."""

import torch

from gnomon.lab.laboratory import CLICK, MOVES, Laboratory
from gnomon.subjects.scripted import ScriptedSubject
from gnomon.subjects.steering import Steering
from gnomon.subjects.subject import Decision

UP = list(MOVES).index("up")


class WanderingSubject(ScriptedSubject):
    """Walks from one box to the next; now and then it looks up and away, off the monitor."""

    def __init__(self, laboratory: Laboratory, seed: int = 0) -> None:
        super().__init__(laboratory, seed)
        self._steering = Steering(laboratory)
        self._boxes = len(laboratory.task.boxes())
        self._goal = torch.zeros(laboratory.lanes, dtype=torch.int64)

    def act(self) -> Decision:
        size = (self.laboratory.lanes,)
        turns, strays, clicks = torch.rand(3, *size, generator=self.generator)
        running = self.laboratory.trials.running
        somewhere = torch.randint(self._boxes + 1, size, generator=self.generator)  # the last is nowhere
        self._goal = torch.where(turns < 0.07, somewhere, self._goal)
        self._goal = torch.where(~running & (turns > 0.9), 0, self._goal)
        anything = torch.randint(len(MOVES), size, generator=self.generator)
        away = self._goal == self._boxes
        action = torch.where(away, UP, self._steering.towards(self._goal.clamp(max=self._boxes - 1)))
        action = torch.where(strays < 0.1, anything, action)
        clicked = torch.where(clicks < 0.15, CLICK, action) if self.laboratory.task.clicks else action
        return Decision(clicked)
