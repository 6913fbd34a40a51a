"""What every controller is: the part of the agent between vision and action, with or without a memory.

A controller's work on a frame is split in two. `drive` is what the present frame contributes by itself; it is
computed once per distinct observation and gathered. `step` and `unroll` add the memory, frame by frame, and
must agree.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

State = dict[str, Tensor]
"""What is carried to the next frame: unit name -> tensor with leading axis lanes. Empty without a memory."""


class Controller(nn.Module, ABC):
    """Interface of all controllers. T frames, B lanes, N distinct observations, D drive size, U units."""

    unit_names: ClassVar[tuple[str, ...]]
    """The names under which units are recorded; with a memory, also the keys of the state."""
    recurrent: ClassVar[bool] = True
    gated: ClassVar[bool] = False
    """Whether gates say what is kept, so that `chrono_initialise` is possible."""
    drive_size: int
    products: torch.dtype | None = None
    """Precision in which states are multiplied by weights; None: that of the weights."""

    def __init__(self, features: int, units: int, generator: Generator) -> None:
        """Subclasses draw their weights from the generator and set `drive_size`."""
        super().__init__()
        self.check_units(units)
        self.units = units

    @classmethod
    def check_units(cls, units: int) -> None:
        """Raise if a controller of this kind cannot have this number of units."""
        if units < 1:
            raise ValueError(f"units must be at least 1, got {units}")

    def chrono_initialise(self, span: float, generator: Generator) -> None:
        """Let the last half of the units start with time constants of 1 to `span` frames; the others stay as they are.

        See `gnomon.agent.weights.chrono_biases`.
        """
        raise NotImplementedError("a controller without gates has no chrono initialisation")

    @abstractmethod
    def drive(self, features: Tensor) -> Tensor:
        """What the present frame alone contributes: features [N, F] -> [N, D]."""

    def initial_state(self, lanes: int) -> State:
        """The state before the first frame of an episode: zeros, where a controller does not say otherwise."""
        names = self.unit_names if self.recurrent else ()
        return {name: next(self.parameters()).new_zeros(lanes, self.units) for name in names}

    @abstractmethod
    def step(self, drive: Tensor, state: State) -> tuple[Tensor, State]:
        """One frame: drive [B, D] -> output [B, U] and the state after it. `reset`, if due, comes before."""

    @abstractmethod
    def unroll(self, drive: Tensor, first: Tensor, state: State) -> tuple[Tensor, State, dict[str, Tensor]]:
        """Many frames: drive [T, B, D], first [T, B] bool -> outputs [T, B, U], last state, recorded units.

        Where `first[t, b]` is true, lane b is reset before it. Units [T, B, ...] are those after each frame.
        """

    def reset(self, state: State, first: Tensor) -> State:
        """The initial state in lanes where first [B] is true; the other lanes as they are."""
        if not first.any():
            return state
        return {
            name: torch.where(first.view(-1, *[1] * (state[name].dim() - 1)), initial, state[name])
            for name, initial in self.initial_state(1).items()
        }
