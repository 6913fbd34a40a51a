"""What interventions change: gaze, state, units, and how picture and room look. Each target knows how it is done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from gnomon.agent.controller import State
from gnomon.lab.laboratory import MOVES, Laboratory
from gnomon.lab.optics import GazeLattice
from gnomon.lab.tasks.base import BLANK

STEPS = [move for move in MOVES.values() if any(move)]  # the eight directions


@runtime_checkable
class Stateful(Protocol):
    """A subject with a memory that can be changed."""

    state: State

    def initial_state(self) -> State:
        """The state with which an episode begins."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A subject with units that are no memory, and can be changed on their way to the policy."""

    alter: Callable[[Tensor], Tensor] | None
    """Changes the units [lanes, units] of the frame that comes."""

    @property
    def unit_count(self) -> int:
        """How many; 0 if what there is belongs to the state."""
        ...


@dataclass(frozen=True)
class UnitMoments:
    """Mean and s.d. of every unit of a subject while it does its trials; by name, each [...] as one lane's."""

    mean: Mapping[str, Tensor]
    sd: Mapping[str, Tensor]


class GazeTarget:
    """The gaze, and where it was at the event (or a donor's)."""

    def __init__(self, laboratory: Laboratory, right: Tensor, up: Tensor, size: Tensor) -> None:
        """right, up: lattice steps of displacements, int [lanes]; size: probability of a random step, float [lanes]."""
        self.laboratory, self.right, self.up, self.size = laboratory, right, up, size
        self.kept = laboratory.gaze.clone()
        targets = [laboratory.lattice.inside(box) for box in laboratory.task.boxes()[1:]]
        self._target = torch.stack(targets).any(0).to(laboratory.device)  # bool [gazes]

    def keep(self, lanes: Tensor) -> None:
        """Remember the present gaze of these lanes, bool [lanes]."""
        self.kept = torch.where(lanes, self.laboratory.gaze, self.kept)

    def can_move(self) -> Tensor:
        """Where a displacement leads to a gaze of the lattice that is on no target: bool [lanes]."""
        moved, fits = moved_gaze(self.laboratory.lattice, self.laboratory.gaze, self.right, self.up)
        return fits & ~self._target[moved]

    def change(self, how: str, now: Tensor, generator: torch.Generator) -> None:
        """Change the gaze in these lanes, bool [lanes]."""
        laboratory = self.laboratory
        if how == "displace":
            new, _ = moved_gaze(laboratory.lattice, laboratory.gaze, self.right, self.up)
        else:
            new = self._stepped(generator) if how == "noise" else self.kept
        laboratory.gaze = torch.where(now, new, laboratory.gaze)

    def _stepped(self, generator: torch.Generator) -> Tensor:
        """Every lane's gaze, moved by a step in a random direction as often as its noise says; never onto a target."""
        laboratory, size = self.laboratory, (self.laboratory.lanes,)
        direction = torch.randint(len(STEPS), size, generator=generator, device=laboratory.device)
        coin = torch.rand(size, generator=generator, device=laboratory.device)
        steps = torch.tensor(STEPS, device=laboratory.device)[direction]  # [lanes, 2]
        moved, fits = moved_gaze(laboratory.lattice, laboratory.gaze, steps[:, 0], steps[:, 1])
        return torch.where((coin < self.size) & fits & ~self._target[moved], moved, laboratory.gaze)


class StateTarget:
    """The controller's state, and what it was at the event (or a donor's). Only changed lanes cost anything."""

    def __init__(self, memory: Stateful, units: Tensor, size: Tensor, moments: UnitMoments | None) -> None:
        """units: those that are changed, bool [lanes, units]; size: s.d. of noise, float [lanes]."""
        self.memory, self.units, self.size, self.moments = memory, units, size, moments
        self.kept = {name: tensor.clone() for name, tensor in memory.state.items()}

    def keep(self, lanes: Tensor) -> None:
        """Remember the present state of these lanes, bool [lanes]."""
        index = lanes.nonzero().squeeze(1)
        self.give(index, {name: tensor[index] for name, tensor in self.memory.state.items()})

    def give(self, index: Tensor, state: State) -> None:
        """Let these lanes (int64 [n]) have kept another state, each [n, ...]."""
        for name, tensor in state.items():
            self.kept[name].index_copy_(0, index, tensor)

    def change(self, how: str, now: Tensor, generator: torch.Generator) -> None:
        """Change the state in these lanes, bool [lanes]."""
        index = now.nonzero().squeeze(1)
        initial = self.memory.initial_state() if how == "reset" else {}
        units = self.units[index]  # bool [n, units]
        changed = {}
        for name, tensor in self.memory.state.items():
            present = tensor[index]
            if how in ("lesion", "noise"):
                assert self.moments is not None
                new = disturbed(how, present, self.moments, name, self.size[index], generator)
            else:
                new = initial[name][index] if how == "reset" else self.kept[name][index]
            new = torch.where(units.view_as(present), new, present)
            changed[name] = tensor.index_copy(0, index, new)
        self.memory.state = changed


class UnitsTarget:
    """Units that are no state: they are changed on their way to the policy, on the frame that comes."""

    def __init__(self, subject: Layered, units: Tensor, size: Tensor, moments: UnitMoments | None) -> None:
        """As of `StateTarget`."""
        self.subject, self.units, self.size, self.moments = subject, units, size, moments
        self._due: list[tuple[str, Tensor]] = []

    def clear(self) -> None:
        """Leave the units of the next frame alone."""
        self._due, self.subject.alter = [], None

    def change(self, how: str, now: Tensor, generator: torch.Generator) -> None:
        """Change the units of these lanes (bool [lanes]) on the next frame."""
        self._due.append((how, now.nonzero().squeeze(1)))
        self.subject.alter = lambda units: self._altered(units, generator)

    def _altered(self, units: Tensor, generator: torch.Generator) -> Tensor:
        assert self.moments is not None
        (name,) = self.moments.mean
        for how, index in self._due:
            present = units[index]
            new = disturbed(how, present, self.moments, name, self.size[index], generator)
            units = units.index_copy(0, index, torch.where(self.units[index], new, present))
        return units


class SeenTarget:
    """How picture and room look. The task goes on as it is."""

    def __init__(self, laboratory: Laboratory, kinds: Mapping[tuple[str, str], Tensor], look: Tensor) -> None:
        """kinds: lanes by what is done, each bool [lanes]; look: numbers of looks, int64 [lanes]."""
        self.laboratory, self.look = laboratory, look
        nowhere = torch.zeros(laboratory.lanes, dtype=torch.bool, device=laboratory.device)
        self._held = kinds.get(("picture", "clamp"), nowhere)
        self._blank = kinds.get(("picture", "reset"), nowhere)
        self._pictures, self._looks = bool((self._held | self._blank).any()), bool(look.any())
        self.kept = laboratory.trials.picture.clone()

    def keep(self, lanes: Tensor) -> None:
        """Remember the present picture of these lanes, bool [lanes]."""
        self.kept = torch.where(lanes, self.laboratory.trials.picture, self.kept)

    def show(self, active: Tensor) -> None:
        """Let things look otherwise in these lanes (bool [lanes]), and elsewhere as they are."""
        if self._pictures:
            true = torch.full_like(self.kept, -1)
            blank = torch.where(active & self._blank, BLANK, true)
            self.laboratory.shown = torch.where(active & self._held, self.kept, blank)
        if self._looks:
            self.laboratory.look = torch.where(active, self.look, 0)


def disturbed(
    how: str, present: Tensor, moments: UnitMoments, name: str, size: Tensor, generator: torch.Generator
) -> Tensor:
    """Units [n, ...] held at their mean (lesion), or with noise of their s.d. times size, float [n]."""
    if how == "lesion":
        return moments.mean[name].expand_as(present)
    noise = torch.randn(present.shape, generator=generator, device=present.device)
    return present + noise * moments.sd[name] * size.view(-1, *[1] * (present.dim() - 1))


def count_units(state: State) -> int:
    """Units of one lane; unit j is number j of each named part (an LSTM's cell j and hidden j)."""
    sizes = {name: tensor[0].numel() for name, tensor in state.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"the parts of the state have different sizes ({sizes}), so their units cannot be numbered")
    return next(iter(sizes.values()))


def moved_gaze(lattice: GazeLattice, gaze: Tensor, right: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    """Where steps lead from each gaze (int64 [lanes]), and whether that is on the lattice (else it stays)."""
    column, row = gaze % lattice.side + right, gaze // lattice.side + up
    fits = (column >= 0) & (column < lattice.side) & (row >= 0) & (row < lattice.side)
    return torch.where(fits, row * lattice.side + column, gaze), fits
