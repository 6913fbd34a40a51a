"""A fifth task: the example of docs/adding-a-task.md, covered by the conformance tests like any other."""

from dataclasses import dataclass

from gnomon.lab.screen import Box, Widget
from gnomon.lab.tasks.base import BLANK, FIXATION, Outcome, Plan, Task, choose, register

TARGET, TARGET_ON = 1, 2  # its box, its picture


@register
@dataclass(frozen=True, kw_only=True)
class DelayedLook(Task):
    """Look at the cross; it goes; look at the target when, after a delay, it has come, and not before."""

    intervals: tuple[int, ...] = (20, 40)
    """Delays from fixation to the target, in frames, drawn uniformly."""

    name, events, conditions = "delayed_look", ("target",), {"sample_interval": int}
    sample_bounds = (FIXATION, "target")

    def boxes(self):
        return [self.cross_centre(), Box.around(0.75, 0.5, self.target_size)]

    def pictures(self):
        return [(), (self.cross(),), (Widget("target", self.boxes()[TARGET], (10, 200, 10)),)]

    def draw(self, count, generator):
        return {"sample_interval": choose(self.intervals, count, generator)}

    def begin(self, trials, lanes, drawn):
        trials.picture[lanes] = BLANK
        trials.schedule(lanes, {"target": drawn["sample_interval"]})

    def change(self, trials, fired):
        trials.picture[fired[0]] = TARGET_ON

    def respond(self, trials, looking, pressing, fired):
        early = trials.event("target") > trials.now
        return (early * Outcome.EARLY + ~early * Outcome.CORRECT) * (looking.inside(TARGET) & trials.running)

    def plan(self, trials, production, says_long):
        return Plan(TARGET, depart=trials.event("target") + 1)  # a scripted subject goes there once it is seen
