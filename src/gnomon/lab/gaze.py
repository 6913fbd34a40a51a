"""Where lanes look, and into which of the boxes: given as points, as places of the lattice, or in some lanes only."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.lab.screen import Box
from gnomon.lab.tasks.base import Gaze


class PointGaze:
    """Gaze given as points on the monitor, float64 [lanes, 2]; (-1, -1) is off it. See `box_corners`."""

    def __init__(self, points: Tensor, corners: tuple[Tensor, Tensor]) -> None:
        self.on_monitor = (points != -1).all(1)
        upper_left, lower_right = corners
        self._inside = ((points >= upper_left) & (points <= lower_right)).all(2)  # [boxes, lanes]

    def inside(self, box: int) -> Tensor:
        return self._inside[box]

    def inside_each(self, boxes: Tensor) -> Tensor:
        return self._inside.gather(0, boxes.long()[None])[0]


def box_corners(boxes: Sequence[Box]) -> tuple[Tensor, Tensor]:
    """The upper left and the lower right corners of boxes, each float64 [boxes, 1, 2]."""
    upper_left = torch.tensor([[(box.left, box.top)] for box in boxes], dtype=torch.float64)
    lower_right = torch.tensor([[(box.right, box.bottom)] for box in boxes], dtype=torch.float64)
    return upper_left, lower_right


@dataclass
class Masked:
    """A gaze that counts only in some lanes: those that only look, or those whose button goes down."""

    gaze: Gaze
    mask: Tensor  # bool [lanes]

    @property
    def on_monitor(self) -> Tensor:
        return self.gaze.on_monitor & self.mask

    def inside(self, box: int) -> Tensor:
        return self.gaze.inside(box) & self.mask

    def inside_each(self, boxes: Tensor) -> Tensor:
        return self.gaze.inside_each(boxes) & self.mask


class LatticeGaze:
    """Gaze given as lattice indices (int64 [lanes]); boxes have been looked up once for the whole lattice."""

    def __init__(self, index: Tensor, inside: Tensor, on_monitor: Tensor) -> None:
        self.index, self._inside = index, inside  # inside: bool [boxes, gazes]
        self.on_monitor = on_monitor.index_select(0, index)

    # index_select is up to four times as fast as [].
    def inside(self, box: int) -> Tensor:
        return self._inside[box].index_select(0, self.index)

    def inside_each(self, boxes: Tensor) -> Tensor:
        return self._inside.view(-1).index_select(0, boxes * self._inside.shape[1] + self.index)
