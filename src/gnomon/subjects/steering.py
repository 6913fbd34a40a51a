"""Steering: takes every lane's gaze to a box by the fewest lattice steps, for scripted subjects."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gnomon.lab.laboratory import CLICK, MOVES, STAY, Laboratory
from gnomon.lab.tasks.base import CROSS_CENTRE, MONITOR_CENTRE, Plan

UNREACHED = 1e6  # steps to a box that no path leads to
NUDGE = 1e-3  # steps per step: of equally short ways, the one whose next gaze is nearest to the box's middle


class Steering:
    """Takes every lane's gaze to a box by the fewest lattice steps, or to its resting place.

    A shortest way into a box meets it only with its last step, so that none is entered before its time. The way to
    a box leads around the one that the task calls its rival.
    """

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        lattice, boxes = laboratory.lattice, laboratory.task.boxes()
        inside = torch.stack([lattice.inside(box) for box in boxes])  # [boxes, gazes]
        middle = [box.middle for box in boxes]
        avoid = torch.zeros_like(inside)
        for box, rival in laboratory.task.rival_boxes().items():
            avoid[box] = inside[rival]
        # Rest as near to the cross as can be without standing in a box that may appear around the gaze.
        offset = (lattice.points - torch.tensor(MONITOR_CENTRE, dtype=torch.float64)).square().sum(1)
        rest = torch.zeros_like(inside[:1])
        rest[0, offset.masked_fill(inside[1:].any(0), UNREACHED).argmin()] = True
        self._rest = len(boxes)  # its row below the boxes' rows

        goal, avoid = torch.cat([inside, rest]), torch.cat([avoid, torch.zeros_like(rest)])
        steps = steps_to(goal.view(-1, lattice.side, lattice.side), avoid.view(-1, lattice.side, lattice.side))
        nearness = torch.stack([distance_to(lattice.points, *point) for point in (*middle, MONITOR_CENTRE)])
        cost = steps + NUDGE * nearness.view_as(steps)
        self._steps = steps.flatten(1).to(laboratory.device)
        """Steps from each gaze into each box, and to the resting place: float [boxes + 1, gazes]."""
        self._move = cheapest_move(cost).flatten(1).to(laboratory.device)
        """The action that leads there: int64 [boxes + 1, gazes]."""

    def steps(self, box: int) -> Tensor:
        """Fewest steps from each lane's gaze into a box: float64 [lanes]."""
        return self._steps[box, self.laboratory.gaze]

    def towards(self, box: Tensor) -> Tensor:
        """The actions that lead each lane to its own box (int [lanes]), or keep it there: int64 [lanes]."""
        return self._move[box, self.laboratory.gaze]

    def follow(self, plan: Plan) -> Tensor:
        """The actions that carry out a plan, or lead to the cross where no trial runs: int64 [lanes]."""
        laboratory, trials = self.laboratory, self.laboratory.trials
        frame = trials.now + 1  # the one that comes
        steps = self._steps[plan.box, laboratory.gaze]
        go = (frame >= plan.depart) & (steps > plan.arrive - frame)
        goal = torch.where(trials.running, torch.where(go, plan.box, self._rest), CROSS_CENTRE)
        action = self.towards(goal)
        restraint = laboratory.task.restraint(trials)
        if restraint is not None:  # a move to the resting place could be taken for the jump
            action = torch.where(restraint.held & ~go, STAY, action)
        # Only a button that is up can be clicked.
        press = plan.press & trials.running & (steps == 0) & ~laboratory.button
        return torch.where(press, CLICK, action)


def steps_to(goal: Tensor, avoid: Tensor) -> Tensor:
    """Fewest steps in 8 directions from every gaze to a goal, around what is to be avoided.

    goal, avoid bool [maps, rows, columns] -> float64 of the same shape.
    """
    steps = torch.where(goal & ~avoid, 0.0, UNREACHED).double()
    for taken in range(1, goal[0].numel()):
        near = F.max_pool2d((steps < UNREACHED).float(), 3, stride=1, padding=1) > 0
        new = near & ~avoid & (steps == UNREACHED)
        if not new.any():
            break
        steps[new] = taken
    return steps


def cheapest_move(cost: Tensor) -> Tensor:
    """Of each gaze's nine moves the one to the lowest cost; float [maps, rows, columns] -> action, int64."""
    rows, columns = cost.shape[1:]
    padded = F.pad(cost, (1, 1, 1, 1), value=2 * UNREACHED)
    moved = [padded[:, 1 + up : 1 + up + rows, 1 + right : 1 + right + columns] for right, up in MOVES.values()]
    return torch.stack(moved).argmin(0)


def distance_to(points: Tensor, x: float, y: float) -> Tensor:
    """Distance of points [n, 2] from (x, y), in monitor units: float64 [n]."""
    return (points - torch.tensor([x, y], dtype=torch.float64)).square().sum(1).sqrt()
