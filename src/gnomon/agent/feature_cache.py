"""Vision runs on distinct observations only, and the result is gathered for every frame.

An observation is an integer id, and what the agent makes of it by itself depends on nothing else. A batch of thousands
of frames holds a few hundred distinct ids, so this is where most of the speed comes from. A `FeatureCache` keeps what
it has computed for as long as the weights stay the same, which it notices by itself; `backpropagate_into_vision` passes
gradients back. After a small step of vision a learner may keep the table and see but a part of it anew (`refresh`).
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from gnomon.agent.agent import Agent, Output

Render = Callable[[Tensor], Tensor]
"""Observation ids [N] -> uint8 pixels [N, H, W, 3]."""

# Pixels that vision sees at once: 256 frames of 32 x 32. Larger chunks are no faster and need more memory.
CHUNK_PIXELS = 2**18
LARGEST_TABLE = 8.0  # GB
SMALL_TABLE = 32_768  # observations: up to this number the drive of all is computed at once, beyond only where needed
CYCLES = 2  # after as many times as all could have been refreshed, an observation that was not is dropped


class FeatureCache:
    """Tables of the features and the drive of each observation, filled on first sight.

    Features are valid for one version of vision's weights, the drive for one of vision's and of the rest. A version is
    torch's own count of the changes made to a tensor in place; every optimiser step and every load counts. Without a
    memory all that the agent says depends on the observation alone: then there is a table of that as well.
    """

    def __init__(self, agent: Agent, render: Render, observations: int) -> None:
        """observations: how many ids there are."""
        if observations < 1:
            raise ValueError(f"observations must be at least 1, got {observations}")
        self.agent, self.render, self.observations = agent, render, observations
        self._vision = list(agent.vision.state_dict(keep_vars=True).values())  # weights, and how it whitens
        seeing = {id(parameter) for parameter in self._vision}
        self._rest = [parameter for parameter in agent.parameters() if id(parameter) not in seeing]
        weight, actions = agent.policy.weight, len(agent.policy.weight)
        decided = 0 if agent.controller.recurrent else actions
        needed = observations * (agent.config.features + agent.controller.drive_size + decided) * 4 / 2**30
        if needed > LARGEST_TABLE:
            raise ValueError(
                f"the features of {observations:,} observations would take {needed:.0f} GB, more than "
                f"{LARGEST_TABLE:.0f}; choose a larger gaze_step or a smaller gaze_limit"
            )
        self._features = weight.new_empty(observations, agent.config.features)
        self._drive = weight.new_empty(observations, agent.controller.drive_size)
        self._log_policy = weight.new_empty(observations, decided)  # log probabilities of the actions
        self._known = torch.zeros(observations, dtype=torch.bool, device=weight.device)  # features are valid
        self._driven = torch.zeros_like(self._known)  # the drive is valid
        self._looked_at = torch.zeros_like(self._known)  # by actors, since the table was last filled in one go
        self._seen_at = torch.zeros_like(self._known, dtype=torch.int64)  # at which refresh features were computed
        self._refreshes = 0
        self._versions = self._present_versions()
        self._stale = True  # the next look fills the table in one go
        self._portions = 0  # in which the table has been filled since vision changed

    @torch.no_grad()
    def look(self, ids: Tensor) -> Tensor:
        """The drive of observations, for acting: ids int [B] -> [B, D], without gradient."""
        self._drive_all(ids)
        return self._drive.index_select(0, ids)

    @torch.no_grad()
    def decide(self, ids: Tensor) -> Output:
        """What an agent without a memory makes of observations: ids int [B]; its logits are log probabilities."""
        self._drive_all(ids)
        hidden = self._drive.index_select(0, ids)
        return Output(self._log_policy.index_select(0, ids), {"hidden": hidden}, hidden, self.agent.value_of)

    def _drive_all(self, ids: Tensor) -> None:
        """See to it that the drive of these observations is there."""
        self._synchronise()
        if self._stale:
            self._fill()
        self._looked_at.index_fill_(0, ids.long(), True)
        if not self._driven.index_select(0, ids).all():
            self._see(ids)
            if self.observations <= SMALL_TABLE:
                fresh = (self._known & ~self._driven).nonzero().squeeze(1)
            else:
                fresh = ids[~self._driven[ids]].unique()
            drive = self.agent.controller.drive(self._features[fresh])
            self._drive[fresh] = drive
            self._driven[fresh] = True
            if not self.agent.controller.recurrent:
                self._log_policy[fresh] = self.agent.policy(drive).log_softmax(1)

    @torch.no_grad()
    def features(self, ids: Tensor) -> Tensor:
        """What vision makes of observations: ids [N] -> [N, F], without gradient."""
        self._synchronise()
        self._see(ids)
        return self._features[ids]

    @torch.no_grad()
    def refresh(self, used: Tensor, most: int) -> float:
        """Vision has just taken a small step: see `most` observations anew, and keep the features of the others.

        First come those in use, ids `used` [N], and among them the stalest. What is not in use is dropped after a
        while, so no features are older than twice the number of steps in which all can be refreshed. If no more than
        `most` are known, all are dropped, as after any other change of the weights.

        Returns the mean age, in steps, of the features of what is in use.
        """
        known = self._known.nonzero().squeeze(1)
        if len(known) <= most:
            return 0.0  # the next look finds other weights
        self._refreshes += 1
        self._looked_at = torch.zeros_like(self._looked_at)
        in_use = torch.zeros_like(self._known).index_fill_(0, used.long(), True)
        order = (self._ages() + in_use[known] * self._refreshes).argsort(descending=True, stable=True)
        chosen = known[order[:most]].sort().values
        self._features[chosen] = run_vision(self.agent, self.render, chosen)
        self._seen_at[chosen] = self._refreshes
        ages = self._ages()
        self._known[known] = ages <= CYCLES * -(-len(known) // most)
        self._driven.zero_()
        self._stale, self._versions = False, self._present_versions()
        return float(ages[in_use[known]].double().mean()) if in_use.any() else 0.0

    def state_dict(self) -> dict[str, Tensor]:
        """The table, if some of its features are those of earlier weights; otherwise what the next look fills it with.

        A table filled in other portions may differ in its last bits. So one that was filled in several is emptied, to
        be filled in one go by the run that goes on as well as by one that resumes.
        """
        self._synchronise()
        ages = self._ages()
        if ages.any():
            table = {"known": self._known.clone(), "ages": ages, "features": self._features[self._known]}
            return {"expected": self._looked_at.clone(), **table}
        if not self._stale and self._portions > 1:
            self._looked_at |= self._known
            self._clear()
        expected = self._looked_at if self._stale else self._known
        return {"expected": expected.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._looked_at = state["expected"].to(self._known, copy=True)
        self._versions = self._present_versions()
        self._clear()
        if "known" in state:
            self._known = known = state["known"].to(self._known, copy=True)
            self._features[known] = state["features"].to(self._features)
            self._refreshes = int(state["ages"].max())
            self._seen_at[known] = self._refreshes - state["ages"].to(self._seen_at)
            self._stale = False

    def _ages(self) -> Tensor:
        """How many refreshes ago the features of the known observations were computed: int64 [known]."""
        return self._refreshes - self._seen_at[self._known]

    def _present_versions(self) -> tuple[int, int]:
        return changes(self._vision), changes(self._rest)

    def _synchronise(self) -> None:
        """Drop what other weights made."""
        vision, rest = self._present_versions()
        if vision != self._versions[0]:
            self._clear()
        elif rest != self._versions[1]:
            self._driven.zero_()
        self._versions = vision, rest

    def _clear(self) -> None:
        self._known.zero_()
        self._driven.zero_()
        self._stale, self._portions = True, 0

    def _fill(self) -> None:
        """See at once what actors looked at before: they will again, and one large batch is faster than many."""
        expected, self._looked_at = self._looked_at, torch.zeros_like(self._looked_at)
        self._stale = False
        self._see(expected.nonzero().squeeze(1))

    def _see(self, ids: Tensor) -> None:
        unknown = ids[~self._known[ids]]
        if len(unknown):
            unknown = unknown.unique()
            self._features[unknown] = run_vision(self.agent, self.render, unknown)
            self._known[unknown], self._seen_at[unknown] = True, self._refreshes
            self._portions += 1


def changes(tensors: Iterable[Tensor]) -> int:
    """How often these tensors have been changed in place, in all."""
    return sum(tensor._version for tensor in tensors)


def run_vision(agent: Agent, render: Render, ids: Tensor) -> Tensor:
    """What vision makes of observations: ids [N] -> [N, F]."""
    return torch.cat([agent.vision(padded(render(chunk)))[: len(chunk)] for chunk in chunks(agent, ids)])


def backpropagate_into_vision(agent: Agent, render: Render, ids: Tensor, gradient: Tensor) -> None:
    """Add to vision's gradients what the gradient [N, F] with respect to the features of ids [N] says.

    A chunk at a time, so that memory does not grow with N.
    """
    pieces = chunks(agent, ids)
    for chunk, piece in zip(pieces, gradient.split(len(pieces[0])), strict=True):
        agent.vision(padded(render(chunk)))[: len(chunk)].backward(piece)


def padded(pixels: Tensor) -> Tensor:
    """Images [N, ...], the first of them repeated until their number is a power of two.

    Convolutions are compiled anew for every batch size they meet: a few sizes save that time, and its memory.
    """
    more = (1 << (len(pixels) - 1).bit_length()) - len(pixels)
    return torch.cat([pixels, pixels[:1].expand(more, *pixels.shape[1:])]) if more else pixels


def chunks(agent: Agent, ids: Tensor) -> tuple[Tensor, ...]:
    """Observation ids in portions that vision can take at once."""
    height, width = agent.vision.retina
    return ids.split(max(1, CHUNK_PIXELS // (height * width)))
