"""How fast does this processor multiply matrices in single precision? torch's own way (MKL) beside Gnomon's (oneDNN).

Run `python benchmarks/products.py` (half a minute, one thread). Rows are the products of one LSTM of the preset
`laptop`; times are those of the processor, the best of several.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import tyro
from rich.console import Console
from rich.table import Table

from gnomon.agent.products import affine
from gnomon.learn.malloc import keep_freed_memory

# rows, inputs, outputs
PRODUCTS = {
    "one large product": (2048, 2048, 2048),
    "acting: recurrent, 512 lanes": (512, 128, 512),
    "learning: recurrent, 128 lanes": (128, 128, 512),
    "learning: its gradient": (128, 512, 128),
    "learning: recurrent weight's gradient": (128, 12_800, 512),
    "value network's hidden layer": (12_800, 128, 256),
    "policy": (512, 128, 9),
    "whitening of 256 features": (256, 256, 256),
}


@dataclass(frozen=True)
class Options:
    """Measure the speed of products of matrices."""

    turns: int = 20
    """Measurements of each product, of which the fastest counts."""


def seconds(run: Callable[[], object], turns: int) -> float:
    """Processor time of one call, at best."""
    times = []
    for _ in range(turns):
        calls, start = 0, time.process_time()
        while time.process_time() - start < 0.02:
            run()
            calls += 1
        times.append((time.process_time() - start) / calls)
    return min(times)


@torch.no_grad()
def main(options: Options) -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    table = Table(title="billion operations per second, one thread")
    for column in ("product", "rows x inputs x outputs", "torch", "Gnomon", "times"):
        table.add_column(column, justify="left" if column == "product" else "right")
    for name, (rows, inputs, outputs) in PRODUCTS.items():
        left, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
        work = 2 * rows * inputs * outputs / 1e9
        own = work / seconds(lambda left=left, weight=weight: affine(left, weight), options.turns)
        torchs = work / seconds(lambda left=left, weight=weight: left @ weight.t(), options.turns)
        table.add_row(name, f"{rows} x {inputs} x {outputs}", f"{torchs:.0f}", f"{own:.0f}", f"{own / torchs:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
