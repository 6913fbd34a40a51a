"""What does a frame cost, and what would it cost if the processor did nothing but multiply matrices?

Run `python benchmarks/scaling.py` (some minutes on an idle core): processor time per training frame against lanes,
units, retina, lattice and threads, each with the bound that the processor sets; it draws them and prints where the time
goes. Time is that of the processor, all threads together, so other programs disturb less than they would by the clock.
One thread, but for the last curve.

The bound is the number of floating-point operations of all matrix products and convolutions, as torch counts them,
divided by the rate at which this processor multiplies large matrices. Nothing can be faster without fewer operations.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from rich.table import Table
from throughput import Stopwatch, build_trainer
from torch.utils.flop_counter import FlopCounterMode

from gnomon.agent.products import multiply
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
SHARED = {"lanes": 256, "units": 128, "retina": 32, "step": 20, "threads": 1}  # of the point that all curves have
CURVES = {
    "lanes": (64, 256, 1024),
    "units": (32, 128, 256),
    "retina": (16, 32, 48),
    "step": (40, 20, 10),
    "threads": (1, 2),
}
GEMM = 768  # rows and columns of the matrices that measure the processor


@dataclass(frozen=True)
class Options:
    """Measure what a frame costs."""

    out: Path = Path("docs/images/scaling.png")
    """The picture."""


@dataclass(frozen=True)
class Cost:
    """Of one training frame."""

    seconds: float
    shares: dict[str, float]
    operations: float

    def bound(self, rate: float) -> float:
        """Seconds at this many operations a second."""
        return self.operations / rate


def run_config(controller: str, **changed: int) -> RunConfig:
    """Plain IMPALA, batches of 32; after every eighth update vision learns from a sample of 128 observations."""
    config, sizes = preset("paper", controller=controller), SHARED | changed
    optimiser = Optimiser(learning_rate=1e-3, vision_learning_rate=1e-4, vision_every=8, vision_sample=128)
    return replace(
        config,
        optics=OpticsConfig(retina=(sizes["retina"], sizes["retina"]), gaze_step=sizes["step"]),
        agent=replace(config.agent, units=sizes["units"], value_units=256),
        learning=replace(config.learning, lanes=sizes["lanes"], optimiser=optimiser, loss=Loss(entropy_cost=0.005)),
    )


def measure(controller: str = "lstm", **changed: int) -> Cost:
    """A round to warm up, one whose operations are counted, and three whose time is taken: the fastest counts."""
    torch.set_num_threads(changed.get("threads", SHARED["threads"]))
    trainer = build_trainer(run_config(controller, **changed))
    trainer.round()
    frames = trainer.frames
    with FlopCounterMode(display=False, custom_mapping={torch.ops.mkldnn._linear_pointwise: operations_of}) as counter:
        trainer.round()
    operations = counter.get_total_flops() / (trainer.frames - frames)
    watch, costs = watched(trainer), list[Cost]()
    for _ in range(3):
        watch.seconds = dict.fromkeys(watch.seconds, 0.0)
        frames, start = trainer.frames, time.process_time()
        trainer.round()
        total = time.process_time() - start
        costs.append(Cost(total / (trainer.frames - frames), watch.shares(total), operations))
    return min(costs, key=lambda cost: cost.seconds)


def operations_of(inputs: torch.Size, weight: torch.Size, *_: Any, **__: Any) -> int:
    """Floating-point operations of `products.affine` by oneDNN, which torch does not count, from its shapes."""
    return 2 * inputs.numel() * weight[0]


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
    for _ in range(5):
        start = time.process_time()
        for _ in range(4):
            multiply(a, b)
        best = max(best, 4 * 2 * GEMM**3 / (time.process_time() - start))
    return best


def main(options: Options) -> None:
    keep_freed_memory()
    torch.set_num_threads(1)
    console = Console(width=110)
    console.print("measuring the point that all curves have ...", style="dim")
    rates, shared = [gemm_rate()], measure()
    costs: dict[str, dict[int, Cost]] = {}
    for name, values in CURVES.items():
        costs[name] = {}
        for value in values:
            console.print(f"measuring {name} {value} ...", style="dim")
            costs[name][value] = shared if value == SHARED[name] else measure(**{name: value})
        torch.set_num_threads(1)
        rates.append(gemm_rate())
    console.print("measuring the feedforward agent ...", style="dim")
    feedforward = measure("feedforward")
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
        "threads": "threads",
    }
    with styled():
        figure, axes = panels(2, 3)
        *curves, rest = axes.flat
        for axis, (name, points) in zip(curves, costs.items(), strict=True):
            values = list(points)
            axis.plot(values, [1e6 * points[value].seconds for value in values], "o-", color=INK, label="measured")
            axis.plot(
                values,
                [1e6 * points[v].bound(rate) for v in values],
                "s--",
                color=ACCENT,
                label="matrix products alone",
            )
            axis.set(xlabel=titles[name], ylabel="µs per frame", xscale="log", ylim=(0, None))
            axis.set_xticks(values, list(map(str, values)))
            axis.minorticks_off()
        rest.set_axis_off()
        rest.legend(*curves[0].get_legend_handles_labels(), loc="center left")
        figure.savefig(out, metadata={"Software": None})


if __name__ == "__main__":
    main(tyro.cli(Options))
