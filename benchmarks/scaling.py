"""What does a frame cost, and what would it cost if the processor did nothing but multiply matrices?

Run `python benchmarks/scaling.py` (about two minutes on an idle core): processor time per training frame against lanes,
units, retina and lattice, each with the bound that the processor sets; it draws them and prints where the time goes.
One thread. Time is that of the processor, so other programs disturb less than they would by the clock.

The bound is the number of floating-point operations of all matrix products and convolutions, as torch counts them,
divided by the rate at which this processor multiplies large matrices. Nothing can be faster without fewer operations.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import tyro
from rich.console import Console
from rich.table import Table
from throughput import Stopwatch, build_trainer
from torch.utils.flop_counter import FlopCounterMode

from gnomon.config import Loss, Optimiser, RunConfig
from gnomon.lab.optics import OpticsConfig
from gnomon.learn.loop import Trainer
from gnomon.learn.malloc import keep_freed_memory
from gnomon.presets import preset
from gnomon.report.figures.style import ACCENT, INK, panels, styled

PARTS = ("acting", "features", "controller", "vision")
IN_WORDS = {
    "acting": "acting: laboratory, controller, drawing of actions",
    "features": "vision forward: features seen for the first time or anew",
    "controller": "learning: controller, heads, losses, optimiser",
    "vision": "learning: vision backward and its optimiser",
    "rest": "rest: shuffling, trial table, metrics",
}
SHARED = {"lanes": 256, "units": 128, "retina": 32, "step": 20}  # of the point that all curves have
CURVES = {"lanes": (64, 256, 1024), "units": (32, 128, 512), "retina": (16, 32, 64), "step": (40, 20, 10)}
GEMM = 768  # rows and columns of the matrices that measure the processor


@dataclass(frozen=True)
class Options:
    """Measure what a frame costs."""

    out: Path = Path("scaling.png")
    """The picture."""
    quick: bool = False
    """Two points a curve instead of three."""


@dataclass(frozen=True)
class Cost:
    """Of one training frame."""

    seconds: float
    shares: dict[str, float]
    operations: float

    def bound(self, rate: float) -> float:
        """Seconds at this many operations a second."""
        return self.operations / rate


def run_config(controller: str = "lstm", **changed: int) -> RunConfig:
    """Plain IMPALA; 16 updates a round, after which vision learns from a sample of 128 observations."""
    config, sizes = preset("paper", controller=controller), SHARED | changed
    optimiser = Optimiser(learning_rate=1e-3, vision_learning_rate=1e-4, vision_every=16, vision_sample=128)
    return replace(
        config,
        optics=OpticsConfig(retina=(sizes["retina"], sizes["retina"]), gaze_step=sizes["step"]),
        agent=replace(config.agent, units=sizes["units"], value_units=256),
        learning=replace(config.learning, lanes=sizes["lanes"], optimiser=optimiser, loss=Loss(entropy_cost=0.005)),
    )


def measure(config: RunConfig) -> Cost:
    """A round to warm up, one whose operations are counted, and one whose time is taken."""
    trainer = build_trainer(config)
    trainer.round()
    frames = trainer.frames
    with FlopCounterMode(display=False) as counter:
        trainer.round()
    operations = counter.get_total_flops() / (trainer.frames - frames)
    watch = watched(trainer)
    frames, start = trainer.frames, time.process_time()
    trainer.round()
    total = time.process_time() - start
    return Cost(total / (trainer.frames - frames), watch.shares(total), operations)


def watched(trainer: Trainer) -> Stopwatch:
    """A stopwatch around the parts of a round."""
    watch, cache, learner = Stopwatch(PARTS, time.process_time), trainer.actor.cache, trainer.learner
    watch.around("acting", trainer.actor, "unroll")
    watch.around("features", cache, "_see")
    watch.around("features", cache, "refresh")
    watch.around("controller", learner, "_update")
    watch.around("vision", learner, "_update_vision")
    return watch


def gemm_rate() -> float:
    """Floating-point operations a second in the product of two large matrices; the best of some tries."""
    a, b = torch.rand(GEMM, GEMM), torch.rand(GEMM, GEMM)
    best = 0.0
    for _ in range(20):
        start = time.process_time()
        for _ in range(4):
            a @ b
        best = max(best, 4 * 2 * GEMM**3 / (time.process_time() - start))
    return best


def main(options: Options) -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    console = Console(width=110)
    console.print("measuring the point that all curves have ...", style="dim")
    rates, shared = [gemm_rate()], measure(run_config())
    costs: dict[str, dict[int, Cost]] = {}
    for name, values in CURVES.items():
        costs[name] = {}
        for value in values[:2] if options.quick else values:
            console.print(f"measuring {name} {value} ...", style="dim")
            costs[name][value] = shared if value == SHARED[name] else measure(run_config("lstm", **{name: value}))
        rates.append(gemm_rate())
    console.print("measuring the feedforward agent ...", style="dim")
    feedforward = measure(run_config("feedforward"))
    rate = max(rates)
    console.print(
        f"matrix products of {GEMM} x {GEMM}: {rate / 1e9:.0f} GFLOP/s on one core, torch {torch.__version__}"
    )
    console.print(parts_table({"lstm": shared, "feedforward": feedforward}, rate))
    console.print(curves_table(costs, rate))
    draw(costs, rate, options.out)
    console.print(f"drawn in {options.out}")


def parts_table(agents: dict[str, Cost], rate: float) -> Table:
    table = Table(title="Where the time goes (microseconds of one core per frame)", title_justify="left")
    table.add_column("part")
    for name in agents:
        table.add_column(name, justify="right")
    for part, words in IN_WORDS.items():
        table.add_row(words, *(f"{1e6 * cost.seconds * cost.shares[part]:.1f}" for cost in agents.values()))
    table.add_row("all", *(f"{1e6 * cost.seconds:.1f}" for cost in agents.values()))
    table.add_row("bound: the matrix products alone", *(f"{1e6 * cost.bound(rate):.1f}" for cost in agents.values()))
    table.add_row("times the bound", *(f"{cost.seconds / cost.bound(rate):.1f}" for cost in agents.values()))
    return table


def curves_table(costs: dict[str, dict[int, Cost]], rate: float) -> Table:
    table = Table(title="Microseconds per frame (lstm)", title_justify="left")
    for column in ("setting", "value", "measured", "bound", "times the bound"):
        table.add_column(column, justify="left" if column == "setting" else "right")
    for name, points in costs.items():
        for value, cost in points.items():
            ratio = cost.seconds / cost.bound(rate)
            table.add_row(
                name, str(value), f"{1e6 * cost.seconds:.1f}", f"{1e6 * cost.bound(rate):.1f}", f"{ratio:.1f}"
            )
    return table


def draw(costs: dict[str, dict[int, Cost]], rate: float, out: Path) -> None:
    titles = {
        "lanes": "lanes",
        "units": "units of the LSTM",
        "retina": "side of the retina (pixels)",
        "step": "step of the gaze (engine pixels)",
    }
    with styled():
        figure, axes = panels(2, 2)
        for axis, (name, points) in zip(axes.flat, costs.items(), strict=True):
            values = list(points)
            axis.plot(values, [1e6 * points[value].seconds for value in values], "o-", color=INK, label="measured")
            axis.plot(
                values,
                [1e6 * points[v].bound(rate) for v in values],
                "s--",
                color=ACCENT,
                label="matrix products alone",
            )
            axis.set(xlabel=titles[name], ylabel="µs per frame, one core", xscale="log", ylim=(0, None))
            axis.set_xticks(values, list(map(str, values)))
            axis.minorticks_off()
        axes.flat[0].legend()
        figure.savefig(out, metadata={"Software": None})


if __name__ == "__main__":
    main(tyro.cli(Options))
