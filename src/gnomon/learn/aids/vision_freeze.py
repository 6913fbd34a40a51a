"""Vision freeze: vision learns for the first frames of a run and then stays as it is, which makes the rest faster."""

from dataclasses import dataclass

from gnomon.learn.aids.base import Aid
from gnomon.learn.schedule import Progress


@dataclass(frozen=True)
class VisionFreezeSettings:
    """Vision freeze: vision learns for `frames` frames and then stays as it is."""

    frames: int = 2_000_000
    """Frames during which vision learns."""

    def __post_init__(self) -> None:
        if self.frames < 1:
            raise ValueError(f"vision_freeze.frames is {self.frames}; it must be at least 1")


class VisionFreeze(Aid):
    """Afterwards every observation that may come up is looked at once."""

    name = "vision_freeze"
    settings: VisionFreezeSettings

    def before_unroll(self, progress: Progress) -> None:
        self.learner.vision_learns = progress.frames < self.settings.frames
        if not self.learner.vision_learns:
            self.learner.come_to_rest()  # of the last batches, which vision has not learned from yet
            self.learner.cache.look_ahead()
