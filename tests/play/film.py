"""Films the page for the README.

PYTHONPATH=tests/support .venv/bin/python tests/play/film.py PAGE docs/images/play.gif

Display frames come from a manual clock, so the film is the same on a slow machine. Three scenes: an agent with memory,
left alone; its memory swapped at Set; an agent without a memory, its gaze swapped at Set.
"""

import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from chromium import MANUAL_CLOCK, Chromium, find_chromium
from PIL import Image

WIDTH, HEIGHT, SCALE = 1240, 990, 0.74  # CSS pixels, and the film's share of them
EVERY = 5  # frames of the task from one picture to the next
SHOWN = 90  # milliseconds for which a picture is shown
LINGER = 1800  # milliseconds for the last picture of a scene
COLOURS = 160
# Small things whose colours must not be lost among the large ones: cues, paths, marks.
VIVID = (
    (255, 10, 10), (255, 255, 10), (10, 200, 10), (255, 116, 98), (255, 214, 90), (216, 54, 47), (185, 138, 0),
    (35, 134, 58), (255, 216, 77), (45, 100, 153), (180, 83, 9), (255, 255, 255),
)  # fmt: skip
SCENES = (
    ("agent=lstm-0&seed=5", 1, 40),
    ("agent=lstm-0&swap=memory&seed=3", 1, 40),
    ("agent=feedforward-0&swap=gaze&seed=3", 2, 60),
)  # link, trials that are followed, trials that then run past


def main() -> None:
    page, out = Path(sys.argv[1]), Path(sys.argv[2])
    executable = find_chromium()
    if executable is None:
        raise SystemExit("there is no Chromium or Chrome to film with")
    browser = Chromium(executable, WIDTH, HEIGHT, SCALE)
    pictures: list[Image.Image] = []
    durations: list[int] = []
    try:
        browser.prefer(color_scheme="light")
        with browser.before_load(MANUAL_CLOCK):
            for link, followed, past in SCENES:
                browser.open(f"{page.resolve().as_uri()}#{link}")
                scene = list(film(browser, followed, past))
                pictures += scene
                durations += [SHOWN] * (len(scene) - 1) + [LINGER]
    finally:
        browser.close()
    palette = Image.new("P", (1, 1))
    chosen = montage(pictures).quantize(COLOURS).getpalette() or []
    palette.putpalette(chosen[: 3 * COLOURS] + [channel for colour in VIVID for channel in colour])
    flat = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    flat[0].save(out, save_all=True, append_images=flat[1:], duration=durations, loop=0, optimize=True)
    print(f"{out}: {len(flat)} pictures, {out.stat().st_size / 1e6:.2f} MB")


def film(browser: Chromium, followed: int, past: int) -> Iterator[Image.Image]:
    """Follow some trials from fixation to answer, then let many run past while the plot grows.

    The first trial of the episode is over by then: a memory without a past often answers it late.
    """
    done = "gnomon.watch.experiment.trials.length"
    browser.evaluate(f"while ({done} < 1) gnomon.watch.experiment.frame()")
    for _ in range(followed):
        browser.evaluate("while (!gnomon.watch.experiment.laboratory.trials.running) tick(1)")
        before = browser.evaluate(done)
        while browser.evaluate(done) == before:
            browser.evaluate(f"tick({EVERY})")
            yield picture(browser)
    browser.evaluate("tick(8)")
    yield picture(browser)
    for trial in range(0, past, 4):
        browser.evaluate(f"while ({done} < {1 + followed + trial + 4}) gnomon.watch.experiment.frame()")
        browser.evaluate("gnomon.watch.draw(true)")
        yield picture(browser)


def montage(pictures: list[Image.Image]) -> Image.Image:
    """Some pictures of every scene side by side: what the film's colours are chosen from."""
    chosen = pictures[:: max(1, len(pictures) // 16)]
    width, height = chosen[0].size
    whole = Image.new("RGB", (width * len(chosen), height))
    for place, each in enumerate(chosen):
        whole.paste(each, (place * width, 0))
    return whole


def picture(browser: Chromium) -> Image.Image:
    with tempfile.TemporaryDirectory() as folder:
        browser.screenshot(Path(folder) / "picture.png")
        return Image.open(io.BytesIO((Path(folder) / "picture.png").read_bytes())).convert("RGB")


if __name__ == "__main__":
    main()
