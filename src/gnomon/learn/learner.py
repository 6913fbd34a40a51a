"""The learner: turns unrolls into better weights, with V-trace for the lag between acting and learning.

The controller and the heads learn from every batch of trajectories. Vision learns from every few: until then its
features are looked up, the gradients with respect to them are summed over distinct observations, and one backward pass
and one optimiser step follow, at a fixed price if `vision_sample` is set.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from gnomon.agent.agent import Agent
from gnomon.agent.feature_cache import FeatureCache, backpropagate_into_vision
from gnomon.agent.vision_gradient import VisionGradient
from gnomon.config import LearningConfig
from gnomon.learn.losses import impala_loss
from gnomon.learn.unroll import Unroll
from gnomon.saving.checkpoint import load_optimiser, nest, optimiser_tensors, unnest


class NotFiniteError(ArithmeticError):
    """A gradient is not a number any more."""


class Learner:
    """Owns the optimisers, and the trajectories that wait for the next batch."""

    def __init__(
        self,
        agent: Agent,
        cache: FeatureCache,
        config: LearningConfig,
        generator: torch.Generator,
        add_up: Callable[[list[Tensor]], None] | None = None,
    ) -> None:
        """The generator shuffles trajectories into batches, and draws what vision learns from.

        add_up: of a learner that has a share of each batch, replaces tensors by their sums over all learners.
        """
        self.agent, self.cache, self.config, self.generator = agent, cache, config, generator
        self._add_up = add_up
        self.entropy_cost = config.loss.entropy_cost
        self.updates = 0
        self.waiting: Unroll | None = None
        self._for_vision = VisionGradient(cache.observations, generator)
        parts = (agent.controller, agent.policy, agent.value)
        learning = [p for part in parts for p in part.parameters() if p.requires_grad]
        adam = {"betas": config.optimiser.betas, "eps": config.optimiser.epsilon}
        self.optimiser = torch.optim.Adam(learning, **adam)
        self.vision_optimiser = torch.optim.Adam(agent.vision.parameters(), **adam)

    def learn(self, unroll: Unroll, frames: int) -> dict[str, float]:
        """Learn from the unrolls of all lanes, and return the metrics' means over their batches.

        frames: of the run before these, on which learning rates and the entropy cost depend.
        """
        schedule, rates = self.config.schedule, self.config.optimiser
        self.entropy_cost = schedule.entropy_left(frames) * self.config.loss.entropy_cost
        left = schedule.rate_left(frames)
        self.optimiser.param_groups[0]["lr"] = left * rates.learning_rate
        self.vision_optimiser.param_groups[0]["lr"] = left * rates.vision_learning_rate

        size = self.config.batch
        unroll = unroll if self.waiting is None else Unroll.join([self.waiting, unroll])
        order = torch.randperm(unroll.lanes, generator=self.generator).to(unroll.ids.device)
        batches = [lanes for lanes in order.split(size) if len(lanes) == size]
        left_over = order[len(batches) * size :]
        self.waiting = unroll.select(left_over) if len(left_over) else None

        metrics = means([self._update(unroll.select(lanes)) for lanes in batches])
        return metrics | {"learning_rate": left * rates.learning_rate, "entropy_cost": self.entropy_cost}

    @property
    def at_rest(self) -> bool:
        """Whether vision has learned from everything so far. Only then may a run be saved: see `FeatureCache`."""
        return not self._for_vision.batches

    def come_to_rest(self) -> None:
        """Let vision learn from what waits for it, before its turn."""
        if self._for_vision.batches:
            self._update_vision()

    def _update(self, batch: Unroll) -> dict[str, Tensor]:
        """One update of the controller and the heads; every few of them, one of vision."""
        distinct, places = batch.ids.unique(return_inverse=True)
        features = self.cache.features(distinct).requires_grad_()
        loss, metrics = self.loss(batch, features, places)
        loss.backward()
        metrics = self._together([p for p in self.agent.parameters() if p.grad is not None], metrics)
        metrics["gradient_norm"] = self._step(self.optimiser)
        self.updates += 1
        assert features.grad is not None
        self._for_vision.add(distinct, features.grad)
        if self._for_vision.batches >= self.config.optimiser.vision_every:
            metrics |= self._update_vision()
        return metrics

    def loss(self, batch: Unroll, features: Tensor, places: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch; features [N, F] of its observations, places [T + 1, B] of each frame's among them."""
        drive = self.agent.controller.drive(features)  # [N, D]
        output = self.agent.unroll_distinct(drive, places, batch.first, batch.state)
        settings = self.config.loss
        return impala_loss(
            output.logits[:-1],
            output.value,
            batch.log_prob,
            batch.action,
            batch.reward,
            settings.discount * (~batch.end),
            entropy_cost=self.entropy_cost,
            value_cost=settings.value_cost,
            horizon=settings.horizon,
        )

    def _update_vision(self) -> dict[str, Tensor]:
        """One update of vision, from the summed gradients of the batches since the last, or from a sample of them."""
        size = self.config.optimiser.vision_sample
        distinct, summed = self._for_vision.take()
        share = -(-size // self.config.workers)  # of the sample: every learner draws from what its own lanes saw
        ids, gradient = self._for_vision.sample(distinct, summed, share)
        backpropagate_into_vision(self.agent, self.cache.render, ids, gradient)
        self._together(list(self.agent.vision.parameters()), {})
        metrics = {"vision_gradient_norm": self._step(self.vision_optimiser), "distinct": torch.tensor(len(distinct))}
        return metrics | ({"feature_age": torch.tensor(self.cache.refresh(distinct, size))} if size else {})

    def _together(self, parameters: list[nn.Parameter], metrics: dict[str, Tensor]) -> dict[str, Tensor]:
        """Where several learners share a batch, add up their gradients; returns the means of their metrics."""
        if self._add_up is None:
            return metrics
        values = torch.tensor([float(value) for value in metrics.values()])
        self._add_up([p.grad for p in parameters if p.grad is not None] + [values])
        return dict(zip(metrics, values / self.config.workers, strict=True))

    def _step(self, optimiser: torch.optim.Optimizer) -> Tensor:
        """Clip, check, step; returns the gradient's norm before clipping."""
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        norm = clip_grad_norm_(parameters, self.config.optimiser.clip_norm)
        if not norm.isfinite():
            raise NotFiniteError(f"the gradient's norm is {float(norm)} after {self.updates} updates")
        optimiser.step()
        optimiser.zero_grad()
        return norm

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the coming updates depend on, but the weights."""
        tensors = {"generator": self.generator.get_state(), "updates": torch.tensor(self.updates)}
        tensors |= nest("optimiser", dict(optimiser_tensors(self.optimiser)))
        tensors |= nest("vision_optimiser", dict(optimiser_tensors(self.vision_optimiser)))
        if self.waiting is not None:
            tensors |= nest("waiting", self.waiting.tensors())
        return tensors

    def load_state_dict(self, tensors: dict[str, Tensor]) -> None:
        """Continue where these were saved; the agent's weights must be loaded already."""
        self.generator.set_state(tensors["generator"])
        self.updates = int(tensors["updates"])
        load_optimiser(self.optimiser, unnest("optimiser", tensors))
        load_optimiser(self.vision_optimiser, unnest("vision_optimiser", tensors))
        waiting = unnest("waiting", tensors)
        self.waiting = Unroll.from_tensors(waiting).to(self.config.device) if waiting else None


def means(rows: Sequence[Mapping[str, Tensor | float]]) -> dict[str, float]:
    """The mean of each metric over the rows that have it."""
    values = {name: [float(row[name]) for row in rows if name in row] for row in rows for name in row}
    return {name: sum(found) / len(found) for name, found in values.items()}
