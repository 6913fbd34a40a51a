"""Runs with interventions: each lane has its own, or none, and the trial table says what was done.

    arms = [Arm("control", None, 16), Arm("gaze swapped", Intervention(what="gaze", how="swap"), 16)]
    trials = intervene(subject, arms, frames_each=3_000, seed=0)

All lanes of one laboratory run at once, so that controls and interventions meet the same conditions. A lane runs for a
number of frames, not of trials: an intervention that keeps a subject from answering must not hold up the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

import polars as pl
import torch
from torch import Tensor

from gnomon.agent.controller import State
from gnomon.lab.laboratory import MOVES
from gnomon.lab.optics import GazeLattice
from gnomon.lab.tasks.base import BLANK, FIXATION
from gnomon.records.trials import take_trials
from gnomon.subjects.donors import DonorPool
from gnomon.subjects.evaluation import COLLECT_FRAMES, Report, finished
from gnomon.subjects.intervention import Intervention
from gnomon.subjects.subject import AnyDecision, Moment, Subject, frames

FOREVER = 2**20  # frames: longer than any trial
STEPS = [move for move in MOVES.values() if any(move)]  # the eight directions

CONTROL = "none"
COLUMNS = pl.Schema(
    {
        "arm": pl.String,  # what the run's design calls it
        "what": pl.String,  # what was changed; "none" in a control
        "how": pl.String,
        "dose": pl.Float64,  # frames, size or units, see `Intervention.dose`; 0 in a control
        "right": pl.Int32,  # lattice steps
        "up": pl.Int32,
        "treated": pl.Boolean,  # whether it was done in this trial
        "donor_interval": pl.Int32,  # frames: t_s of the trial that it was swapped with; null elsewhere
    }
)
"""What the table of an intervened run has beside a trial table's columns."""


@runtime_checkable
class Stateful(Protocol):
    """A subject with a memory that can be changed."""

    state: State

    def initial_state(self) -> State:
        """The state with which an episode begins."""
        ...


@dataclass(frozen=True)
class Arm:
    """Lanes that are treated alike."""

    name: str
    intervention: Intervention | None
    """None: a control."""
    lanes: int


@dataclass(frozen=True)
class UnitMoments:
    """Mean and s.d. of every unit of a subject's state while it does its trials; by name, each [...] as one lane's."""

    mean: Mapping[str, Tensor]
    sd: Mapping[str, Tensor]


def intervene(
    subject: Subject[AnyDecision],
    arms: Sequence[Arm],
    *,
    frames_each: int,
    seed: int,
    moments: UnitMoments | None = None,
    watch: Callable[[Moment[AnyDecision]], None] = lambda moment: None,
    report: Report = lambda done, wanted: None,
) -> pl.DataFrame:
    """Let a subject act for a number of frames in every lane; returns the finished trials with `COLUMNS`.

    The arms share the laboratory's lanes, the first arm the first lanes. `moments` are needed by lesions and by noise
    on the state. `seed` is that of donors, noise and the choice of trials.
    """
    laboratory = subject.laboratory
    by_lane = [arm.intervention for arm in arms for _ in range(arm.lanes)]
    change = Interventions(subject, by_lane, seed, moments)
    life = frames(laboratory, subject)
    tables = []
    for done in range(0, frames_each, COLLECT_FRAMES):
        for moment in islice(life, min(COLLECT_FRAMES, frames_each - done)):
            watch(moment)
            change.between_frames()
        tables.append(finished(take_trials(laboratory.trials)))
        report(min(frames_each, done + COLLECT_FRAMES), frames_each)
    laboratory.shown = None
    trials = pl.concat(tables).sort("lane", "episode", "trial", maintain_order=True)
    return trials.join(design_table(arms), on="lane").join(
        change.treated_trials(), on=["lane", "episode", "trial"], how="left"
    ).with_columns(
        pl.col("treated").fill_null(False)
    ).select(*trials.columns, *COLUMNS)  # fmt: skip


def design_table(arms: Sequence[Arm]) -> pl.DataFrame:
    """What is done in each lane."""
    rows = []
    for arm in arms:
        given = arm.intervention
        done = (CONTROL, CONTROL, 0.0, 0, 0) if given is None else (
            given.what, given.how, given.dose, given.right, given.up
        )  # fmt: skip
        rows += [(len(rows) + lane, arm.name, *done) for lane in range(arm.lanes)]
    names = ["lane", "arm", "what", "how", "dose", "right", "up"]
    return pl.DataFrame(rows, pl.Schema({name: COLUMNS.get(name, pl.Int32()) for name in names}), orient="row")


class Interventions:
    """Carries out one intervention in each lane; `between_frames` is called after every frame."""

    def __init__(
        self,
        subject: Subject[AnyDecision],
        by_lane: Sequence[Intervention | None],
        seed: int,
        moments: UnitMoments | None = None,
    ) -> None:
        laboratory = subject.laboratory
        if len(by_lane) != laboratory.lanes:
            raise ValueError(f"{len(by_lane)} lanes are planned; the laboratory has {laboratory.lanes}")
        self.laboratory, self.moments = laboratory, moments
        self.memory = subject if isinstance(subject, Stateful) and subject.state else None
        self.generator = torch.Generator(laboratory.device).manual_seed(seed)
        self._design(by_lane)
        lanes = torch.zeros(laboratory.lanes, dtype=torch.int64, device=laboratory.device)
        self._treated = lanes.bool()  # in the present trial
        self._gaze, self._picture = lanes.clone(), lanes.int()  # as they were at the event
        self._state: State = {} if self.memory is None else dict(self.memory.state)
        self._rows: list[Tensor] = []
        targets = [laboratory.lattice.inside(box) for box in laboratory.task.boxes()[1:]]
        self._target = torch.stack(targets).any(0).to(laboratory.device)  # bool [gazes]

    def _design(self, by_lane: Sequence[Intervention | None]) -> None:
        """Every lane's settings as tensors [lanes]."""
        laboratory = self.laboratory
        units = 0 if self.memory is None else count_units(self.memory.state)
        for given in set(by_lane) - {None}:
            assert given is not None
            given.check(laboratory, units)
            if self.moments is None and (given.how == "lesion" or (given.what, given.how) == ("state", "noise")):
                raise ValueError(f"{given.how} on the state needs the units' mean and s.d.; give moments")

        def each(value: Callable[[Intervention], float], dtype: torch.dtype = torch.int32) -> Tensor:
            values = [0 if given is None else value(given) for given in by_lane]
            return torch.tensor(values, device=laboratory.device).to(dtype)

        events = (FIXATION, *laboratory.task.events)
        self._event = each(lambda given: events.index(given.event), torch.int64)
        self._after = each(lambda given: given.after)
        held = each(lambda given: given.how == "clamp")  # what is held is held from the next frame on
        self._from, self._until = held, held + each(lambda given: FOREVER if given.frames is None else given.frames)
        self._probability = each(lambda given: given.trials, torch.float32)
        self._right, self._up = each(lambda given: given.right), each(lambda given: given.up)
        self._size = each(lambda given: given.size, torch.float32)
        kinds = {(given.what, given.how) for given in by_lane if given is not None}
        self._lanes_of = {
            kind: each(lambda given, kind=kind: (given.what, given.how) == kind, torch.bool) for kind in sorted(kinds)
        }
        all_units = tuple(range(units))
        self._units = torch.zeros(laboratory.lanes, units, dtype=torch.bool, device=laboratory.device)
        for lane, given in enumerate(by_lane):
            if given is not None:
                self._units[lane, list(all_units if given.units is None else given.units)] = True
        moments = {(given.event, given.after) for given in by_lane if given is not None and given.how == "swap"}
        self._pools = [
            (
                each(lambda given, at=at: given.how == "swap" and (given.event, given.after) == at, torch.bool),
                DonorPool(),
            )
            for at in sorted(moments)
        ]

    def between_frames(self) -> None:
        """Do what is due now."""
        trials = self.laboratory.trials
        began = torch.cat([trials.trial_start.unsqueeze(0), trials.due[1:]])  # [1 + events, lanes]
        since = trials.now - began.gather(0, self._event.unsqueeze(0))[0] - self._after
        self._treated &= trials.running
        begins = trials.running & (since == 0) & (self._until > 0)
        if begins.any():
            self._begin(begins)
        active = self._treated & (since >= self._from) & (since < self._until)
        if ("picture", "clamp") in self._lanes_of or ("picture", "reset") in self._lanes_of:
            self._show(active)
        if not active.any():
            return
        for kind, lanes in self._lanes_of.items():
            now = active & lanes
            if now.any():
                self._apply(kind, now)

    def _begin(self, begins: Tensor) -> None:
        """Decide in which of these lanes (bool [lanes]) it happens, and keep what is held or exchanged."""
        laboratory, trials = self.laboratory, self.laboratory.trials
        coin = torch.rand(laboratory.lanes, generator=self.generator, device=laboratory.device)
        chosen = begins & (coin < self._probability)
        donor = torch.full_like(trials.trial, -1)
        self._gaze = torch.where(chosen, laboratory.gaze, self._gaze)
        self._picture = torch.where(chosen, trials.picture, self._picture)
        if self.memory is not None:
            self._state = choose_lanes(chosen, self.memory.state, self._state)
        if ("gaze", "displace") in self._lanes_of:
            moved, fits = moved_gaze(laboratory.lattice, laboratory.gaze, self._right, self._up)
            fits &= ~self._target[moved]  # nobody is put onto a target
            chosen &= fits | ~self._lanes_of["gaze", "displace"]
        for lanes, pool in self._pools:
            here = begins & lanes
            if not here.any():
                continue
            index = (chosen & lanes).nonzero().squeeze(1)
            state = {} if self.memory is None else self.memory.state
            given = pool.draw(len(index), self.generator)
            if given is None:  # nobody has been here before
                chosen = chosen & ~lanes
            else:
                donor[index] = given.sample_interval
                self._gaze[index] = given.gaze
                for name, tensor in given.state.items():
                    self._state[name] = self._state[name].index_copy(0, index, tensor)
            pool.add(here.nonzero().squeeze(1), laboratory.gaze, state, trials.condition("sample_interval"))
        self._treated = torch.where(begins, chosen, self._treated)
        lanes = chosen.nonzero().squeeze(1)
        rows = torch.stack([lanes.int(), trials.episode[lanes], trials.trial[lanes], donor[lanes]])
        self._rows.append(rows.cpu())

    def _apply(self, kind: tuple[str, str], now: Tensor) -> None:
        """Change gaze or state in these lanes, bool [lanes]."""
        laboratory = self.laboratory
        what, how = kind
        if what == "gaze":
            if how == "displace":
                new, _ = moved_gaze(laboratory.lattice, laboratory.gaze, self._right, self._up)
            elif how == "noise":
                new = self._jolted()
            else:  # what was kept: its own of before, or a donor's
                new = self._gaze
            laboratory.gaze = torch.where(now, new, laboratory.gaze)
        elif what == "state":
            assert self.memory is not None
            new = self._new_state(how)
            mask = now.unsqueeze(1) & self._units  # [lanes, units]
            self.memory.state = {
                name: torch.where(mask.view_as(tensor), new[name], tensor) for name, tensor in self.memory.state.items()
            }

    def _new_state(self, how: str) -> State:
        """The state that replaces the present one in treated lanes; all lanes, each [lanes, ...]."""
        assert self.memory is not None
        if how == "reset":
            return self.memory.initial_state()
        if how in ("clamp", "swap"):
            return self._state
        assert self.moments is not None
        present = self.memory.state
        if how == "lesion":
            return {name: self.moments.mean[name].expand_as(tensor) for name, tensor in present.items()}
        noise = {
            name: torch.randn(tensor.shape, generator=self.generator, device=tensor.device)
            for name, tensor in present.items()
        }
        return {
            name: tensor + noise[name] * self.moments.sd[name] * self._size.view(-1, *[1] * (tensor.dim() - 1))
            for name, tensor in present.items()
        }

    def _jolted(self) -> Tensor:
        """Every lane's gaze, moved by a step in a random direction as often as its noise says; never onto a target."""
        laboratory, size = self.laboratory, (self.laboratory.lanes,)
        direction = torch.randint(len(STEPS), size, generator=self.generator, device=laboratory.device)
        coin = torch.rand(size, generator=self.generator, device=laboratory.device)
        steps = torch.tensor(STEPS, device=laboratory.device)[direction]  # [lanes, 2]
        moved, fits = moved_gaze(laboratory.lattice, laboratory.gaze, steps[:, 0], steps[:, 1])
        return torch.where((coin < self._size) & fits & ~self._target[moved], moved, laboratory.gaze)

    def _show(self, active: Tensor) -> None:
        """Let the monitor seem to show what it showed at the event, or nothing; elsewhere what it shows."""
        nowhere = torch.zeros_like(active)
        held = active & self._lanes_of.get(("picture", "clamp"), nowhere)
        blank = active & self._lanes_of.get(("picture", "reset"), nowhere)
        true = torch.full_like(self._picture, -1)
        self.laboratory.shown = torch.where(held, self._picture, torch.where(blank, BLANK, true))

    def treated_trials(self) -> pl.DataFrame:
        """Lane, episode and trial of those in which it happened, and the donor's t_s."""
        rows = torch.cat(self._rows, 1) if self._rows else torch.zeros(4, 0, dtype=torch.int32)
        names = ("lane", "episode", "trial", "donor_interval")
        table = pl.DataFrame({name: row.numpy() for name, row in zip(names, rows, strict=True)})
        donor = pl.when(pl.col("donor_interval") >= 0).then(pl.col("donor_interval"))
        return table.with_columns(donor.alias("donor_interval"), pl.lit(True).alias("treated"))


def count_units(state: State) -> int:
    """Units of one lane; unit j is number j of each named part (an LSTM's cell j and hidden j)."""
    sizes = {name: tensor[0].numel() for name, tensor in state.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"the parts of the state have different sizes ({sizes}), so their units cannot be numbered")
    return next(iter(sizes.values()))


def choose_lanes(lanes: Tensor, one: State, other: State) -> State:
    """The first state in some lanes (bool [lanes]), the second elsewhere."""
    return {
        name: torch.where(lanes.view(-1, *[1] * (tensor.dim() - 1)), tensor, other[name])
        for name, tensor in one.items()
    }


def moved_gaze(lattice: GazeLattice, gaze: Tensor, right: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    """Where steps lead from each gaze (int64 [lanes]), and whether that is on the lattice (else it stays)."""
    column, row = gaze % lattice.side + right, gaze // lattice.side + up
    fits = (column >= 0) & (column < lattice.side) & (row >= 0) & (row < lattice.side)
    return torch.where(fits, row * lattice.side + column, gaze), fits
