"""How steps, exploration and reward change in the course of a run: pure functions of its config and its standing.

Large steps find the task, small ones make it precise (docs/training.md). So the learning rates fall with the best
share of rewarded trials so far, and never rise again. Vision learns first and then stays as it is. The value
loss helps the controller to tell moments apart, and later pulls it away from what the policy needs: it ceases to shape
it when the task is half learned. Once it is mastered the entropy bonus falls. Most of the run the reward is graded: it
tells by how much a production was off, which a right or wrong does not, and gets stricter once the task is mastered.
That shapes the reward; it is gone for the last 3 % of the run.
"""

from dataclasses import dataclass

from gnomon.learn.config import LearningConfig

CAREFUL_FROM, CAREFUL_TO = 0.5, 0.9  # best shares of rewarded trials between which the learning rates fall
VALUE_FADES = 2 / 3  # of `value_until`: best share of rewarded trials from which the value shapes the controller less
ANNEALED_FROM = 0.5  # share of the frames from which the learning rates fall, until the graded reward ends
GRADED_UNTIL, UNGRADED_FROM = 0.94, 0.97  # shares of the frames between which the task's own reward takes over


@dataclass(frozen=True)
class Standing:
    """How far a run is."""

    frames: int = 0
    best: float = 0.0
    """Largest running share of rewarded trials so far."""
    mastered: int | None = None
    """Frame at which that share first reached `mastery`."""


@dataclass(frozen=True)
class Grading:
    """How much of the reward is graded, and how."""

    share: float
    """From 0, the task's own reward, to 1, graded only."""
    width: float
    """Frames: a production that is off by so many earns 1/e."""
    discount: float = 1.0
    """Discount per frame that is paid back, so that waiting costs nothing from Ready on; 1 pays nothing back."""


@dataclass(frozen=True)
class Rates:
    """What the next round learns with."""

    learning: float
    vision: float
    """0: vision stays as it is."""
    entropy: float
    value_share: float
    """Share of the value loss's gradient that goes on to the controller."""
    grading: Grading | None
    """How productions are graded; none: the task's own reward."""

    @property
    def graded(self) -> float:
        """Share of the reward that is graded."""
        return self.grading.share if self.grading else 0.0


def rates(config: LearningConfig, standing: Standing) -> Rates:
    """The rates of a run at this point."""
    done = standing.frames / config.frames
    late = ramp(done, ANNEALED_FROM, GRADED_UNTIL)
    care = ramp(standing.best, CAREFUL_FROM, CAREFUL_TO)
    share = (1 - (1 - config.final_learning_rate) * late) * config.careful_learning_rate**care
    polish = 0.0
    if standing.mastered is not None:
        polish = ramp(standing.frames - standing.mastered, 0, config.polish_frames)
    return Rates(
        learning=config.learning_rate * share,
        vision=config.vision_learning_rate * share if standing.frames < config.vision_frames else 0.0,
        entropy=between(config.entropy_cost, config.final_entropy_cost, polish),
        value_share=value_share(config, standing),
        grading=grading(config, 1 - ramp(done, GRADED_UNTIL, UNGRADED_FROM), polish),
    )


def value_share(config: LearningConfig, standing: Standing) -> float:
    """How much of the value loss's gradient goes on to the controller; it is needed at first, and harmful later."""
    if config.critic_memory is None or config.value_until is None:
        return 1.0
    return 1 - ramp(standing.best, VALUE_FADES * config.value_until, config.value_until)


def grading(config: LearningConfig, share: float, polish: float) -> Grading | None:
    """How productions are graded when this share of the reward is, and the task is polished so far."""
    if config.grading is None or share <= 0:
        return None
    width = between(config.grading, config.final_grading, polish)
    return Grading(share, width, config.discount if config.repay_discount else 1.0)


def ramp(value: float, start: float, end: float) -> float:
    """From 0 at the start to 1 at the end, in a straight line."""
    return min(1.0, max(0.0, (value - start) / (end - start)))


def between(first: float, final: float | None, progress: float) -> float:
    """From the first value to the final one in equal ratios (a zero at either end: in equal steps); none keeps it."""
    if final is None:
        return first
    return first * (final / first) ** progress if first * final else first + (final - first) * progress
