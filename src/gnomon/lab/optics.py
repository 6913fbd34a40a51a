"""Optics: gaze direction -> where it falls on the monitor -> the retina's image of it.

The monitor is a flat square one unit in front of the eye. Gaze lives on an integer lattice of yaw and
pitch, so what the retina sees is a pure function of an observation id (picture, gaze); `Optics.render`
turns ids into pixels. Axes: x right, y up, z forward from the eye to the monitor's centre; yaw grows to the
right, pitch upwards.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from gnomon.lab.room import Wall, wall_colour
from gnomon.lab.screen import MONITOR, Box, Colour, Picture, check_colour, check_picture

MONITOR_HALF_ANGLE = 31.7  # deg, from the centre of the monitor to the middle of an edge
ENGINE_PIXEL = 0.1056  # deg turned per frame by one engine "pixel" of look
ENGINE_FIELD_OF_VIEW = 90.0  # deg, horizontal, of the engine's camera
START_YAW = 22.5  # deg, an episode starts with |yaw| no larger than this

MONITOR_HALF_SIDE = math.tan(math.radians(MONITOR_HALF_ANGLE))  # in distances from eye to monitor
SUPERSAMPLES = 4  # rays per pixel and axis, a power of two
RAYS_PER_PIXEL = SUPERSAMPLES**2
RAYS_PER_PIXEL_LOG2 = RAYS_PER_PIXEL.bit_length() - 1

FRAME = Box(-0.03, -0.03, 1.06, 1.06)  # monitor units; the part around the monitor is seen
FRAME_COLOUR: Colour = (100, 100, 100)
LARGEST_RETINA = 1024  # pixels, a side

RAYS_AT_ONCE = 1 << 18  # a cold gaze is traced in pieces of about this many rays (2 MB per float64 tensor)
VALUES_AT_ONCE = 1 << 20  # a batch is rendered in pieces of about this many channel values (2 MB of int16)

Whole = TypeVar("Whole", int, torch.Tensor)


@dataclass(frozen=True)
class OpticsConfig:
    """The retina and how the gaze moves."""

    retina: tuple[int, int] = (32, 32)
    """Height and width of the retina's image, in (square) pixels."""
    field_of_view: float = 2 * MONITOR_HALF_ANGLE
    """Horizontal field of view, in degrees (the engine has 90); the vertical one follows by aspect."""
    gaze_step: int = 20
    """How far one action turns the eye, in engine pixels of 0.1056 degrees."""
    gaze_limit: float = 36.0
    """Largest yaw and pitch either way, in degrees."""

    def __post_init__(self) -> None:
        if len(self.retina) != 2 or min(self.retina) < 1:
            raise ValueError(f"retina is {self.retina}; it must be (height, width), each at least 1 pixel")
        if max(self.retina) > LARGEST_RETINA:
            raise ValueError(f"retina is {self.retina}; each side may have at most {LARGEST_RETINA} pixels")
        if not 0 < self.field_of_view < 180:
            raise ValueError(f"field_of_view is {self.field_of_view}; it must be between 0 and 180 degrees")
        if self.gaze_step < 1 or self.gaze_step != int(self.gaze_step):
            raise ValueError(f"gaze_step is {self.gaze_step}; it must be a whole number of engine pixels, at least 1")
        if not self.step_angle <= self.gaze_limit < 90:
            raise ValueError(
                f"gaze_limit is {self.gaze_limit}; it must be at least one gaze step ({self.step_angle:g}) "
                "and below 90, in degrees"
            )

    @property
    def step_angle(self) -> float:
        """Degrees turned by one step of the gaze."""
        return self.gaze_step * ENGINE_PIXEL


class GazeLattice:
    """Every direction the eye can take: yaw = i steps and pitch = j steps, for i and j from -reach to reach.

    A gaze's index is (j + reach) * side + (i + reach): it grows to the right within a row, and upwards from
    row to row, so that row 0 is the lowest pitch and index 0 looks to the lower left.
    """

    def __init__(self, config: OpticsConfig) -> None:
        self.step_angle = config.step_angle  # deg
        self.reach = int(config.gaze_limit / self.step_angle + 1e-9)
        self.side = 2 * self.reach + 1
        self.count = self.side**2
        steps = torch.arange(-self.reach, self.reach + 1)
        self.start_columns = steps[(steps * self.step_angle).abs() <= START_YAW]
        """The i (left is negative) an episode may start with, level at j = 0. int64 [columns]"""

        yaw, pitch = (torch.deg2rad(angle) for angle in self.angles(torch.arange(self.count)))
        across = yaw.tan() / MONITOR_HALF_SIDE  # [count], -1..1 from the left to the right edge
        up = pitch.tan() / yaw.cos() / MONITOR_HALF_SIDE  # [count], -1..1 from the bottom to the top edge
        points = torch.stack([0.5 + 0.5 * across, 0.5 - 0.5 * up], dim=1)
        self.on_monitor = MONITOR.contains(points[:, 0], points[:, 1])
        """Whether each gaze falls on the monitor. bool [count]"""
        self.points = points.masked_fill(~self.on_monitor[:, None], -1.0)
        """Where each gaze falls, (x, y) in monitor units; (-1, -1) if off the monitor. float64 [count, 2]"""

    def index(self, i: Whole, j: Whole) -> Whole:
        """The index of the gaze i steps right and j steps up of straight ahead."""
        return (j + self.reach) * self.side + (i + self.reach)

    def angles(self, index: int | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Yaw (right) and pitch (up) of gaze indices, in degrees, float64 of the same shape."""
        index = torch.as_tensor(index)
        column = (index % self.side - self.reach).double()
        row = (index // self.side - self.reach).double()
        return column * self.step_angle, row * self.step_angle

    def inside(self, box: Box) -> torch.Tensor:
        """Whether each gaze falls in a box of the monitor, edges included. bool [count]"""
        return self.on_monitor & box.contains(self.points[:, 0], self.points[:, 1])

    def nearest(self, x: float, y: float) -> int:
        """The index of the gaze that falls nearest to a point of the monitor, as measured on the monitor."""
        if not MONITOR.contains(x, y):
            raise ValueError(f"the point ({x}, {y}) is off the monitor, which runs from 0 to 1 in x and y")
        # Gazes off the monitor sit at (-1, -1), farther from any point of the monitor than the middle is.
        offset = self.points - torch.tensor([x, y], dtype=torch.float64)
        return int(offset.square().sum(1).argmin())


class Optics:
    """Renders the retina's image of each observation id = picture * lattice.count + gaze index.

    The retina is a pinhole camera with 4 x 4 rays per pixel. What a gaze needs is traced the first time it
    is met, and kept: the room and the empty monitor, summed over each pixel's rays, and for each distinct
    widget outline the few pixels it touches with the number of rays that hit it. An image is the former
    plus colour times hits, over 16. These are whole numbers, so an id gives the same bytes in whatever
    batch it comes. Memory at 72 x 96 with 1,225 gazes: 51 MB for the former, and under 1 MB per outline of
    0.15 monitor units for the latter.
    """

    def __init__(
        self,
        config: OpticsConfig,
        pictures: Sequence[Picture],
        background: Colour = (0, 0, 0),
        device: torch.device | str = "cpu",
        wall: Wall = wall_colour,
    ) -> None:
        if not pictures:
            raise ValueError("pictures is empty; the optics need at least one picture (a blank one is the tuple ())")
        check_colour("the background", background)
        for picture in pictures:
            check_picture(picture)
        self.config, self.wall = config, wall
        self.lattice = GazeLattice(config)
        self.observations = len(pictures) * self.lattice.count
        self.device = torch.device(device)
        self._background = torch.tensor(background, dtype=torch.int16, device=self.device)

        # Widgets of one outline share its traced pixels; one more outline, without pixels, fills short rows.
        outlines: dict[tuple[Box, ...], int] = {}
        for widget in (widget for picture in pictures for widget in picture):
            outlines.setdefault(widget.parts, len(outlines))
        self._outlines = list(outlines)
        slots = max(1, max(len(picture) for picture in pictures))
        self._outline = torch.full((len(pictures), slots), len(outlines), device=self.device)
        # What one ray that hits the widget adds to its pixel, [pictures, slots, channels].
        self._contrast = torch.zeros(len(pictures), slots, 3, dtype=torch.int16, device=self.device)
        for number, picture in enumerate(pictures):
            for slot, widget in enumerate(picture):
                self._outline[number, slot] = outlines[widget.parts]
                self._contrast[number, slot] = torch.tensor(widget.colour) - torch.tensor(background)

        gazes, values = self.lattice.count, math.prod(config.retina) * 3
        self._met = torch.zeros(gazes, dtype=torch.bool, device=self.device)
        # Room and empty monitor, sums over the rays of a pixel; the system hands out pages as gazes are met.
        self._empty = torch.empty(gazes, values, dtype=torch.int16, device=self.device)
        # Of these two, the length[g, o] entries from first[g, o] on are the pixels gaze g sees of outline o.
        self._pixel = torch.empty(0, dtype=torch.int32, device=self.device)
        self._hits = torch.empty(0, dtype=torch.int16, device=self.device)
        self._first = torch.zeros(gazes, len(outlines) + 1, dtype=torch.int64, device=self.device)
        self._length = torch.zeros_like(self._first)
        self._rays = retinal_rays(config).to(self.device)

    def render(self, observation_ids: torch.Tensor) -> torch.Tensor:
        """The images of observation ids [N]: uint8 [N, height, width, 3], row 0 at the top."""
        ids = torch.as_tensor(observation_ids, device=self.device)
        if ids.ndim != 1 or ids.dtype.is_floating_point or ids.dtype == torch.bool:
            raise ValueError(f"observation ids must be whole numbers of shape [N], got {ids.dtype} {list(ids.shape)}")
        height, width = self.config.retina
        images = torch.empty(len(ids), height * width * 3, dtype=torch.uint8, device=self.device)
        if len(ids) == 0:
            return images.view(0, height, width, 3)
        lowest, highest = int(ids.min()), int(ids.max())
        if lowest < 0 or highest >= self.observations:
            raise ValueError(
                f"observation ids from {lowest} to {highest} must lie within 0 to {self.observations - 1} "
                f"({len(self._outline)} pictures x {self.lattice.count} gazes)"
            )
        ids = ids.long()
        self._meet(ids % self.lattice.count)
        piece = max(1, VALUES_AT_ONCE // images.shape[1])
        for image, number in zip(images.split(piece), ids.split(piece), strict=True):
            self._compose(number // self.lattice.count, number % self.lattice.count, image)
        return images.view(len(ids), height, width, 3)

    def _compose(self, picture: torch.Tensor, gaze: torch.Tensor, images: torch.Tensor) -> None:
        """Write into images [n, H * W * 3] what pictures [n] look like from gazes [n]."""
        total = self._empty.index_select(0, gaze)  # [n, H * W * 3], sums over the rays of a pixel
        outline = self._outline[picture]  # [n, slots]
        # [n * slots], how many pixels each widget changes
        length = self._length[gaze[:, None], outline].flatten()
        place = torch.repeat_interleave(length)  # [entries], the image and slot each entry belongs to
        first = self._first[gaze[:, None], outline].flatten() - (length.cumsum(0) - length)
        entry = first[place] + torch.arange(len(place), device=self.device)
        added = self._contrast[picture].flatten(0, 1)[place] * self._hits[entry, None]  # [entries, 3]
        start = place // outline.shape[1] * total.shape[1] + self._pixel[entry] * 3
        channel = torch.arange(3, device=self.device)
        total.view(-1).index_add_(0, (start[:, None] + channel).flatten(), added.flatten())
        # The mean over a pixel's rays, rounded; a shift, since a floor division of int16 is 30 times slower.
        images.copy_(total.add_(RAYS_PER_PIXEL // 2).bitwise_right_shift_(RAYS_PER_PIXEL_LOG2))

    def _meet(self, gaze: torch.Tensor) -> None:
        """Trace the gazes among these that have not been met before."""
        wanted = torch.zeros_like(self._met)
        wanted[gaze] = True
        new = (wanted & ~self._met).nonzero().squeeze(1)
        if len(new) == 0:
            return
        for piece in new.split(max(1, RAYS_AT_ONCE // self._rays[..., 0].numel())):
            x, y = monitor_points(*self._directions(self._rays, piece))  # [gazes, rays per pixel, pixels]
            wall = self.wall(*self._directions(self._rays.mean(0), piece))  # [gazes, pixels, 3]
            on_monitor, on_frame = hits_within((MONITOR,), x, y), hits_within((FRAME,), x, y)
            self._empty[piece] = (
                on_monitor[..., None] * self._background
                + (on_frame - on_monitor)[..., None] * torch.tensor(FRAME_COLOUR, device=self.device).short()
                + (RAYS_PER_PIXEL - on_frame)[..., None] * wall
            ).flatten(1)
            hits = on_monitor.new_empty(len(piece), len(self._outlines), on_monitor.shape[1])
            for outline, parts in enumerate(self._outlines):
                hits[:, outline] = hits_within(parts, x, y)
            seen = hits > 0  # [gazes, outlines, pixels]
            length = seen.sum(2)
            self._length[piece, :-1] = length
            self._first[piece, :-1] = len(self._pixel) + (length.flatten().cumsum(0).view_as(length) - length)
            self._pixel = torch.cat([self._pixel, seen.nonzero()[:, 2].int()])
            self._hits = torch.cat([self._hits, hits[seen]])
        self._met[new] = True

    def _directions(self, rays: torch.Tensor, gaze: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Rays of the retina [..., 2] turned to gazes [n]: x, y, z, each float64 [n, ...], unnormalised."""
        yaw, pitch = (angle.deg2rad().view(-1, *[1] * (rays.ndim - 1)) for angle in self.lattice.angles(gaze))
        right, up = rays.unbind(-1)
        # The ray (right, up, 1) of the retina is pitched about the x axis, then turned about the vertical.
        level = pitch.cos() - up * pitch.sin()
        x = yaw.sin() * level + right * yaw.cos()
        y = pitch.sin() + up * pitch.cos()
        z = yaw.cos() * level - right * yaw.sin()
        return x, y, z


def retinal_rays(config: OpticsConfig) -> torch.Tensor:
    """The rays (right, up, 1) of the retina, less the 1: float64 [rays per pixel, height * width, 2]."""
    height, width = config.retina
    half_width = math.tan(math.radians(config.field_of_view / 2))
    half_height = half_width * height / width
    fine = SUPERSAMPLES
    right = ((torch.arange(width * fine, dtype=torch.float64) + 0.5) / (width * fine) * 2 - 1) * half_width
    up = (1 - (torch.arange(height * fine, dtype=torch.float64) + 0.5) / (height * fine) * 2) * half_height
    rays = torch.stack(torch.meshgrid(up, right, indexing="ij")[::-1], dim=-1)  # [H * fine, W * fine, 2]
    rays = rays.view(height, fine, width, fine, 2).permute(1, 3, 0, 2, 4)  # [fine, fine, H, W, 2]
    return rays.reshape(RAYS_PER_PIXEL, height * width, 2)


def monitor_points(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where directions meet the monitor's plane, in monitor units; NaN, inside no box, if they never do."""
    scale = 0.5 / MONITOR_HALF_SIDE / z.masked_fill(z <= 0, math.nan)
    return 0.5 + x * scale, 0.5 - y * scale


def hits_within(parts: tuple[Box, ...], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """How many rays of each pixel hit the boxes; x, y [n, rays per pixel, pixels] -> int16 [n, pixels].

    Right and lower edges are left out, so that a ray on the seam of two widgets counts for one of them only.
    """
    hit = torch.zeros_like(x, dtype=torch.bool)
    for part in parts:
        hit |= (x >= part.left) & (x < part.right) & (y >= part.top) & (y < part.bottom)
    # Counting in uint8 is six times faster than in int16, and at most 16 rays are counted.
    return hit.view(torch.uint8).sum(1, dtype=torch.uint8).short()
