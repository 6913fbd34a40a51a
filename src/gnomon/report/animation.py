"""One trial as an animation (GIF): the monitor and the retina, and a cursor along the timeline of events."""

from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from gnomon.lab.laboratory import action_names
from gnomon.lab.tasks.base import FRAMES_PER_SECOND
from gnomon.lab.view import MARGIN, clip_to_view, draw_monitor, mark_gaze
from gnomon.records.films import NO_ACTION, TrialFilm
from gnomon.report.film import FAINT, INK, draw_timeline, numbered, readable

STRIDE = 3  # frames of the laboratory for each image: 20 images a second in real time
MOST_IMAGES = 240  # a longer trial is shown faster
MILLISECONDS = 1000 * STRIDE // FRAMES_PER_SECOND
LAST_MILLISECONDS = 1500
TRAIL = 40  # frames of the gaze's path that are shown
AS_IT_HAPPENS = 10  # frames for which an event is called by its name, before it is over

# Pixels: the whole, a panel's side, its upper edge and the two panels' left edges, the timeline's box.
SIZE, PANEL, TOP, PANEL_LEFTS = (720, 625), 320, 92, (30, 370)
AGENT_HEIGHT = 66  # more, for an agent's actions and values
TIMELINE_LEFT, TIMELINE_TOP, TIMELINE_RIGHT, TIMELINE_BOTTOM = 144, 454, 691, 579
COLOURS = 255  # a GIF has 256, and one of them says "as before"
EXACT_COLOURS = 100
CURSOR_COLOUR, TRAIL_COLOUR = "#cc79a7", (150, 150, 150)


def animation(film: TrialFilm, path: Path) -> None:
    """Write a GIF in real time, or faster if the trial is long."""
    stride = max(STRIDE, -(-len(film.frames) // MOST_IMAGES))
    indices = sorted({*range(0, len(film.frames), stride), len(film.frames) - 1})
    stage = draw_stage(film, stride / STRIDE)
    images = [draw_image(stage, film, index) for index in indices]
    indexed = with_palette(images, common_colours(images, film.retina[indices]))
    durations = [MILLISECONDS] * (len(indexed) - 1) + [LAST_MILLISECONDS]
    indexed[0].save(path, save_all=True, append_images=indexed[1:], duration=durations, loop=0, optimize=True)


def draw_stage(film: TrialFilm, speed: float) -> Image.Image:
    """All that does not move."""
    more = extra_height(film)
    width, height = SIZE[0], SIZE[1] + more
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    box = (TIMELINE_LEFT, height - TIMELINE_BOTTOM - more, TIMELINE_RIGHT, height - TIMELINE_TOP)
    left, low, right, high = np.array(box) / np.array([width, height, width, height])
    draw_timeline(figure.add_axes((left, low, right - left, high - low)), film, fontsize=8)
    pace = "real time" if speed == 1 else f"{speed:.1f} times real time"
    start, end = PANEL_LEFTS[0] / width, (PANEL_LEFTS[1] + PANEL) / width
    figure.text(start, 1 - 20 / height, film.title, fontsize=13, fontweight="bold", color=INK, va="center")
    figure.text(end, 1 - 20 / height, pace, fontsize=9, color=FAINT, va="center", ha="right")
    figure.text(start, 1 - 46 / height, film.caption, fontsize=10, color=INK, va="center")
    canvas.draw()
    return Image.fromarray(np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3]))


def draw_image(stage: Image.Image, film: TrialFilm, index: int) -> Image.Image:
    """One image of the animation: what moves, put on the stage."""
    image = stage.copy()
    draw = ImageDraw.Draw(image)
    for left, panel, words in zip(
        PANEL_LEFTS,
        (draw_watched(film, index), enlarge(film.retina[index])),
        (moment(film, index), decision(film, index)),
        strict=True,
    ):
        image.paste(panel, (left + (PANEL - panel.width) // 2, TOP + (PANEL - panel.height) // 2))
        draw.text((left, TOP - 8), words, INK, font(14), anchor="ls")
    share = (index + 0.5) / len(film.frames)
    x = TIMELINE_LEFT + share * (TIMELINE_RIGHT - TIMELINE_LEFT)
    draw.line((x, TIMELINE_TOP, x, TIMELINE_BOTTOM + extra_height(film)), fill=CURSOR_COLOUR, width=2)
    return image


def draw_watched(film: TrialFilm, index: int) -> Image.Image:
    """The monitor at one frame, with the gaze and its recent path."""
    view = Image.fromarray(draw_monitor(film.pictures[index], film.task.background, PANEL))
    path = clip_to_view(film.gaze[max(0, index - TRAIL) : index + 1])
    pixels = (path + MARGIN) / (1 + 2 * MARGIN) * PANEL
    ImageDraw.Draw(view).line([(x, y) for x, y in pixels.tolist()], fill=TRAIL_COLOUR, width=2)
    marked = np.array(view)
    mark_gaze(marked, film.gaze[index])
    return Image.fromarray(marked)


def enlarge(retina: np.ndarray) -> Image.Image:
    """A retina's image (uint8 [height, width, 3]) as large as the panel allows, its pixels sharp."""
    height, width = retina.shape[:2]
    scale = PANEL / max(height, width)
    size = (round(width * scale), round(height * scale))
    return Image.fromarray(retina).resize(size, Image.Resampling.NEAREST)


def moment(film: TrialFilm, index: int) -> str:
    """The frame's number, and the event that was last."""
    frame = int(film.frames[index])
    past = [(name, at) for name, at in film.events.items() if at <= frame]
    if not past:
        return f"{numbered(frame)}: before fixation"
    name, at = past[-1]
    return f"{numbered(frame)}: {'' if frame - at < AS_IT_HAPPENS else 'after '}{readable(name).lower()}"


def decision(film: TrialFilm, index: int) -> str:
    """What the subject makes of what its retina sees, if it is an agent."""
    if film.values is None or film.actions[index] == NO_ACTION:
        return "what the retina sees"
    value = f"{film.values[index]:.2f}".replace("-", "\N{MINUS SIGN}")
    return f"retina: value {value}, {action_names(film.task)[film.actions[index]]}"


def extra_height(film: TrialFilm) -> int:
    """Pixels of the timeline that only an agent's film has."""
    return 0 if film.values is None else AGENT_HEIGHT


@lru_cache
def font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), size)


# One palette for all images: what does not move stays as it is, and need not be stored again.


def common_colours(images: list[Image.Image], retina: np.ndarray) -> np.ndarray:
    """The most frequent colours around the retina as they are, others that suit it: uint8 [up to 255, 3]."""
    count: Counter[tuple[int, ...]] = Counter()
    left = PANEL_LEFTS[1]
    for image in images:
        around = image.copy()
        around.paste("white", (left, TOP, left + PANEL, TOP + PANEL))
        count.update(dict(colours_of(around)))
    frequent = [colour for colour, _ in count.most_common(EXACT_COLOURS)]
    seen = Image.fromarray(retina.reshape(-1, *retina.shape[2:]))  # [images * height, width, 3]
    few = seen.quantize(COLOURS - len(frequent), Image.Quantize.MAXCOVERAGE)
    suited = np.array(few.getpalette(), np.uint8).reshape(-1, 3)
    return np.concatenate([np.array(frequent, np.uint8), suited])[:COLOURS]


def with_palette(images: list[Image.Image], palette: np.ndarray) -> list[Image.Image]:
    """Images whose pixels are the nearest colours of the palette; Pillow's own search is off by a little."""
    nearest = np.zeros(1 << 24, np.uint8)  # of every colour that occurs, by its 24-bit code
    indexed = []
    for image in images:
        colours = np.array([colour for colour, _ in colours_of(image)])  # [colours, 3]
        distance = ((colours[:, None] - palette[None].astype(int)) ** 2).sum(2)  # [colours, palette]
        nearest[codes(colours)] = distance.argmin(1)
        indexed.append(Image.fromarray(nearest[codes(np.asarray(image))]))
        indexed[-1].putpalette(palette.tobytes())
    return indexed


def codes(colours: np.ndarray) -> np.ndarray:
    """Colours [..., 3] as 24-bit numbers: int32 [...]."""
    red, green, blue = np.moveaxis(colours.astype(np.int32), -1, 0)
    return (red << 16) | (green << 8) | blue


def colours_of(image: Image.Image) -> list[tuple[tuple[int, ...], int]]:
    """The colours of an RGB image, and how many pixels have each."""
    counted = image.getcolors(image.width * image.height) or []
    return [(colour, count) for count, colour in counted if isinstance(colour, tuple)]
