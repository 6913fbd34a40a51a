"""How much of a policy gradient is signal, and what does V-trace's lambda change about it?

    python examples/how_noisy_the_gradient_is.py RUN [rounds]

The agent of a run (its newest checkpoint) acts on with fixed weights. From every batch the policy gradient of the
controller and the policy is computed, for several lambdas. Over batches its mean is signal and the rest is noise. The
weights are those that acted, so lambda 1 gives the true gradient but for rewards beyond the unroll; the others go by
the agent's value.

Printed for each lambda: the norm of the signal and of a batch's noise; the cosine between its signal and that of lambda
1 (1: the value tells the truth, below 0: it leads astray); and the gain, which is the share of a batch's squared norm
that points along the true gradient, divided by that of lambda 1. Signals and products of signals are estimated without
bias, so a cosine may exceed 1 by chance.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from gnomon.config import read_config
from gnomon.learn.actor import Actor
from gnomon.learn.build import build_actor
from gnomon.learn.unroll import Unroll
from gnomon.learn.vtrace import vtrace
from gnomon.saving.checkpoint import newest_checkpoint, unnest

LAMBDAS = (1.0, 0.99, 0.98, 0.95, 0.9, 0.8)


@dataclass(frozen=True)
class Noise:
    """The gradient for one lambda."""

    trace_decay: float
    signal: float  # norm of the mean gradient
    noise: float  # norm of what a batch adds to it
    cosine: float  # with the signal of lambda 1
    gain: float  # share of a batch along the true gradient, relative to lambda 1


def gradients(actor: Actor, batch: Unroll, discount: float) -> Tensor:
    """The policy gradient of a batch for each lambda: [lambdas, weights]."""
    agent = actor.agent
    weights = [*agent.controller.parameters(), *agent.policy.parameters()]
    distinct, places = batch.ids.unique(return_inverse=True)
    drive = agent.controller.drive(actor.cache.features(distinct))
    output = agent.unroll_distinct(drive, places, batch.first, batch.state)
    log_policy = output.logits[:-1].log_softmax(-1)
    log_prob = log_policy.gather(-1, batch.action.unsqueeze(-1)).squeeze(-1)
    value, discount_t = output.value.detach(), discount * (~batch.end)
    rows = []
    for trace_decay in LAMBDAS:
        on_policy = torch.zeros_like(batch.reward)
        goal = vtrace(on_policy, discount_t, batch.reward, value[:-1], value[-1], trace_decay=trace_decay)
        found = torch.autograd.grad((goal.advantages * log_prob).sum(), weights, retain_graph=True, allow_unused=True)
        rows.append(torch.cat([part.flatten() for part in found if part is not None]))
    return torch.stack(rows)


def compare(batches: Tensor) -> list[Noise]:
    """Signal and noise of gradients [batches, lambdas, weights]; the first lambda is the reference."""
    count = len(batches)
    halves = batches[0::2].mean(0), batches[1::2].mean(0)  # each [lambdas, weights]
    along = (halves[0] * halves[1][0] + halves[1] * halves[0][0]).sum(1) / 2  # dot products with the reference
    power = batches.square().sum((0, 2))  # [lambdas]
    total = batches.sum(0).square().sum(1)
    signal = ((total - power) / (count * (count - 1))).clamp(min=0)
    noise = (power - total / count) / (count - 1)
    useful = along * along.abs() / (noise + signal)
    return [
        Noise(trace_decay, *(float(x) for x in row))
        for trace_decay, *row in zip(
            LAMBDAS, signal.sqrt(), noise.sqrt(), along / (signal * signal[0]).sqrt(), useful / useful[0], strict=True
        )
    ]


def main(run: Path, rounds: int = 12) -> list[Noise]:
    config = read_config(run / "config.json")
    checkpoint, _ = newest_checkpoint(run / "checkpoints")
    actor = build_actor(config)
    actor.agent.load_state_dict(unnest("agent", checkpoint.tensors))
    actor.load_state_dict(unnest("actor", checkpoint.tensors))
    batches = []
    for _ in range(rounds):
        unroll = actor.unroll()
        for lanes in torch.arange(unroll.lanes).split(config.learning.batch):
            batches.append(gradients(actor, unroll.select(lanes), config.learning.loss.discount))
    rows = compare(torch.stack(batches))
    print(f"{run}: {len(batches)} batches of {config.learning.batch} x {config.learning.unroll} frames")
    print("lambda   signal    noise   cosine   gain")
    for row in rows:
        print(f"{row.trace_decay:6.2f} {row.signal:8.1f} {row.noise:8.1f} {row.cosine:8.2f} {row.gain:6.1f}")
    return rows


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python examples/how_noisy_the_gradient_is.py RUN [rounds]")
    main(Path(sys.argv[1]), *(int(number) for number in sys.argv[2:3]))
