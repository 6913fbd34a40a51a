"""The learner: turns rounds of unrolls into better weights, with V-trace for the lag between acting and learning.

The controller and the heads learn from every batch of trajectories. Vision, the dear part, learns from every few: until
then its features are looked up, the batches' gradients with respect to them are summed over distinct observations, and
one backward pass and one optimiser step follow.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from gnomon.agent.agent import Agent
from gnomon.agent.eye import Eye, distinct_ids, learn_to_see, look_with_gradient
from gnomon.learn.actor import Unroll
from gnomon.learn.checkpoint import load_optimiser, nest, optimiser_tensors, unnest
from gnomon.learn.config import LearningConfig
from gnomon.learn.critic import Critic
from gnomon.learn.losses import impala_loss
from gnomon.learn.schedule import Rates
from gnomon.learn.whitening import Whitened

REWARD_MEMORY = 0.9  # of the running mean reward per trajectory, per round
LEVELLED = 0.1  # share of the value head's mean error that goes into its bias, per update
SLOWER, FASTER = 0.85, 1.04  # factors of the pace after a round beyond trust, and after one within


def means(rows: Sequence[Mapping[str, Tensor | float]]) -> dict[str, float]:
    """The mean of each metric over the rows that have it."""
    values = {name: [float(row[name]) for row in rows if name in row] for row in rows for name in row}
    return {name: sum(found) / len(found) for name, found in values.items()}


class NotFiniteError(ArithmeticError):
    """A loss or a gradient is not a number any more."""


class Learner:
    """Owns the optimisers, and the trajectories that wait for the next batch."""

    def __init__(
        self, agent: Agent, eye: Eye, config: LearningConfig, generator: torch.Generator, moments: int = 0
    ) -> None:
        """The generator shuffles trajectories into batches. The eye is forgotten whenever vision has changed.

        moments: how many `Unroll.since` has; they matter only if the critic is told the time.
        """
        self.agent, self.eye, self.config, self.generator = agent, eye, config, generator
        vision = list(agent.vision.parameters())
        known = {id(p) for p in vision}
        self.critic: Critic | None = None
        if config.critic_memory is not None:
            told = moments if config.critic_told else 0
            self.critic = Critic(agent.controller.unit_count, config.critic_memory, told, config.device)
        self.whitened: Whitened | None = None
        if config.whiten:
            if agent.controller.input_map is None:
                raise ValueError(f"whiten is on, but a {agent.config.controller} has no input weights that learn")
            weight, bias = agent.controller.input_map
            self.whitened = Whitened(weight, bias, eye.sample())
            eye.forget_drive()
            known |= {id(weight), id(bias)}
        rest = [p for p in agent.parameters() if p.requires_grad and id(p) not in known]
        rest += self.whitened.parameters() if self.whitened else []
        self.optimiser = torch.optim.Adam(rest, betas=config.adam_betas, eps=config.adam_epsilon)
        self.vision_optimiser = torch.optim.Adam(vision, betas=config.adam_betas, eps=config.adam_epsilon)
        self.pace = self.largest_pace = 1.0  # share of the learning rates that `trust` and backtracking leave
        self.updates = 0
        self.reward_per_trajectory = 0.0
        self.waiting: Unroll | None = None
        self._seen: list[tuple[Tensor, Tensor]] = []  # ids [N] and gradients [N, F] that vision has yet to learn from
        self.seconds: dict[str, float] = defaultdict(float)  # spent in "vision" and "controller", for benchmarks

    def learn(self, unroll: Unroll, rates: Rates) -> dict[str, float]:
        """Learn from a round of unrolls, and return the metrics' means over its batches."""
        self.optimiser.param_groups[0]["lr"] = self.pace * rates.learning
        self.vision_optimiser.param_groups[0]["lr"] = rates.vision
        if not rates.vision:
            self.eye.look_ahead()
        size, latest = self._batch_size(unroll), unroll
        unroll = unroll if self.waiting is None else Unroll.join([self.waiting, unroll])
        order = torch.randperm(unroll.lanes, generator=self.generator).to(unroll.ids.device)
        batches = [lanes for lanes in order.split(size) if len(lanes) == size]
        left_over = order[len(batches) * size :]
        self.waiting = unroll.select(left_over) if len(left_over) else None

        metrics = means([self._learn_batch(unroll.select(lanes), rates) for lanes in batches])
        self._settle(latest)
        metrics |= {"batch": size, "learning_rate": self.pace * rates.learning, "entropy_cost": rates.entropy}
        if self.config.trust is not None and batches:
            factor = SLOWER if metrics["divergence"] > self.config.trust else FASTER
            self.pace = min(self.largest_pace, self.pace * factor)
        return metrics

    def _settle(self, unroll: Unroll) -> None:
        """Let the coming episodes begin as lanes between two trials are."""
        between_trials = unroll.idle & ~unroll.first[0]
        if self.config.settling is not None and between_trials.any():
            state = {name: tensor[between_trials] for name, tensor in unroll.state.items()}
            self.agent.controller.settle(state, self.config.settling)

    @property
    def at_rest(self) -> bool:
        """Whether vision has learned from everything so far. Only then may a run be saved: see `Eye`."""
        return not self._seen

    def _learn_batch(self, unroll: Unroll, rates: Rates) -> dict[str, Tensor]:
        """One update of the controller and the heads; every few of them, one of vision."""
        config, graph, seeing = self.config, None, rates.vision > 0
        with self._timed("vision"):
            distinct, places = distinct_ids(unroll.ids, config.dedup)
            if config.dedup or config.vision_every > 1 or not seeing:
                features = self.eye.features(distinct).requires_grad_(seeing)
            else:  # nothing to look up and nothing to sum: the plain way, forward and backward once
                graph = look_with_gradient(self.agent, self.eye.render, distinct)
                features = graph.detach().requires_grad_()
        with self._timed("controller"):
            loss, metrics = self.loss(unroll, features, places, rates)
            loss.backward()
            if self.whitened:
                self.whitened.take_gradients()
            metrics["gradient_norm"] = self._step(self.optimiser)
            if self.whitened:
                self.whitened.put_back()
            if self.critic is not None:
                self.agent.value.bias.data += LEVELLED * metrics["value_error"]
            self.updates += 1
            self.eye.forget_drive()
        if features.grad is None:  # vision stays as it is
            return metrics
        with self._timed("vision"):
            if graph is not None:
                graph.backward(features.grad)
                metrics |= self._update_vision(len(distinct))
            else:
                self._seen.append((distinct, features.grad))
                if len(self._seen) == config.vision_every:
                    metrics |= self._learn_to_see()
        return metrics

    def _learn_to_see(self) -> dict[str, Tensor]:
        """One update of vision, from the summed gradients of the batches since the last."""
        ids, gradient = torch.cat([i for i, _ in self._seen]), torch.cat([g for _, g in self._seen])
        self._seen = []
        distinct, places = distinct_ids(ids, self.config.dedup)
        summed = gradient.new_zeros(len(distinct), gradient.shape[1])
        summed.index_add_(0, places, gradient)
        learn_to_see(self.agent, self.eye.render, distinct, summed)
        return self._update_vision(len(distinct))

    def _update_vision(self, distinct: int) -> dict[str, Tensor]:
        norm = self._step(self.vision_optimiser)
        self.eye.forget()
        return {"vision_gradient_norm": norm, "distinct": torch.tensor(distinct)}

    def loss(self, unroll: Unroll, features: Tensor, places: Tensor, rates: Rates) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch; features [N, F] of its observations, places [T + 1, B] of each frame's among them."""
        config = self.config
        # As a lookup, gathering has the fastest backward of all ways to add 50,000 rows into 2,500.
        drive = F.embedding(places, self.agent.controller.drive(features))  # [T + 1, B, D]
        output, _ = self.agent.unroll(drive, unroll.first, unroll.state)
        discount, values, learned = config.discount * (~unroll.end), output.value, None
        if self.critic is not None:
            functions = self.critic.functions(output.units, unroll.since if config.critic_told else None)
            # It has not seen this batch yet: else the batch's advantages would be too small.
            values = self.critic.values(functions)
            self.critic.observe(functions, unroll.reward, discount)
            hidden = output.hidden[:-1]
            hidden = rates.value_share * hidden + (1 - rates.value_share) * hidden.detach()
            learned = self.agent.value(hidden).squeeze(-1)
        return impala_loss(
            output.logits[:-1],
            values[:-1],
            values[-1].detach(),
            unroll.log_prob,
            unroll.action,
            unroll.reward,
            discount,
            entropy_cost=rates.entropy,
            value_cost=config.value_cost,
            horizon=config.horizon,
            learned_values=learned,
        )

    def _step(self, optimiser: torch.optim.Optimizer) -> Tensor:
        """Clip, check, step; returns the gradient's norm before clipping."""
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        norm = clip_grad_norm_(parameters, self.config.clip_norm)
        if not norm.isfinite():
            raise NotFiniteError(f"the gradient's norm is {float(norm)} after {self.updates} updates")
        optimiser.step()
        optimiser.zero_grad()
        return norm

    def _batch_size(self, unroll: Unroll) -> int:
        """Trajectories of an update: `batch`, doubled while it would see too few rewards, at most a whole round."""
        reward = float(unroll.reward.sum()) / unroll.lanes
        self.reward_per_trajectory += (1 - REWARD_MEMORY) * (reward - self.reward_per_trajectory)
        size, earned = (
            self.config.batch,
            max(0.0, self.reward_per_trajectory),
        )  # punishments may outweigh rewards
        while size * earned < self.config.rewards_per_batch and 2 * size <= unroll.lanes:
            size *= 2
        return size

    def snapshot(self) -> dict[str, Tensor]:
        """A copy of the weights, and of all that the optimisers and the critic know."""
        return {name: tensor.detach().clone() for name, tensor in self._learned().items()}

    def put_back(self, snapshot: dict[str, Tensor]) -> None:
        """Be as at a snapshot, which stays as it is. What was seen and what waits for a batch is kept."""
        snapshot = {name: tensor.clone() for name, tensor in snapshot.items()}
        weights = unnest("agent", snapshot)
        saw = nest("vision", self.agent.vision.state_dict())
        same = all(torch.equal(weights[name].to(tensor.device), tensor) for name, tensor in saw.items())
        self.agent.load_state_dict(weights)
        self._load_learned(snapshot)
        self.eye.forget_drive() if same else self.eye.forget()

    def _learned(self) -> dict[str, Tensor]:
        tensors = nest("agent", dict(self.agent.state_dict()))
        tensors |= nest("optimiser", dict(optimiser_tensors(self.optimiser)))
        tensors |= nest("vision_optimiser", dict(optimiser_tensors(self.vision_optimiser)))
        if self.critic is not None:
            tensors |= nest("critic", self.critic.state_dict())
        if self.whitened is not None:
            tensors |= nest("whitened", self.whitened.state_dict())
        return tensors

    def _load_learned(self, tensors: dict[str, Tensor]) -> None:
        load_optimiser(self.optimiser, unnest("optimiser", tensors))
        load_optimiser(self.vision_optimiser, unnest("vision_optimiser", tensors))
        if self.critic is not None:
            self.critic.load_state_dict(unnest("critic", tensors))
        if self.whitened is not None:
            self.whitened.load_state_dict(unnest("whitened", tensors))

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, float]]:
        """Tensors and counters that the coming updates depend on, but the weights."""
        tensors = {"generator": self.generator.get_state()}
        tensors |= {name: tensor for name, tensor in self._learned().items() if not name.startswith("agent.")}
        if self.waiting is not None:
            tensors |= nest("waiting", self.waiting.tensors())
        counters = {"updates": self.updates, "reward_per_trajectory": self.reward_per_trajectory, "pace": self.pace}
        return tensors, counters | {"largest_pace": self.largest_pace}

    def load_state_dict(self, tensors: dict[str, Tensor], counters: dict[str, float]) -> None:
        self.generator.set_state(tensors["generator"])
        self._load_learned(tensors)
        waiting = unnest("waiting", tensors)
        self.waiting = Unroll.from_tensors(waiting).to(self.config.device) if waiting else None
        self.updates = int(counters["updates"])
        self.reward_per_trajectory = counters["reward_per_trajectory"]
        self.pace, self.largest_pace = counters["pace"], counters["largest_pace"]
