"""How fast does an agent learn from pixels? Training frames per second, where the time goes, and what makes it fast.

Run `python benchmarks/throughput.py` (about four minutes on two idle cores) or `--quick` (about two). All agents are in
the first minute of their training: the gaze still wanders everywhere, which is the slowest case. What counts are the
ratios within one run: they depend less on the machine than the rates do. If other programs keep the cores busy, use
`--threads 1`: threads that wait for each other then lose most of their time.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch import Tensor

from gnomon.agent.feature_cache import FeatureCache, run_vision
from gnomon.agent.vision import Vision
from gnomon.config import LearningConfig, RunConfig
from gnomon.lab.optics import OpticsConfig
from gnomon.learn.loop import Trainer
from gnomon.learn.malloc import keep_freed_memory
from gnomon.learn.unroll import Unroll
from gnomon.presets import preset
from gnomon.records.runs import RunFolder

RETINAS = ((32, 32), (72, 96))
LANES = (64, 256, 1024, 4096)
UPDATES = 16  # per unroll where lanes vary: batches grow with the lanes
# If vision runs on every frame, each costs the same, however many there are: few lanes and short unrolls will do.
EVERY_FRAME: dict[str, Any] = {"lanes": 64, "unroll": 20, "batch": 16}
IMAGES = 256  # that the reference network sees at once


@dataclass(frozen=True)
class Options:
    """Measure the speed of training."""

    quick: bool = False
    """A rough measurement: shorter, and lanes up to 1,024."""
    threads: int = torch.get_num_threads()
    """Threads to compute with."""

    @property
    def seconds(self) -> float:
        """Shortest time of one measurement; a round is always finished."""
        return 1.0 if self.quick else 6.0


@dataclass(frozen=True)
class Speed:
    frames: float
    """Per second, acted and learned from."""
    distinct: float
    """Observations that vision learned from in one update."""
    shares: dict[str, float]
    """Of the time: acting (with looking at what is new), vision, controller, rest."""


class Stopwatch:
    """Seconds spent in the methods it was put around, by part; those of a part within another count once."""

    def __init__(
        self,
        parts: Sequence[str] = ("acting", "vision", "controller"),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.seconds = dict.fromkeys(parts, 0.0)
        self._parts, self._clock = ["rest"], clock
        self._since = clock()

    def around(self, part: str, owner: Any, method: str) -> None:
        setattr(owner, method, self.timed(part, getattr(owner, method)))

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            self._switch()
            self._parts.append(part)
            found = function(*arguments)
            self._switch()
            self._parts.pop()
            return found

        return run

    def _switch(self) -> None:
        """Give the time since the last switch to the part that is running."""
        now = self._clock()
        if self._parts[-1] in self.seconds:
            self.seconds[self._parts[-1]] += now - self._since
        self._since = now

    def shares(self, total: float) -> dict[str, float]:
        parts = {name: spent / total for name, spent in self.seconds.items()}
        return parts | {"rest": 1 - sum(parts.values())}


def measure(config: RunConfig, seconds: float) -> Speed:
    """Train for some seconds, after a warm-up of one round."""
    trainer = build_trainer(config)
    trainer.round()
    watch, learner = Stopwatch(), trainer.learner
    watch.around("acting", trainer.actor, "unroll")
    watch.around("vision", trainer.actor.cache, "features")
    watch.around("vision", learner, "_update_vision")
    watch.around("controller", learner, "_update")
    frames, start, distinct = trainer.frames, time.perf_counter(), []
    while not distinct or time.perf_counter() - start < seconds:
        distinct.append(trainer.round()["distinct"])
    total = time.perf_counter() - start
    return Speed((trainer.frames - frames) / total, sum(distinct) / len(distinct), watch.shares(total))


def build_trainer(config: RunConfig) -> Trainer:
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, RunFolder(Path(folder)))
    # Every gaze is traced once in a run; that is over after its first seconds.
    trainer.laboratory.render(torch.arange(trainer.laboratory.lattice.count))
    return trainer


class NoTable(FeatureCache):
    """Vision runs on whatever is looked at, however often it has been seen."""

    @torch.no_grad()
    def look(self, ids: Tensor) -> Tensor:
        return self.agent.controller.drive(run_vision(self.agent, self.render, ids))


def measure_every_frame(config: RunConfig, seconds: float) -> Speed:
    """The same without "never look twice": vision runs on every frame that is acted on or learned from."""
    trainer = build_trainer(config)
    learner, actor, lab = trainer.learner, trainer.actor, trainer.laboratory
    actor.subject.cache = NoTable(trainer.agent, lab.render, lab.observations)
    watch = Stopwatch()
    watch.around("acting", actor, "unroll")
    see, see_back = (watch.timed("vision", function) for function in (run_vision, Tensor.backward))
    learn = watch.timed("controller", lambda *batch: learner.loss(*batch)[0].backward())

    def update(batch: Unroll) -> None:
        seen = see(trainer.agent, lab.render, batch.ids.flatten())
        features = seen.detach().requires_grad_()
        learn(batch, features, torch.arange(batch.ids.numel()).view_as(batch.ids))
        see_back(seen, features.grad)
        for optimiser in (learner.optimiser, learner.vision_optimiser):
            optimiser.step()
            optimiser.zero_grad()

    frames, start = 0, time.perf_counter()
    while not frames or time.perf_counter() - start < seconds:
        unroll = actor.unroll()
        for lanes in torch.arange(unroll.lanes).split(config.learning.batch):
            update(unroll.select(lanes))
        frames += unroll.frames
    total = time.perf_counter() - start
    return Speed(frames / total, config.learning.batch * (config.learning.unroll + 1), watch.shares(total))


def laptop(controller: str = "lstm", retina: tuple[int, int] = (32, 32), **learning: int) -> RunConfig:
    """The laptop preset with another controller, retina or other settings of learning. Vision learns all along."""
    config = preset("laptop", controller=controller)
    changed: LearningConfig = replace(config.learning, **learning)
    return replace(config, optics=OpticsConfig(retina=retina), learning=changed)


def vision_images_per_second(retina: tuple[int, int], seconds: float) -> float:
    """The reference: vision's forward and backward pass over images, and nothing else; the best of three tries."""
    generator = torch.Generator().manual_seed(0)
    vision = Vision(retina, generator=generator)
    pixels = torch.randint(256, (IMAGES, *retina, 3), generator=generator, dtype=torch.uint8)
    vision(pixels).sum().backward()
    best = 0.0
    for _ in range(3):
        done, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds / 3:
            vision(pixels).sum().backward()
            done += IMAGES
        best = max(best, done / elapsed)
    return best


# Whether keeping freed memory helps can only be told in processes that do and do not.


def probe(keep: bool, seconds: float, threads: int) -> None:
    """Print training frames per second in this process."""
    torch.set_num_threads(threads)
    if keep:
        keep_freed_memory()
    print(measure(laptop(), seconds).frames)


def memory_ratio(options: Options) -> float:
    """Frames per second with freed memory kept over those with it given back; the better of two processes each."""
    best = {True: 0.0, False: 0.0}
    for keep in (True, False) if options.quick else (True, False, False, True):
        here = str(Path(__file__).parent)
        code = f"import sys; sys.path.insert(0, {here!r}); import throughput; "
        code += f"throughput.probe({keep}, {options.seconds}, {options.threads})"
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        best[keep] = max(best[keep], float(output.stdout.split()[-1]))
    return best[True] / best[False]


def main(options: Options) -> None:
    torch.set_num_threads(options.threads)
    kept = keep_freed_memory()
    console = Console(width=110)
    console.print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")

    def speed(name: str, config: RunConfig) -> Speed:
        console.print(f"measuring {name} ...", style="dim")
        return measure(config, options.seconds)

    images = {retina: vision_images_per_second(retina, options.seconds) for retina in RETINAS}
    rows: list[tuple[str, tuple[int, int], Speed]] = []
    for retina in RETINAS:
        size = f"{retina[0]} x {retina[1]}"
        rows.append(("lstm", retina, speed(f"lstm at {size}", laptop(retina=retina))))
        console.print(f"measuring lstm at {size}, every frame ...", style="dim")
        every = measure_every_frame(laptop(retina=retina, **EVERY_FRAME), options.seconds)
        rows.append(("lstm, every frame", retina, every))
    rows.append(("feedforward", RETINAS[0], speed("feedforward", laptop("feedforward"))))
    console.print(speed_table(rows, images))
    for number, retina in enumerate(RETINAS):
        ratio = rows[2 * number][2].frames / rows[2 * number + 1][2].frames
        console.print(f"never looking twice, {retina[0]} x {retina[1]}: {ratio:.1f} times the frames per second")

    lanes = LANES[:-1] if options.quick else LANES
    speeds = [speed(f"{n:,} lanes", laptop(lanes=n, batch=n // UPDATES)) for n in lanes]
    table = Table(
        title=f"Frames per second by lanes (lstm, 32 x 32, {UPDATES} updates per unroll)", title_justify="left"
    )
    columns = ("lanes", "frames/s", f"x {lanes[0]} lanes", "x every frame")
    for column in (*columns, "distinct", "acting", "vision", "controller", "rest"):
        table.add_column(column, justify="right")
    for number, result in zip(lanes, speeds, strict=True):
        ratios = (result.frames / speeds[0].frames, result.frames / rows[1][2].frames)
        table.add_row(
            f"{number:,}", f"{result.frames:,.0f}", *(f"{ratio:.1f}" for ratio in ratios), *share_cells(result)
        )
    console.print(table)

    if kept:
        console.print("measuring with and without kept memory, in processes of their own ...", style="dim")
        console.print(f"keeping freed memory: {memory_ratio(options):.2f} times the frames per second")
    else:
        console.print("keeping freed memory: not on this system")


def speed_table(rows: list[tuple[str, tuple[int, int], Speed]], images: dict[tuple[int, int], float]) -> Table:
    table = Table(title="Training, from the first frame on", title_justify="left")
    for column in ("agent", "retina", "frames/s", "ResNet images/s", "ratio"):
        table.add_column(
            column, justify="left" if column in ("agent", "retina") else "right", no_wrap=column == "agent"
        )
    for column in ("distinct", "acting", "vision", "controller", "rest"):
        table.add_column(column, justify="right")
    for name, retina, result in rows:
        reference = images[retina]
        table.add_row(
            name, f"{retina[0]} x {retina[1]}", f"{result.frames:,.0f}", f"{reference:,.0f}",
            f"{result.frames / reference:.2f}", *share_cells(result),
        )  # fmt: skip
    return table


def share_cells(speed: Speed) -> list[str]:
    return [f"{speed.distinct:,.0f}", *(f"{share:.0%}" for share in speed.shares.values())]


if __name__ == "__main__":
    main(tyro.cli(Options))
