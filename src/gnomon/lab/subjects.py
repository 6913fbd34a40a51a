"""Scripted subjects for demos and tests: perfect, noisy, blind to the interval, or random.

They act as an agent does, one action per lane and frame, through the gaze lattice. Being scripted, they may
read what an agent cannot: the laboratory's clock and the conditions of the trial. A subject decides when to
respond (its production interval) and which answer to give (long or short); the task's entry in `PLANS` says
where and by which frame the gaze has to be for that, and the shared steering takes it there, one lattice step
a frame.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gnomon.lab.laboratory import CLICK, MOVES, Laboratory
from gnomon.lab.tasks import (
    Bisection,
    CuedProduction,
    Discrimination,
    ReadySetGo,
    cued_production,
    ready_set_go,
)
from gnomon.lab.tasks.base import CROSS_CENTRE, MONITOR_CENTRE, Task
from gnomon.lab.tasks.choice import ChoiceTask
from gnomon.lab.tasks.discrimination import LEFT, RIGHT
from gnomon.lab.trials import Trials

UNREACHED = 1e6  # steps to a box that no path leads to
NUDGE = 1e-3  # steps per step: of equally short ways, the one whose next gaze is nearest to the box's middle


class Subject(ABC):
    """Someone who sits in every lane of a laboratory; what is random about it comes from `seed`."""

    def __init__(self, laboratory: Laboratory, seed: int = 0) -> None:
        self.laboratory = laboratory
        self.generator = torch.Generator(laboratory.device).manual_seed(seed)

    @abstractmethod
    def act(self) -> Tensor:
        """The action of every lane for the coming frame: int64 [lanes]."""


class RandomSubject(Subject):
    """Every action equally likely on every frame, in any task."""

    def act(self) -> Tensor:
        laboratory = self.laboratory
        size, count = (laboratory.lanes,), len(laboratory.actions)
        return torch.randint(count, size, generator=self.generator, device=laboratory.device)


class TimingSubject(Subject):
    """Looks at the cross, attends to the interval, and answers; its subclasses say how well."""

    def __init__(self, laboratory: Laboratory, seed: int = 0) -> None:
        super().__init__(laboratory, seed)
        task = laboratory.task
        if task.name not in PLANS:
            raise ValueError(
                f"{type(self).__name__} has no plan for the task {task.name!r}; there is one for {', '.join(PLANS)}"
            )
        self._plan = PLANS[task.name]
        self._steering = Steering(laboratory)
        lanes, device = laboratory.lanes, laboratory.device
        self._trial_start = torch.full((lanes,), -1, dtype=torch.int32, device=device)
        self.production = torch.zeros(lanes, dtype=torch.int32, device=device)
        """The interval that it means to produce in the present trial, in frames: int32 [lanes]."""
        self.says_long = torch.zeros(lanes, dtype=torch.bool, device=device)
        """Whether it means to answer "long" in the present trial: bool [lanes]."""

    def act(self) -> Tensor:
        self._decide()
        trials = self.laboratory.trials
        plan = self._plan(trials, self.production, self.says_long)
        return self._steering.follow(plan)

    def _decide(self) -> None:
        """Make up its mind in the lanes whose trial has just begun."""
        trials = self.laboratory.trials
        new = (trials.running & (trials.trial_start != self._trial_start)).nonzero().squeeze(1)
        if not len(new):
            return
        self._trial_start[new] = trials.trial_start[new]
        interval = trials.condition("sample_interval")[new].double()
        estimate = self.estimate(interval)
        self.production[new] = self.produce(estimate).round().clamp(min=0).int()
        self.says_long[new] = self.judge(estimate, is_long(trials)[new])

    def estimate(self, interval: Tensor) -> Tensor:
        """What it takes these sample intervals (float64 [n], frames) to be: float64 [n]."""
        return interval

    def produce(self, estimate: Tensor) -> Tensor:
        """The intervals that it produces to reproduce those that it has estimated: float64 [n], frames."""
        return estimate

    def judge(self, estimate: Tensor, long: Tensor) -> Tensor:
        """Whether it says "long", by its estimates, or by the truth (bool [n]) it cannot know: bool [n]."""
        usual = usual_intervals(self.laboratory.task)
        return estimate > math.sqrt(usual[0] * usual[-1])


class PerfectSubject(TimingSubject):
    """Right to the frame: produces the sample interval itself and always gives the right answer."""

    def judge(self, estimate: Tensor, long: Tensor) -> Tensor:
        # Durations with a spread may leave the truth open to doubt, so it does not judge by them.
        return long


class NoisySubject(TimingSubject):
    """Scalar noise: measures t_m ~ N(t_s, (w_m t_s)^2), produces t_p ~ N(t_m, (w_p t_m)^2), in whole frames.

    In choice tasks it says "long" if t_m is above the geometric mean of the two durations.
    """

    def __init__(self, laboratory: Laboratory, seed: int = 0, *, w_m: float = 0.1, w_p: float = 0.06) -> None:
        for name, value in (("w_m", w_m), ("w_p", w_p)):
            if value < 0:
                raise ValueError(f"{name} is {value}; a Weber fraction is not below 0")
        super().__init__(laboratory, seed)
        self.w_m, self.w_p = w_m, w_p

    def estimate(self, interval: Tensor) -> Tensor:
        return self._scalar_noise(interval, self.w_m)

    def produce(self, estimate: Tensor) -> Tensor:
        return self._scalar_noise(estimate, self.w_p)

    def _scalar_noise(self, mean: Tensor, weber_fraction: float) -> Tensor:
        noise = torch.randn(mean.shape, generator=self.generator, device=mean.device, dtype=mean.dtype)
        return mean * (1 + weber_fraction * noise)


class BlindSubject(TimingSubject):
    """Ignores the interval: always produces the mean of the task's intervals, always says "long"."""

    def estimate(self, interval: Tensor) -> Tensor:
        usual = usual_intervals(self.laboratory.task)
        return torch.full_like(interval, sum(usual) / len(usual))


SUBJECTS: dict[str, type[Subject]] = {
    "perfect": PerfectSubject,
    "noisy": NoisySubject,
    "blind": BlindSubject,
    "random": RandomSubject,
}


def usual_intervals(task: Task) -> tuple[int, ...]:
    """The intervals (or durations) that the task draws from, in frames, ascending."""
    for setting in ("intervals", "durations"):
        if hasattr(task, setting):
            return getattr(task, setting)
    raise ValueError(f"the task {task.name!r} has neither intervals nor durations for a subject to judge by")


def is_long(trials: Trials) -> Tensor:
    """Whether each lane's interval is the long one, or above the middle one: bool [lanes]."""
    if "long" in trials.task.conditions:
        return trials.condition("long").bool()
    usual = usual_intervals(trials.task)
    return trials.condition("sample_interval") > (usual[0] + usual[-1]) / 2


# Plans: what each task asks of the gaze and of the button.


@dataclass
class Plan:
    """Where each lane's gaze shall be while its trial runs. All [lanes]."""

    box: Tensor  # int64, the task's box to look into
    arrive: Tensor  # int, the frame on which the gaze shall enter it; the past means as soon as can be
    depart: Tensor  # int, the first frame on which the gaze may leave its resting place for that
    press: Tensor  # bool, whether to press the button on the coming frame, if the gaze is in the box


PLANS: dict[str, Callable[[Trials, Tensor, Tensor], Plan]] = {}
"""By task name: (trials, production interval int [lanes], says long bool [lanes]) -> plan for this frame."""


def plan_ready_set_go(trials: Trials, production: Tensor, says_long: Tensor) -> Plan:
    """Enter Go so many frames after Set; where fixation must be held, rest on the cross until then."""
    assert isinstance(trials.task, ReadySetGo)
    set_ = trials.event("set")
    held = trials.condition("fixation_hold").bool()
    return Plan(
        box=torch.full_like(set_, ready_set_go.GO, dtype=torch.int64),
        arrive=set_ + production,
        depart=torch.where(held, set_ - trials.task.hold_frames, 0),
        press=torch.zeros_like(held),
    )


def plan_cued_production(trials: Trials, production: Tensor, says_long: Tensor) -> Plan:
    """Go to the target, click, and click again when the interval has passed."""
    first_click = trials.event("first_click")
    at_once = torch.zeros_like(first_click)
    clicked = first_click <= trials.now
    return Plan(
        box=torch.full_like(first_click, cued_production.TARGET, dtype=torch.int64),
        arrive=at_once,
        depart=at_once,
        press=~clicked | (trials.now + 1 >= first_click + production),
    )


def plan_choice(trials: Trials, right: Tensor, wrong: Tensor, says_long: Tensor) -> Plan:
    """Rest until the two squares have been seen, then go to the one that stands for the answer."""
    choice = trials.event("choice")
    box = torch.where(says_long == is_long(trials), right, wrong).long()
    return Plan(box, arrive=torch.zeros_like(choice), depart=choice + 1, press=torch.zeros_like(says_long))


def plan_bisection(trials: Trials, production: Tensor, says_long: Tensor) -> Plan:
    first, end = 1 + 2 * trials.condition("axis"), trials.condition("correct_end")
    return plan_choice(trials, first + end, first + 1 - end, says_long)


def plan_discrimination(trials: Trials, production: Tensor, says_long: Tensor) -> Plan:
    side = trials.condition("correct_side")
    return plan_choice(trials, LEFT + side, RIGHT - side, says_long)


PLANS |= {
    ReadySetGo.name: plan_ready_set_go,
    CuedProduction.name: plan_cued_production,
    Bisection.name: plan_bisection,
    Discrimination.name: plan_discrimination,
}


class Steering:
    """Takes every lane's gaze to a box by the fewest lattice steps, or to its resting place.

    A shortest way into a box meets it only with its last step, so that none is entered before its time. Where
    boxes come in pairs (one right, one wrong) the way to one leads around the other.
    """

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        lattice, boxes = laboratory.lattice, laboratory.task.boxes()
        inside = torch.stack([lattice.inside(box) for box in boxes])  # [boxes, gazes]
        middle = [(box.left + box.width / 2, box.top + box.height / 2) for box in boxes]
        avoid = torch.zeros_like(inside)
        if isinstance(laboratory.task, ChoiceTask):
            avoid[1:] = inside[1:].view(-1, 2, lattice.count).flip(1).flatten(0, 1)
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
