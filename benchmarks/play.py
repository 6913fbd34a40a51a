"""How fast an agent runs in a real browser, and how steadily a person's task keeps 60 frames a second.

PYTHONPATH=tests/support .venv/bin/python benchmarks/play.py [PAGE]

Numbers of a shared machine are what the browser got of it: the share of wall-clock time is printed beside them.
"""

import sys
import time
from itertools import pairwise
from pathlib import Path

from chromium import Chromium, find_chromium

PAGE = Path("out/play.html")
SECONDS = 8.0  # of each measurement

# Agent frames and the page's own time in them, without drawing: frames in `seconds` of wall-clock time.
BARE_SPEED = """
((seconds) => {
  const { experiment } = gnomon.watch;
  const stop = performance.now() + 1000 * seconds;
  let frames = 0;
  while (performance.now() < stop) for (let i = 0; i < 100; i++, frames++) experiment.frame();
  return frames / seconds;
})
"""


def main() -> None:
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    executable = find_chromium()
    if executable is None or not page.exists():
        raise SystemExit(f"this needs a Chromium and {page}, which `gnomon play --out {page} --no-open` writes")
    browser = Chromium(executable)
    try:
        for agent in ("lstm-0", "feedforward-0"):
            measure_agent(browser, page.resolve().as_uri(), agent)
        measure_play(browser, page.resolve().as_uri())
    finally:
        browser.close()


def measure_agent(browser: Chromium, address: str, agent: str) -> None:
    browser.open(f"{address}#agent={agent}&speed=max")
    browser.wait_for("gnomon.watch.experiment.trials.length > 40")  # everything has been seen and compiled
    before = browser.evaluate("[gnomon.watch.experiment.history.count, performance.now()]")
    time.sleep(SECONDS)
    after = browser.evaluate("[gnomon.watch.experiment.history.count, performance.now()]")
    shown = (after[0] - before[0]) / (after[1] - before[1]) * 1000
    browser.evaluate("gnomon.watch.run(false)")
    bare = max(browser.evaluate(f"{BARE_SPEED}(1)") for _ in range(4))
    print(
        f"{agent:15s} {shown:9,.0f} agent frames/s on the page at full speed, {bare:9,.0f} without drawing (best of 4)"
    )


def measure_play(browser: Chromium, address: str) -> None:
    browser.open(f"{address}#view=play&practice=0&trials=9&seed=1")
    browser.evaluate("document.getElementById('start').click()")
    time.sleep(SECONDS)
    count, dropped, stamps = browser.evaluate(
        "[gnomon.play.count, gnomon.play.dropped, gnomon.play.frames.map((frame) => frame.time_ms)]"
    )
    gaps = sorted(later - earlier for earlier, later in pairwise(stamps))
    refresh = browser.evaluate("gnomon.play.refresh")
    lowest, middle, highest = (gaps[int(share * (len(gaps) - 1))] for share in (0.05, 0.5, 0.95))
    print(
        f"play            {count} frames in {stamps[-1] / 1000:.1f} s ({count / stamps[-1] * 1000:.2f} a second), "
        f"{dropped} not shown; display {refresh:.1f} Hz; ms between frames {lowest:.1f} / {middle:.1f} / {highest:.1f} "
        "(5, 50, 95 %)"
    )


if __name__ == "__main__":
    main()
