"""Drives a Chromium or Chrome over its DevTools pipe: two file descriptors and JSON, nothing to install."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb",
)  # fmt: skip
PATIENCE = 120.0  # seconds for one answer; machines may be busy

# Display frames come when the test says so, whatever the machine is busy with: `tick(frames, milliseconds)`.
MANUAL_CLOCK = """
const waiting = [];
globalThis.requestAnimationFrame = (callback) => waiting.push(callback);
let time = 0;
globalThis.tick = (frames, milliseconds = 1000 / 60) => {
  for (let i = 0; i < frames; i++) {
    time += milliseconds;
    for (const callback of waiting.splice(0)) callback(time);
  }
};
"""


def find_chromium() -> str | None:
    """The browser of this machine, or the one that GNOMON_CHROMIUM names."""
    named = os.environ.get("GNOMON_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One headless browser with one page."""

    def __init__(self, executable: str, width: int = 1400, height: int = 900, scale: float = 1.0) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gnomon-chromium-", ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        words = [executable, *OPTIONS, f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "chromium", *words, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._buffer = 0, b""
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        self._touching = False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.resize(width, height, scale)

    # The protocol.

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(until - time.monotonic())
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self, patience: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, patience))
            if not ready:
                raise TimeoutError(f"the browser has not answered for {PATIENCE:.0f} s")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has gone")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    # The page.

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": scale}
        self.send("Emulation.setDeviceMetricsOverride", **size, mobile=width < 500)

    def prefer(self, **features: str) -> None:
        """Media features, such as color_scheme="dark" or reduced_motion="reduce"."""
        named = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", features=named)

    @contextmanager
    def before_load(self, script: str) -> Iterator[None]:
        """Run a script in every page before its own."""
        added = self.send("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        yield
        self.send("Page.removeScriptToEvaluateOnNewDocument", identifier=added)

    def open(self, url: str) -> None:
        """Go to a page and wait until its program says that it is ready."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=url)
        self.wait_for("document.body && document.body.dataset.ready === 'yes'")

    def evaluate(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, expression: str, patience: float = PATIENCE) -> Any:
        """Ask until the expression is true."""
        return poll(lambda: self.evaluate(expression), f"{expression} never came true", patience)

    def key(self, key: str, kind: str = "press") -> None:
        """Press a key, or only let it go "down" or "up"."""
        code = {" ": 32, "Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        shared = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code.get(key, 0)}
        text = {" ": " ", "Enter": "\r"}.get(key)
        if kind in ("press", "down"):
            self.send("Input.dispatchKeyEvent", type="keyDown", **shared, **({"text": text} if text else {}))
        if kind in ("press", "up"):
            self.send("Input.dispatchKeyEvent", type="keyUp", **shared)

    def pointer(self, kind: str, x: float, y: float) -> None:
        """kind: mousePressed, mouseMoved or mouseReleased, at CSS pixels of the page."""
        button = "none" if kind == "mouseMoved" else "left"
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=1, clickCount=1)

    def touch(self, point: tuple[float, float] | None) -> None:
        """Put a finger on this point of the page, move it there, or lift it."""
        points = [] if point is None else [{"x": point[0], "y": point[1]}]
        kind = "touchEnd" if point is None else "touchMove" if self._touching else "touchStart"
        self._touching = point is not None
        self.send("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def downloads(self, folder: Path) -> None:
        """Let the page save files into this folder."""
        self.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def screenshot(self, path: Path, whole: bool = False) -> None:
        picture = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(picture["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def complaints(self) -> list[str]:
        """Errors on the console, exceptions, and log entries of the page so far."""
        self.evaluate("0")
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:600])
            elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                found.append(json.dumps(parameters["args"])[:600])
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """Addresses that the page has asked for, but those that are part of it."""
        self.evaluate("0")
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("data:", "blob:", "about:"))]

    def close(self) -> None:
        self._session = None
        try:
            self.send("Browser.close")
        except (OSError, RuntimeError, TimeoutError):
            self._process.kill()
        self._process.wait(30)
        os.close(self._read)
        os.close(self._write)
        self._folder.cleanup()


def poll(ask: Callable[[], Any], otherwise: str, patience: float = PATIENCE) -> Any:
    until = time.monotonic() + patience
    while not (answer := ask()):
        if time.monotonic() > until:
            raise TimeoutError(otherwise)
        time.sleep(0.05)
    return answer
