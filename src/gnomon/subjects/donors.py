"""Donors: what gaze and state were in other trials at the same event, for swaps."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.agent.controller import State

MOST = 512  # trials that a pool remembers


@dataclass(frozen=True)
class Donation:
    """What trials give to n others."""

    sample_interval: Tensor
    """int32 [n], frames."""
    gaze: Tensor
    """Lattice indices, int64 [n]."""
    state: State
    """Each [n, ...]."""


class DonorPool:
    """The last trials that have passed an event, with gaze and state as they were before anything was done to them."""

    def __init__(self) -> None:
        self._held: Donation | None = None

    def add(self, lanes: Tensor, gaze: Tensor, state: State, sample_interval: Tensor) -> None:
        """Keep what these lanes (int64 [n]) have now, of gaze, state and t_s of all lanes."""
        new = Donation(
            sample_interval[lanes].clone(), gaze[lanes].clone(), {name: t[lanes].clone() for name, t in state.items()}
        )
        held = self._held
        if held is not None:
            new = Donation(
                torch.cat([held.sample_interval, new.sample_interval])[-MOST:],
                torch.cat([held.gaze, new.gaze])[-MOST:],
                {name: torch.cat([held.state[name], tensor])[-MOST:] for name, tensor in new.state.items()},
            )
        self._held = new

    def draw(self, count: int, generator: torch.Generator) -> Donation | None:
        """Donors, each drawn from all, with replacement; None while there is none."""
        held = self._held
        if held is None:
            return None
        size = (count,)
        index = torch.randint(len(held.gaze), size, generator=generator, device=held.gaze.device)
        return Donation(
            held.sample_interval[index], held.gaze[index], {name: tensor[index] for name, tensor in held.state.items()}
        )
