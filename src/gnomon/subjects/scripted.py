"""Scripted subjects for demos and tests: perfect, noisy, blind to the interval, or random.

They act as an agent does, one action per lane and frame, through the gaze lattice. Being scripted, they may
read what an agent cannot: the laboratory's clock and the conditions of the trial. A subject decides when to
respond (its production interval) and which answer to give (long or short); the task's `plan` says where and by
which frame the gaze has to be for that, and the steering takes it there, one lattice step a frame.
"""

import math

import torch
from torch import Tensor

from gnomon.lab.laboratory import Laboratory
from gnomon.subjects.steering import Steering
from gnomon.subjects.subject import Decision, Subject


class ScriptedSubject(Subject[Decision]):
    """A subject that follows a script; what is random about it comes from `seed`."""

    def __init__(self, laboratory: Laboratory, seed: int = 0) -> None:
        super().__init__(laboratory)
        self.generator = torch.Generator(laboratory.device).manual_seed(seed)
        self.name = type(self).__name__.removesuffix("Subject").lower() + " subject"


class RandomSubject(ScriptedSubject):
    """Every action equally likely on every frame, in any task."""

    def act(self) -> Decision:
        laboratory = self.laboratory
        size, count = (laboratory.lanes,), len(laboratory.actions)
        return Decision(torch.randint(count, size, generator=self.generator, device=laboratory.device))


class TimingSubject(ScriptedSubject):
    """Looks at the cross, attends to the interval, and answers; its subclasses say how well."""

    def __init__(self, laboratory: Laboratory, seed: int = 0) -> None:
        super().__init__(laboratory, seed)
        self._steering = Steering(laboratory)
        lanes, device = laboratory.lanes, laboratory.device
        self._trial_start = torch.full((lanes,), -1, dtype=torch.int32, device=device)
        self.production = torch.zeros(lanes, dtype=torch.int32, device=device)
        """The interval that it means to produce in the present trial, in frames: int32 [lanes]."""
        self.says_long = torch.zeros(lanes, dtype=torch.bool, device=device)
        """Whether it means to answer "long" in the present trial: bool [lanes]."""

    def act(self) -> Decision:
        self._decide()
        laboratory = self.laboratory
        plan = laboratory.task.plan(laboratory.trials, self.production, self.says_long)
        return Decision(self._steering.follow(plan))

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
        self.says_long[new] = self.judge(estimate, trials.task.is_long(trials)[new])

    def estimate(self, interval: Tensor) -> Tensor:
        """What it takes these sample intervals (float64 [n], frames) to be: float64 [n]."""
        return interval

    def produce(self, estimate: Tensor) -> Tensor:
        """The intervals that it produces to reproduce those that it has estimated: float64 [n], frames."""
        return estimate

    def judge(self, estimate: Tensor, long: Tensor) -> Tensor:
        """Whether it says "long", by its estimates, or by the truth (bool [n]) it cannot know: bool [n]."""
        usual = self.laboratory.task.usual_intervals
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
        usual = self.laboratory.task.usual_intervals
        return torch.full_like(interval, sum(usual) / len(usual))


SUBJECTS: dict[str, type[ScriptedSubject]] = {
    "perfect": PerfectSubject,
    "noisy": NoisySubject,
    "blind": BlindSubject,
    "random": RandomSubject,
}
