"""Carries out interventions: in which lanes and trials, and on which frames. How each is done, its target knows."""

from collections.abc import Callable, Sequence

import polars as pl
import torch
from torch import Tensor

from gnomon.lab.tasks.base import FIXATION
from gnomon.subjects.donors import DonorPool
from gnomon.subjects.intervention import Intervention
from gnomon.subjects.subject import AnyDecision, Subject
from gnomon.subjects.targets import (
    GazeTarget,
    Layered,
    SeenTarget,
    Stateful,
    StateTarget,
    UnitMoments,
    UnitsTarget,
    count_units,
)

FOREVER = 2**20  # frames: longer than any trial


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
        memory = subject if isinstance(subject, Stateful) and subject.state else None
        layered = subject if isinstance(subject, Layered) and subject.unit_count else None
        state = 0 if memory is None else count_units(memory.state)
        units = 0 if layered is None else layered.unit_count
        for given in set(by_lane) - {None}:
            assert given is not None
            given.check(laboratory, state=state, units=units)
            if moments is None and given.what in ("state", "units") and given.how in ("lesion", "noise"):
                raise ValueError(f"{given.how} on the {given.what} needs the units' mean and s.d.; give moments")

        def each(value: Callable[[Intervention], float], dtype: torch.dtype = torch.int32) -> Tensor:
            values = [0 if given is None else value(given) for given in by_lane]
            return torch.tensor(values, device=laboratory.device).to(dtype)

        events = (FIXATION, *laboratory.task.events)
        self._event = each(lambda given: events.index(given.event), torch.int64)
        self._after = each(lambda given: given.after)
        held = each(lambda given: given.how == "clamp")  # what is held is held from the next frame on
        self._from, self._until = held, held + each(lambda given: FOREVER if given.frames is None else given.frames)
        self._probability = each(lambda given: given.trials, torch.float32)
        kinds = {(given.what, given.how) for given in by_lane if given is not None}
        self._lanes_of = {
            kind: each(lambda given, kind=kind: (given.what, given.how) == kind, torch.bool) for kind in sorted(kinds)
        }
        swaps = {(given.event, given.after) for given in by_lane if given is not None and given.how == "swap"}
        self._pools = [
            (
                each(lambda given, at=at: given.how == "swap" and (given.event, given.after) == at, torch.bool),
                DonorPool(),
            )
            for at in sorted(swaps)
        ]
        chosen = torch.zeros(laboratory.lanes, state or units, dtype=torch.bool, device=laboratory.device)
        for lane, given in enumerate(by_lane):
            if given is not None:
                chosen[lane, list(range(state or units) if given.units is None else given.units)] = True

        self.laboratory = laboratory
        self.generator = torch.Generator(laboratory.device).manual_seed(seed)
        size = each(lambda given: given.size, torch.float32)
        self._gaze = GazeTarget(laboratory, each(lambda given: given.right), each(lambda given: given.up), size)
        self._state = None if memory is None else StateTarget(memory, chosen, size, moments)
        self._units = None if layered is None else UnitsTarget(layered, chosen, size, moments)
        known = laboratory.observations
        looks = each(lambda given: 0 if given.look is None else laboratory.add_look(given.look), torch.int64)
        if laboratory.observations > known:
            subject.look_anew()
        self._seen = SeenTarget(laboratory, self._lanes_of, looks)
        self._treated = torch.zeros(laboratory.lanes, dtype=torch.bool, device=laboratory.device)  # in this trial
        self._rows: list[Tensor] = []

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
        self._seen.show(active)
        if self._units is not None:
            self._units.clear()
        if not active.any():
            return
        targets = {"gaze": self._gaze, "state": self._state, "units": self._units}
        for (what, how), lanes in self._lanes_of.items():
            target, now = targets.get(what), active & lanes
            if target is not None and now.any():
                target.change(how, now, self.generator)

    def _begin(self, begins: Tensor) -> None:
        """Decide in which of these lanes (bool [lanes]) it happens, and keep what is held or exchanged."""
        laboratory, trials = self.laboratory, self.laboratory.trials
        coin = torch.rand(laboratory.lanes, generator=self.generator, device=laboratory.device)
        chosen = begins & (coin < self._probability)
        donor = torch.full_like(trials.trial, -1)
        self._gaze.keep(chosen)
        self._seen.keep(chosen)
        if self._state is not None:
            self._state.keep(chosen)
        if ("gaze", "displace") in self._lanes_of:
            chosen &= self._gaze.can_move() | ~self._lanes_of["gaze", "displace"]
        for lanes, pool in self._pools:
            here = begins & lanes
            if not here.any():
                continue
            index = (chosen & lanes).nonzero().squeeze(1)
            given = pool.draw(len(index), self.generator)
            if given is None:  # nobody has been here before
                chosen = chosen & ~lanes
            else:
                donor[index] = given.sample_interval
                self._gaze.kept[index] = given.gaze
                if self._state is not None:
                    self._state.give(index, given.state)
            state = {} if self._state is None else self._state.memory.state
            pool.add(here.nonzero().squeeze(1), laboratory.gaze, state, trials.condition("sample_interval"))
        self._treated = torch.where(begins, chosen, self._treated)
        lanes = chosen.nonzero().squeeze(1)
        rows = torch.stack([lanes.int(), trials.episode[lanes], trials.trial[lanes], donor[lanes]])
        self._rows.append(rows.cpu())

    def end(self) -> None:
        """Leave everything as it is without interventions."""
        self.laboratory.shown = self.laboratory.look = None
        if self._units is not None:
            self._units.clear()

    def treated_trials(self) -> pl.DataFrame:
        """Lane, episode and trial of those in which it happened, and the donor's t_s."""
        rows = torch.cat(self._rows, 1) if self._rows else torch.zeros(4, 0, dtype=torch.int32)
        names = ("lane", "episode", "trial", "donor_interval")
        table = pl.DataFrame({name: row.numpy() for name, row in zip(names, rows, strict=True)})
        donor = pl.when(pl.col("donor_interval") >= 0).then(pl.col("donor_interval"))
        return table.with_columns(donor.alias("donor_interval"), pl.lit(True).alias("treated"))
