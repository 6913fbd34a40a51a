"""The animation: real colours, real time, and the gaze where it was."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from gnomon.lab.laboratory import Laboratory
from gnomon.lab.optics import OpticsConfig
from gnomon.lab.tasks import ReadySetGo
from gnomon.lab.view import MARGIN
from gnomon.records.films import TrialFilm
from gnomon.report import animation as animation_module
from gnomon.report.animation import (
    LAST_MILLISECONDS,
    PANEL,
    PANEL_LEFTS,
    SIZE,
    TOP,
    animation,
    codes,
    colours_of,
    draw_watched,
    enlarge,
    moment,
    with_palette,
)
from gnomon.subjects.scripted import PerfectSubject
from gnomon.subjects.trial_film import film_trial


@pytest.fixture(scope="module")
def film() -> TrialFilm:
    laboratory = Laboratory(ReadySetGo(intervals=(20,)), OpticsConfig(retina=(8, 8)), seed=3)
    return film_trial(PerfectSubject(laboratory))


@pytest.fixture(scope="module")
def images(film: TrialFilm, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[np.ndarray, int]]:
    """Each image of the animation, uint8 [height, width, 3], and for how many milliseconds it is shown."""
    path = tmp_path_factory.mktemp("film") / "trial.gif"
    animation(film, path)
    with Image.open(path) as gif:
        assert gif.info["loop"] == 0
        return [(np.asarray(image.convert("RGB")), image.info["duration"]) for image in ImageSequence.Iterator(gif)]


def on_monitor(x: float, y: float) -> tuple[int, int]:
    """Row and column of a point of the monitor in an image."""
    column, row = (int((value + MARGIN) / (1 + 2 * MARGIN) * PANEL) for value in (x, y))
    return TOP + row, PANEL_LEFTS[0] + column


def at_frame(film: TrialFilm, images: list[tuple[np.ndarray, int]], frame: int) -> np.ndarray:
    """The image of a frame counted from fixation, or of the one or two before it."""
    return images[int(np.searchsorted(film.frames, frame)) // 3][0]


def test_real_time(film: TrialFilm, images: list[tuple[np.ndarray, int]]):
    assert all(image.shape == (SIZE[1], SIZE[0], 3) for image, _ in images)
    *durations, last = (duration for _, duration in images)
    assert set(durations) == {50}
    assert last == LAST_MILLISECONDS
    assert len(images) == len({*range(0, len(film.frames), 3), len(film.frames) - 1})


def test_colours_are_the_real_ones(film: TrialFilm, images: list[tuple[np.ndarray, int]]):
    task = ReadySetGo()
    ready, set_, go = ((w.box.left + 0.02, w.box.top + 0.02) for w in task.squares())
    during_ready, during_set = at_frame(film, images, 35), at_frame(film, images, 55)
    assert tuple(during_ready[on_monitor(*ready)]) == task.ready_colour
    assert tuple(during_ready[on_monitor(*set_)]) == task.background
    assert tuple(during_ready[on_monitor(*go)]) == task.go_colour
    assert tuple(during_set[on_monitor(*set_)]) == task.set_colour
    assert tuple(during_set[0, 0]) == (255, 255, 255)


def test_retina_is_beside_the_monitor(film: TrialFilm, images: list[tuple[np.ndarray, int]]):
    index = int(np.searchsorted(film.frames, 35)) // 3 * 3
    panel = images[index // 3][0][TOP : TOP + PANEL, PANEL_LEFTS[1] : PANEL_LEFTS[1] + PANEL]
    middle = PANEL // 16  # of a pixel of the retina, 40 wide
    shown = panel[middle :: PANEL // 8, middle :: PANEL // 8].astype(int)
    assert np.abs(shown - film.retina[index]).max() <= 24


def test_cursor_moves(images: list[tuple[np.ndarray, int]]):
    purple = np.array([0xCC, 0x79, 0xA7])
    columns = [np.argwhere((image == purple).all(2))[:, 1].mean() for image, _ in images]
    assert (np.diff(columns) > 0).all()


def test_long_trials_are_shown_faster(film: TrialFilm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(animation_module, "MOST_IMAGES", 6)
    animation(film, tmp_path / "short.gif")
    with Image.open(tmp_path / "short.gif") as gif:
        assert getattr(gif, "n_frames", 1) <= 7


def test_gaze_is_marked_in_the_panel(film: TrialFilm):
    index = int(np.searchsorted(film.frames, film.end))
    view = np.asarray(draw_watched(film, index))
    x, y = film.gaze[index]
    row, column = (int((value + MARGIN) / (1 + 2 * MARGIN) * PANEL) for value in (y, x))
    assert tuple(view[row, column]) == (255, 255, 255)


def test_words_of_the_moment(film: TrialFilm):
    def words(frame: int) -> str:
        return moment(film, int(np.searchsorted(film.frames, frame)))

    assert words(-1) == "frame \N{MINUS SIGN}1: before fixation"
    assert words(0) == "frame 0: fixation"
    assert words(30) == "frame 30: ready"
    assert words(45) == "frame 45: after ready"
    assert words(film.end) == f"frame {film.end}: response"


@pytest.mark.parametrize(("height", "width"), [(32, 32), (72, 96), (8, 4)])
def test_retina_is_enlarged_without_distortion(height: int, width: int):
    image = enlarge(np.zeros((height, width, 3), np.uint8))
    assert max(image.size) == PANEL
    assert image.width * height == pytest.approx(image.height * width, rel=0.01)


def test_palette_gives_every_pixel_the_nearest_colour():
    generator = np.random.default_rng(0)
    palette = generator.integers(0, 256, (20, 3)).astype(np.uint8)
    pixels = generator.integers(0, 256, (9, 7, 3)).astype(np.uint8)
    pixels[0, 0] = palette[11]
    (indexed,) = with_palette([Image.fromarray(pixels)], palette)
    shown = np.asarray(indexed.convert("RGB")).astype(int)
    for mine, wanted in zip(shown.reshape(-1, 3), pixels.reshape(-1, 3).astype(int), strict=True):
        best = min(((wanted - colour) ** 2).sum() for colour in palette.astype(int))
        assert ((wanted - mine) ** 2).sum() == best
    assert tuple(shown[0, 0]) == tuple(palette[11])


def test_codes_and_counts():
    assert codes(np.array([1, 2, 3], np.uint8)) == 0x010203
    image = Image.new("RGB", (4, 2), (9, 8, 7))
    image.putpixel((0, 0), (1, 1, 1))
    assert dict(colours_of(image)) == {(9, 8, 7): 7, (1, 1, 1): 1}
