"""Actors: an agent in every lane of a laboratory, acting with the weights it has, and the unrolls it sends on."""

from itertools import islice

import torch
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.agent.feature_cache import FeatureCache
from gnomon.lab.laboratory import Laboratory
from gnomon.learn.unroll import Unroll
from gnomon.saving.checkpoint import nest, unnest
from gnomon.subjects.agent import AgentSubject
from gnomon.subjects.subject import frames


class Actor:
    """Runs one agent in every lane of a laboratory, and keeps what it did as unrolls."""

    def __init__(
        self, laboratory: Laboratory, agent: Agent, cache: FeatureCache, generator: torch.Generator, *, length: int
    ) -> None:
        """length: frames of an unroll. The generator draws the actions."""
        self.laboratory, self.agent, self.cache = laboratory, agent, cache
        self.generator, self.length = generator, length
        self.subject = AgentSubject(laboratory, agent, generator, cache)

    @torch.no_grad()
    def unroll(self) -> Unroll:
        """Act for `length` frames in all lanes."""
        lab, T, B = self.laboratory, self.length, self.laboratory.lanes
        ids = torch.empty(T + 1, B, dtype=torch.int32, device=lab.device)
        first = torch.empty(T + 1, B, dtype=torch.bool, device=lab.device)
        action = torch.empty(T, B, dtype=torch.int64, device=lab.device)
        log_prob, reward = (torch.empty(T, B, device=lab.device) for _ in range(2))
        state_before = self.subject.state
        ids[0], first[0] = lab.observation, self.subject.first
        for t, moment in enumerate(islice(frames(lab, self.subject), T)):
            decision, frame = moment.decision, moment.frame
            action[t], log_prob[t], reward[t] = decision.action, decision.log_prob, frame.reward
            ids[t + 1], first[t + 1] = frame.observation, frame.episode_end
        return Unroll(ids, first, action, log_prob, reward, state_before)

    def state_dict(self) -> dict[str, Tensor]:
        """States, generator, cache and laboratory: all that the coming unrolls depend on, but the weights.

        The agent's weights must be loaded before these are.
        """
        own = {"first": self.subject.first, "generator": self.generator.get_state()}
        own |= nest("state", self.subject.state) | nest("cache", self.cache.state_dict())
        return own | nest("lab", self.laboratory.state_dict())

    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        self.subject.first = saved["first"].to(self.subject.first)
        self.generator.set_state(saved["generator"].cpu())
        self.subject.state = {n: saved[f"state.{n}"].to(tensor) for n, tensor in self.subject.state.items()}
        self.laboratory.load_state_dict(unnest("lab", saved))
        self.cache.load_state_dict(unnest("cache", saved))
