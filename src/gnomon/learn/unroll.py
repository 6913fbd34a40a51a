"""What actors send to the learner: B lanes, T frames, time-major. Observations are ids, never pixels."""

from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from gnomon.agent.controller import State


@dataclass(frozen=True)
class Unroll:
    """What B lanes did in T frames: a few KB a lane.

    Frame T, the last, is only looked at: its value bootstraps the return. The next unroll begins with it.
    """

    ids: Tensor  # int32 [T + 1, B] observation ids
    first: Tensor  # bool [T + 1, B] the frame is the first of an episode
    action: Tensor  # int64 [T, B]
    log_prob: Tensor  # float [T, B] of that action when it was taken
    reward: Tensor  # float [T, B] that followed it
    state: State  # [B, ...] of the controller before frame 0

    @property
    def end(self) -> Tensor:
        """Whether the episode ended with an action: bool [T, B]."""
        return self.first[1:]

    @property
    def lanes(self) -> int:
        return self.ids.shape[1]

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
        """From those of `tensors`; others, which earlier versions saved, are ignored."""
        state = {n.removeprefix("state."): t for n, t in tensors.items() if n.startswith("state.")}
        return cls(state=state, **{each.name: tensors[each.name] for each in fields(cls) if each.name != "state"})

    def to(self, device: torch.device | str) -> Self:
        return self.from_tensors({name: tensor.to(device) for name, tensor in self.tensors().items()})


def lanes_axis(name: str) -> int:
    """Which axis of an unroll's tensor of this name the lanes are."""
    return 0 if name.startswith("state.") else 1
