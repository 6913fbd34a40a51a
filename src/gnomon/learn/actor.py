"""Actors: lanes of the laboratory, acting with the weights they have, and the unrolls they send to the learner."""

from dataclasses import dataclass, fields
from itertools import islice
from typing import Self

import torch
from torch import Tensor

from gnomon.agent.agent import Agent
from gnomon.agent.controller import State
from gnomon.agent.eye import Eye
from gnomon.lab.laboratory import Laboratory
from gnomon.subjects.agent import AgentSubject
from gnomon.subjects.subject import frames


@dataclass(frozen=True)
class Unroll:
    """What B lanes did in T frames. Observations are ids, never pixels: a few KB a lane.

    Frame T, the last, is only looked at: its value bootstraps the return. The next unroll begins with it.
    """

    ids: Tensor  # int32 [T + 1, B] observation ids
    first: Tensor  # bool [T + 1, B] the frame is the first of an episode
    action: Tensor  # int64 [T, B]
    log_prob: Tensor  # float [T, B] of that action when it was taken
    reward: Tensor  # float [T, B] that followed it
    end: Tensor  # bool [T, B] the episode ended with it
    since: Tensor  # int16 [T + 1, B, M] what `Trials.since` says at each frame; it is not seen by the agent
    state: State  # [B, ...] of the controller before frame 0

    @property
    def lanes(self) -> int:
        return self.ids.shape[1]

    @property
    def idle(self) -> Tensor:
        """Whether no trial runs at frame 0: bool [B]."""
        return self.since[0, :, 0] < 0

    @property
    def frames(self) -> int:
        return self.action.numel()

    def select(self, lanes: Tensor) -> Self:
        """The unrolls of these lanes (int [n])."""
        return self.from_tensors(
            {name: tensor[:, lanes] if lanes_axis(name) else tensor[lanes] for name, tensor in self.tensors().items()}
        )

    @classmethod
    def join(cls, unrolls: list[Self]) -> Self:
        """Unrolls side by side."""
        parts = [unroll.tensors() for unroll in unrolls]
        return cls.from_tensors(
            {name: torch.cat([part[name] for part in parts], lanes_axis(name)) for name in parts[0]}
        )

    def tensors(self) -> dict[str, Tensor]:
        """Everything in one flat dict, for saving or sending."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "state"}
        return own | {f"state.{name}": tensor for name, tensor in self.state.items()}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        state = {n.removeprefix("state."): t for n, t in tensors.items() if n.startswith("state.")}
        return cls(state=state, **{name: t for name, t in tensors.items() if not name.startswith("state.")})

    def to(self, device: torch.device | str) -> Self:
        return self.from_tensors({name: tensor.to(device) for name, tensor in self.tensors().items()})


def lanes_axis(name: str) -> int:
    """Which axis of an unroll's tensor of this name the lanes are."""
    return 0 if name.startswith("state.") else 1


class Actor:
    """Runs one agent in every lane of a laboratory, and keeps what it did as unrolls."""

    def __init__(
        self,
        laboratory: Laboratory,
        agent: Agent,
        eye: Eye,
        generator: torch.Generator,
        *,
        length: int,
    ) -> None:
        """length: frames of an unroll. The generator draws the actions."""
        self.laboratory, self.agent, self.eye = laboratory, agent, eye
        self.generator, self.length = generator, length
        self.subject = AgentSubject(laboratory, agent, generator, eye)

    @torch.no_grad()
    def unroll(self) -> Unroll:
        """Act for `length` frames in all lanes."""
        lab, T, B = self.laboratory, self.length, self.laboratory.lanes
        ids = torch.empty(T + 1, B, dtype=torch.int32, device=lab.device)
        first = torch.empty(T + 1, B, dtype=torch.bool, device=lab.device)
        action = torch.empty(T, B, dtype=torch.int64, device=lab.device)
        log_prob, reward = (torch.empty(T, B, device=lab.device) for _ in range(2))
        since = torch.empty(T + 1, *lab.trials.since().shape, dtype=torch.int16, device=lab.device)
        state_before = self.subject.state
        ids[0], first[0], since[0] = lab.observation, self.subject.first, lab.trials.since()
        for t, moment in enumerate(islice(frames(lab, self.subject), T)):
            action[t], log_prob[t] = moment.decision.action, moment.decision.log_prob
            reward[t] = moment.frame.reward
            ids[t + 1], first[t + 1] = moment.frame.observation, moment.frame.episode_end
            since[t + 1] = lab.trials.since()
        return Unroll(ids, first, action, log_prob, reward, first[1:].clone(), since, state_before)

    def forget(self) -> None:
        """Let every lane go on from the state that episodes begin with."""
        self.subject.forget()

    def state_dict(self) -> dict[str, Tensor]:
        """Recurrent states, generator, eye and laboratory: all that the coming unrolls depend on, but the weights.

        The agent's weights must be loaded before these are.
        """
        own = {"first": self.subject.first, "generator": self.generator.get_state()}
        own |= {f"state.{name}": tensor for name, tensor in self.subject.state.items()}
        own |= {f"eye.{name}": tensor for name, tensor in self.eye.state_dict().items()}
        return own | {f"lab.{name}": tensor for name, tensor in self.laboratory.state_dict().items()}

    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        self.subject.first = saved["first"].to(self.subject.first)
        self.generator.set_state(saved["generator"].cpu())
        self.subject.state = {n: saved[f"state.{n}"].to(tensor) for n, tensor in self.subject.state.items()}
        lab = {name.removeprefix("lab."): tensor for name, tensor in saved.items() if name.startswith("lab.")}
        self.laboratory.load_state_dict(lab)
        self.eye.load_state_dict({"known": saved["eye.known"]})
