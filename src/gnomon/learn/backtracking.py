"""Backtracking: when the task is lost, go on from the weights of a better time, with smaller steps.

A good solution is narrow, and may be lost within ten rounds (docs/training.md says why, and what else prevents it; this
is the safety net). So snapshots of the learner are kept while the task
is done about as well as ever, and the last but one is put back when success has fallen by too much. The trainer then
lets the lanes forget: what they remember may be a state in which the old weights never were.
"""

from torch import Tensor

from gnomon.learn.checkpoint import nest, unnest
from gnomon.learn.learner import Learner

WORTH_KEEPING = 0.4  # best success from which on there is something to lose
EVERY = 10  # rounds between two snapshots
GOOD = 0.95  # share of the best success that is worth a snapshot
SMALLER, RECOVERY = 0.7, 1.005  # factors of the largest pace, after every time and after every round


class Backtracking:
    """Snapshots of a learner, and the decision to go back to one."""

    def __init__(self, learner: Learner, lost: float) -> None:
        """lost: share of the best success below which the task counts as lost."""
        self.learner, self.lost = learner, lost
        self.times = 0
        self._newest: dict[str, Tensor] = {}
        self._older: dict[str, Tensor] = {}  # put back: the newest may have the step that went wrong

    def after_round(self, number: int, success: float, best: float) -> bool:
        """Take a snapshot, go back, or do nothing. True if the learner was put back."""
        self.learner.largest_pace = min(1.0, self.learner.largest_pace * RECOVERY)
        if number % EVERY == 0 and success >= max(WORTH_KEEPING, GOOD * best):
            self._older, self._newest = self._newest, self.learner.snapshot()
        if success >= self.lost * best or not self._older:
            return False
        self.learner.put_back(self._older)
        self.learner.largest_pace *= SMALLER
        self.learner.pace = min(self.learner.pace, self.learner.largest_pace)
        self._newest = self.learner.snapshot()
        self.times += 1
        return True

    def state_dict(self) -> dict[str, Tensor]:
        return nest("newest", self._newest) | nest("older", self._older)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._newest, self._older = unnest("newest", state), unnest("older", state)
