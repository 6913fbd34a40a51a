"""Scripted subjects whose clock is known: a counter in the head, a path on the screen, or both in given shares.

All of them do the same things: from Ready on the counter counts up and the gaze walks along a path, from Set on both
return. They differ only in what they read the time from. So a subject with its clock in the head has a gaze that
tells the time just as well, and only an intervention can find out that it is not read.
"""

import torch
from torch import Tensor

from gnomon.lab.laboratory import MOVES, Laboratory
from gnomon.lab.tasks.base import CROSS_CENTRE
from gnomon.lab.tasks.ready_set_go import GO, ReadySetGo
from gnomon.subjects.scripted import ScriptedSubject
from gnomon.subjects.steering import Steering
from gnomon.subjects.subject import Decision

SPARE = 10  # places of the path beyond the longest interval, either way


class ClockSubject(ScriptedSubject):
    """Reproduces the interval by a clock of which `share` is on the screen and the rest in the head.

    The time left after Set is (1 - share) * count + share * place, where the count is its state and the place is that
    of its gaze on the path. It leaves for Go when the way takes just that time.
    """

    def __init__(self, laboratory: Laboratory, seed: int = 0, *, share: float) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"share is {share}; it must lie between 0 (clock in the head) and 1 (on the screen)")
        if not isinstance(laboratory.task, ReadySetGo):
            raise ValueError(f"a scripted clock is for {ReadySetGo.name}; the task here is {laboratory.task.name}")
        super().__init__(laboratory, seed)
        self.share = share
        self.name = {0.0: "counter", 1.0: "path"}.get(share, f"mixture {share:g}")
        self._steering = Steering(laboratory)
        self._path, self._zero = snake(laboratory, max(laboratory.task.intervals) + SPARE)
        side = laboratory.lattice.side
        gazes = torch.arange(laboratory.lattice.count, device=laboratory.device)
        apart = (
            (gazes[:, None] % side - self._path % side)
            .abs()
            .maximum((gazes[:, None] // side - self._path // side).abs())
        )
        self._place = apart.argmin(1) - self._zero  # int64 [gazes]: of the nearest place of the path
        moves = torch.full((3, 3), 0, device=laboratory.device)  # [1 + up, 1 + right] -> action
        for action, (right, up) in enumerate(MOVES.values()):
            moves[1 + up, 1 + right] = action
        self._move = moves
        self._leaving = torch.zeros(laboratory.lanes, dtype=torch.bool, device=laboratory.device)
        self.state: dict[str, Tensor] = self.initial_state()
        """The counter, in frames: {"count": float [lanes, 1]}."""

    def initial_state(self) -> dict[str, Tensor]:
        """Nothing counted yet."""
        return {"count": torch.zeros(self.laboratory.lanes, 1, device=self.laboratory.device)}

    def act(self) -> Decision:
        laboratory, trials = self.laboratory, self.laboratory.trials
        running, now = trials.running, trials.now
        ready, set_ = running & (now >= trials.event("ready")), running & (now >= trials.event("set"))
        count, place = self.state["count"][:, 0], self._place[laboratory.gaze]
        left = (1 - self.share) * count + self.share * place
        self._leaving = set_ & (self._leaving | (left <= self._steering.steps(GO)))
        one = torch.where(set_, -1, 1)
        self.state = {"count": torch.where(ready, count + one, 0.0).unsqueeze(1)}
        along = self._towards(torch.where(ready, place + one, 0))
        action = torch.where(self._leaving, self._steering.towards(torch.full_like(place, GO)), along)
        return Decision(torch.where(running, action, self._steering.towards(torch.full_like(place, CROSS_CENTRE))))

    def _towards(self, place: Tensor) -> Tensor:
        """The actions that lead to these places of the path, int64 [lanes], a step at a time."""
        side, gaze = self.laboratory.lattice.side, self.laboratory.gaze
        goal = self._path[(place + self._zero).clamp(0, len(self._path) - 1)]
        right, up = (goal % side - gaze % side).clamp(-1, 1), (goal // side - gaze // side).clamp(-1, 1)
        return self._move[1 + up, 1 + right]


def snake(laboratory: Laboratory, reach: int) -> tuple[Tensor, int]:
    """A path of gazes, each one step from the next, to and fro below the cross; and the number of its middle.

    It has at least `reach` places on either side of its middle: int64 [places].
    """
    lattice = laboratory.lattice
    rows = -(-(2 * reach + 1) // lattice.side)
    if rows > lattice.reach:
        raise ValueError(
            f"a path of {2 * reach + 1} places does not fit below the cross on a lattice of {lattice.side} x "
            f"{lattice.side} gazes; choose a smaller gaze_step"
        )
    columns = torch.arange(-lattice.reach, lattice.reach + 1, device=laboratory.device)
    parts = []
    for number in range(rows):
        row = torch.full_like(columns, -1 - number)
        parts.append(lattice.index(columns if number % 2 == 0 else columns.flip(0), row))
    path = torch.cat(parts)
    return path, len(path) // 2


CLOCKS = {"counter": 0.0, "path": 1.0, "mixture": 0.5}
"""Scripted clocks by name, with the share of the clock that is on the screen."""
