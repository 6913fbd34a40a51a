"""An agent as a subject: what it sees, its state in every lane, and the actions that it draws."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.agent.agent import Agent, Output
from gnomon.agent.controller import State
from gnomon.agent.feature_cache import FeatureCache
from gnomon.lab.laboratory import Laboratory
from gnomon.subjects.subject import Decision, Subject


@dataclass(frozen=True)
class AgentDecision(Decision):
    """What an agent does on a frame, and what it makes of it."""

    log_prob: Tensor
    """Log probability of that action, float [lanes]."""
    output: Output
    """What the agent's networks say."""

    @property
    def logits(self) -> Tensor:
        """Unnormalised log probabilities of all actions, float [lanes, actions]."""
        return self.output.logits

    @property
    def units(self) -> dict[str, Tensor]:
        """Named units of the controller after the frame, each float [lanes, ...]."""
        return self.output.units

    @property
    @torch.no_grad()
    def value(self) -> Tensor:
        """Expected discounted reward from here on, float [lanes]."""
        return self.output.value


class AgentSubject(Subject[AgentDecision]):
    """One agent in every lane. Actions are sampled from its policy."""

    def __init__(
        self,
        laboratory: Laboratory,
        agent: Agent,
        generator: torch.Generator,
        cache: FeatureCache | None = None,
        name: str = "agent",
    ) -> None:
        """The generator draws the actions. cache: the table of features; by default one of its own."""
        super().__init__(laboratory)
        self.agent, self.generator, self.name = agent, generator, name
        self.cache = cache or FeatureCache(agent, laboratory.render, laboratory.observations)
        self.alter: Callable[[Tensor], Tensor] | None = None
        """Changes the units [lanes, units] of a controller without a memory. None, but for interventions."""
        self.state: State = self.initial_state()
        """The controller's state in each lane, before the frame that comes: unit name -> [lanes, ...]."""
        self.first = torch.ones(laboratory.lanes, dtype=torch.bool, device=laboratory.device)
        """Whether what is seen now is the first of an episode, so that the state is reset: bool [lanes]."""

    @property
    def unit_count(self) -> int:
        """Units that are no part of a state."""
        return 0 if self.agent.controller.recurrent else self.agent.controller.units

    @torch.no_grad()
    def act(self) -> AgentDecision:
        if self.agent.controller.recurrent:
            drive = self.cache.look(self.laboratory.observation)
            output, self.state = self.agent.step(drive, self.first, self.state)
        else:
            output = self.cache.decide(self.laboratory.observation)
            if self.alter is not None:
                output = self.agent.act_on(self.alter(output.hidden))
        log_policy = output.logits.log_softmax(1)
        action = sample(log_policy.exp(), self.generator)
        log_prob = log_policy.gather(1, action.unsqueeze(1)).squeeze(1)
        return AgentDecision(action, log_prob, output)

    def begin(self, first: Tensor) -> None:
        self.first = first

    def look_anew(self) -> None:
        self.cache = FeatureCache(self.agent, self.laboratory.render, self.laboratory.observations)

    def initial_state(self) -> State:
        """The state with which an episode begins, in every lane."""
        return self.agent.initial_state(self.laboratory.lanes)


def sample(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    """One action for each lane: probabilities [B, A] -> int64 [B]. The first of A exponential clocks to ring."""
    clocks = torch.empty_like(probabilities).exponential_(generator=generator)
    return probabilities.div(clocks).argmax(1)
