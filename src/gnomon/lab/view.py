"""The laboratory for human eyes: the whole monitor with the gaze marked, as a picture and as text."""

import numpy as np
import torch

from gnomon.lab.laboratory import Laboratory, distinct_drawings
from gnomon.lab.optics import FRAME_COLOUR, GazeLattice, monitor_points
from gnomon.lab.screen import Colour, Picture, paint

VIEW_PIXELS = 400  # side of an `rgb_array` rendering
TEXT_COLUMNS = 60  # width of an `ansi` rendering, in characters; two rows of the picture share one line
MARGIN = 0.1  # of the room around the monitor that a view shows, in monitor units
# The gaze mark is a dot within a ring wide enough to leave in sight what is looked at; all in monitor units.
DOT = 0.011  # radius
RING = (0.062, 0.074)  # inner and outer radius
HALO = 0.007  # dark rim of both
WHITE, DARK = (255, 255, 255), (20, 20, 20)


class View:
    """A laboratory's observations drawn for humans."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.task, self.lattice = laboratory.task, laboratory.lattice
        self._drawings, _ = distinct_drawings(list(laboratory.task.pictures()))

    def image(self, observation_id: int, pixels: int = VIEW_PIXELS) -> np.ndarray:
        """The whole monitor with the gaze marked: uint8 [pixels, pixels, 3]."""
        drawing, gaze = divmod(observation_id, self.lattice.count)
        point = gaze_points(self.lattice, torch.tensor([gaze]))[0]
        view = draw_monitor(self._drawings[drawing], self.task.background, pixels)
        mark_gaze(view, point)
        return view

    def text(self, observation_id: int) -> str:
        """The same for a terminal that knows 24-bit colours, with a line that says it in words."""
        # Fine lines survive when a fine picture is averaged, [rows, 4, columns, 4, 3] over both 4s.
        fine = self.image(observation_id, 4 * TEXT_COLUMNS).reshape(TEXT_COLUMNS, 4, TEXT_COLUMNS, 4, 3)
        image = fine.mean((1, 3)).astype(np.uint8)
        lines = []
        for upper, lower in zip(image[::2], image[1::2], strict=True):
            cells = (coloured_cell(*colours) for colours in zip(upper, lower, strict=True))
            lines.append("".join(cells) + "\033[0m")
        return "\n".join([*lines, self.words(observation_id)])

    def words(self, observation_id: int) -> str:
        """What is on, and where the gaze is: "fixation, go; gaze 4.2 deg right, 2.1 deg down"."""
        drawing, gaze = divmod(observation_id, self.lattice.count)
        yaw, pitch = (float(angle) for angle in self.lattice.angles(gaze))
        # Which target is the correct one cannot be seen.
        shown = ", ".join(widget.name.split("_")[0] for widget in self._drawings[drawing]) or "blank"
        across = f"{abs(yaw):.1f} deg {'left' if yaw < 0 else 'right'}"
        return f"{shown}; gaze {across}, {abs(pitch):.1f} deg {'down' if pitch < 0 else 'up'}"


def gaze_points(lattice: GazeLattice, gaze: torch.Tensor) -> np.ndarray:
    """Where gazes (lattice indices [n]) meet the monitor's plane, also beyond its edges: float64 [n, 2]."""
    yaw, pitch = (angle.deg2rad() for angle in lattice.angles(gaze))
    x, y = monitor_points(yaw.tan(), pitch.tan() / yaw.cos(), torch.ones_like(yaw))
    return torch.stack([x, y], dim=-1).numpy()


def draw_monitor(picture: Picture, background: Colour, pixels: int) -> np.ndarray:
    """The monitor with a margin of room around it: uint8 [pixels, pixels, 3]."""
    inner = round(pixels / (1 + 2 * MARGIN))
    edge = (pixels - inner) // 2
    view = np.empty((pixels, pixels, 3), np.uint8)
    view[:] = FRAME_COLOUR
    view[edge : edge + inner, edge : edge + inner] = paint(picture, background, inner)
    return view


def mark_gaze(view: np.ndarray, point: np.ndarray) -> None:
    """Mark a point (x, y), in monitor units, in a view that `draw_monitor` has drawn; see `clip_to_view`."""
    x, y = clip_to_view(point)
    pixel = (1 + 2 * MARGIN) / len(view)  # monitor units
    centres = (np.arange(len(view)) + 0.5) * pixel - MARGIN
    reach = RING[1] + HALO + pixel
    rows, columns = (np.flatnonzero(np.abs(centres - middle) <= reach) for middle in (y, x))
    distance = np.hypot(centres[columns][None, :] - x, centres[rows][:, None] - y)
    patch = view[np.ix_(rows, columns)]
    for rim, colour in ((HALO, DARK), (0.0, WHITE)):
        for near, far in ((-np.inf, DOT), RING):
            # Edges fade over one pixel.
            inside = np.minimum(distance - near + rim, far + rim - distance)
            cover = np.clip(inside / pixel + 0.5, 0, 1)[..., None]
            patch = patch * (1 - cover) + np.array(colour) * cover
    view[np.ix_(rows, columns)] = np.round(patch)


def clip_to_view(points: np.ndarray) -> np.ndarray:
    """Points [..., 2] in monitor units; those beyond the view's margin are brought to its edge."""
    inset = DOT + HALO
    return np.clip(points, inset - MARGIN, 1 + MARGIN - inset)


def coloured_cell(upper: np.ndarray, lower: np.ndarray) -> str:
    """One character of a terminal whose upper and lower halves have these colours, uint8 [3]."""
    (r, g, b), (R, G, B) = upper, lower
    return f"\033[38;2;{r};{g};{b};48;2;{R};{G};{B}m▀"
