"""The learner: turns rounds of unrolls into better weights, with V-trace for the lag between acting and learning.

A round is cut into batches of trajectories. The controller and the heads learn from every batch. Vision either does so
too, or once a round: its features are then computed once for the round's distinct observations, the batches' gradients
with respect to them are summed, and one backward pass and one optimiser step follow.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from gnomon.agent.agent import Agent
from gnomon.agent.eye import Eye, distinct_ids, learn_to_see
from gnomon.learn.actor import Unroll
from gnomon.learn.checkpoint import load_optimiser, nest, optimiser_tensors, unnest
from gnomon.learn.config import LearningConfig
from gnomon.learn.losses import impala_loss

REWARD_MEMORY = 0.9  # of the running mean reward per trajectory, per round


class NotFiniteError(ArithmeticError):
    """A loss or a gradient is not a number any more."""


class Learner:
    """Owns the optimisers, and the trajectories that wait for the next batch."""

    def __init__(self, agent: Agent, eye: Eye, config: LearningConfig, generator: torch.Generator) -> None:
        """The generator shuffles trajectories into batches. The eye is forgotten whenever vision has changed."""
        self.agent, self.eye, self.config, self.generator = agent, eye, config, generator
        vision = list(agent.vision.parameters())
        rest = [p for name, p in agent.named_parameters() if p.requires_grad and not name.startswith("vision.")]
        self.optimiser = torch.optim.Adam(rest, betas=config.adam_betas, eps=config.adam_epsilon)
        self.vision_optimiser = torch.optim.Adam(vision, betas=config.adam_betas, eps=config.adam_epsilon)
        self.updates = 0
        self.reward_per_trajectory = 0.0
        self.waiting: Unroll | None = None
        self.seconds: dict[str, float] = defaultdict(float)  # spent in "vision" and "controller", for benchmarks

    def learn(self, unroll: Unroll, frames: int) -> dict[str, float]:
        """Learn from a round of unrolls; `frames` of the run have been acted so far. Returns means over its batches."""
        progress = min(1.0, frames / self.config.frames)
        self._schedule(progress)
        size = self._batch_size(unroll)
        unroll = unroll if self.waiting is None else Unroll.join([self.waiting, unroll])
        order = torch.randperm(unroll.lanes, generator=self.generator).to(unroll.ids.device)
        batches = [lanes for lanes in order.split(size) if len(lanes) == size]
        left_over = order[len(batches) * size :]
        self.waiting = unroll.select(left_over) if len(left_over) else None

        totals: dict[str, Tensor] = {}
        distinct = 0
        groups = [[lanes] for lanes in batches] if self.config.vision_every_batch else [batches]
        for group in filter(None, groups):
            distinct += self._learn_group(unroll, group, progress, totals)
        means = {name: float(total) / max(1, len(batches)) for name, total in totals.items()}
        return means | {"distinct": distinct / len(groups), "batch": size, "updates": self.updates}

    def _learn_group(self, unroll: Unroll, batches: list[Tensor], progress: float, totals: dict[str, Tensor]) -> int:
        """Look once, learn from every batch, then let vision learn. Returns how many observations were looked at."""
        lanes = batches[0] if len(batches) == 1 else torch.cat(batches)
        unroll = unroll if len(lanes) == unroll.lanes and len(batches) > 1 else unroll.select(lanes)
        with self._timed("vision"):
            distinct, places = distinct_ids(unroll.ids, self.config.dedup)
            features = self.eye.features(distinct).requires_grad_()
        with self._timed("controller"):
            for batch in torch.arange(unroll.lanes, device=lanes.device).split(len(batches[0])):
                loss, metrics = self.loss(unroll.select(batch), features, places[:, batch], progress)
                loss.backward()
                metrics["gradient_norm"] = self._step(self.optimiser)
                self.updates += 1
                for name, value in metrics.items():
                    totals[name] = totals.get(name, 0.0) + value
        with self._timed("vision"):
            assert features.grad is not None
            learn_to_see(self.agent, self.eye.render, distinct, features.grad)
            norm = self._step(self.vision_optimiser)
            self.eye.forget()
            totals["vision_gradient_norm"] = totals.get("vision_gradient_norm", 0.0) + norm * len(batches)
        return len(distinct)

    def loss(self, unroll: Unroll, features: Tensor, places: Tensor, progress: float) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch; features [N, F] of the round's observations, places [T + 1, B] of each frame's in them."""
        config = self.config
        here, places_here = distinct_ids(places, config.dedup)
        drive = F.embedding(places_here, self.agent.controller.drive(F.embedding(here, features)))  # [T + 1, B, D]
        output, _ = self.agent.unroll(drive, unroll.first, unroll.state)
        return impala_loss(
            output.logits[:-1],
            output.value[:-1],
            output.value[-1].detach(),
            unroll.log_prob,
            unroll.action,
            unroll.reward,
            config.discount * (~unroll.end),
            entropy_cost=self.entropy_cost(progress),
            value_cost=config.value_cost,
            horizon=config.horizon,
        )

    def entropy_cost(self, progress: float) -> float:
        """From the first to the final weight in equal ratios (a zero at either end: in equal steps)."""
        first, final = self.config.entropy_cost, self.config.final_entropy_cost
        if final is None:
            return first
        return first * (final / first) ** progress if first * final else first + (final - first) * progress

    def _schedule(self, progress: float) -> None:
        share = 1 - (1 - self.config.final_learning_rate) * progress
        self.optimiser.param_groups[0]["lr"] = self.config.learning_rate * share
        self.vision_optimiser.param_groups[0]["lr"] = self.config.vision_learning_rate * share

    def _step(self, optimiser: torch.optim.Optimizer) -> Tensor:
        """Clip, check, step; returns the gradient's norm before clipping."""
        norm = clip_grad_norm_(optimiser.param_groups[0]["params"], self.config.clip_norm)
        if not norm.isfinite():
            raise NotFiniteError(f"the gradient's norm is {float(norm)} after {self.updates} updates")
        optimiser.step()
        optimiser.zero_grad()
        return norm

    def _batch_size(self, unroll: Unroll) -> int:
        """Trajectories of an update: `batch`, doubled while it would see too few rewards, at most a whole round."""
        reward = float(unroll.reward.sum()) / unroll.lanes
        self.reward_per_trajectory += (1 - REWARD_MEMORY) * (reward - self.reward_per_trajectory)
        size = self.config.batch
        while size * self.reward_per_trajectory < self.config.rewards_per_batch and 2 * size <= unroll.lanes:
            size *= 2
        return size

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, float]]:
        """Tensors and counters that the coming updates depend on, but the weights."""
        tensors = {"generator": self.generator.get_state()}
        tensors |= nest("optimiser", dict(optimiser_tensors(self.optimiser)))
        tensors |= nest("vision_optimiser", dict(optimiser_tensors(self.vision_optimiser)))
        if self.waiting is not None:
            tensors |= nest("waiting", self.waiting.tensors())
        return tensors, {"updates": self.updates, "reward_per_trajectory": self.reward_per_trajectory}

    def load_state_dict(self, tensors: dict[str, Tensor], counters: dict[str, float]) -> None:
        self.generator.set_state(tensors["generator"])
        load_optimiser(self.optimiser, unnest("optimiser", tensors))
        load_optimiser(self.vision_optimiser, unnest("vision_optimiser", tensors))
        waiting = unnest("waiting", tensors)
        self.waiting = Unroll.from_tensors(waiting).to(self.config.device) if waiting else None
        self.updates = int(counters["updates"])
        self.reward_per_trajectory = counters["reward_per_trajectory"]
