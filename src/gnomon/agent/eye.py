"""Never look twice: vision runs on distinct observations, and the result is gathered for every frame.

An observation is an integer id, and what the agent makes of it by itself depends on nothing else. A batch of thousands
of frames holds a few hundred distinct ids, so this is where most of the speed comes from. An `Eye` keeps a table of
what it has seen for as long as the weights last; `learn_to_see` passes gradients back to vision.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from gnomon.agent.agent import Agent

Render = Callable[[Tensor], Tensor]
"""Observation ids [N] -> uint8 pixels [N, H, W, 3]."""

# Pixels that vision sees at once: 256 frames of 32 x 32. Larger chunks are no faster and need more memory.
CHUNK_PIXELS = 2**18
LARGEST_TABLE = 8.0  # GB
SMALL_TABLE = 8_192  # observations: of so many the drive is reckoned at once, of more only where it is needed


def distinct_ids(ids: Tensor, dedup: bool = True) -> tuple[Tensor, Tensor]:
    """The distinct values of ids of any shape, [N], and the place of each id among them, of that shape.

    `dedup=False` counts every frame as new: the same numbers follow up to rounding, at the full price.
    """
    if dedup:
        return ids.unique(return_inverse=True)
    return ids.flatten(), torch.arange(ids.numel(), device=ids.device).view(ids.shape)


class Eye:
    """A table of the features and the drive of each observation, filled on first sight.

    `dedup=False`: no table, every frame is rendered and run.
    """

    def __init__(self, agent: Agent, render: Render, observations: int, dedup: bool = True, drawings: int = 1) -> None:
        """observations: how many ids there are; the same number for each of so many drawings, one after the other."""
        if observations < 1:
            raise ValueError(f"observations must be at least 1, got {observations}")
        self.agent, self.render, self.observations, self.dedup = agent, render, observations, dedup
        self.drawings = drawings
        weight = agent.policy.weight
        size = observations if dedup else 0
        needed = size * (agent.config.features + agent.controller.drive_size) * weight.element_size() / 2**30
        if needed > LARGEST_TABLE:
            raise ValueError(
                f"remembering {observations:,} observations would take {needed:.0f} GB, more than {LARGEST_TABLE:.0f}; "
                "choose a larger gaze_step or a smaller gaze_limit, or switch dedup off"
            )
        self._features = weight.new_empty(size, agent.config.features)
        self._drive = weight.new_empty(size, agent.controller.drive_size)
        self._known = torch.zeros(size, dtype=torch.bool, device=weight.device)
        self._driven = torch.zeros_like(self._known)
        self._used = torch.zeros_like(self._known)  # since the last `forget`

    @torch.no_grad()
    def look(self, ids: Tensor) -> Tensor:
        """The drive of observations: ids [B] -> [B, D], without gradient."""
        if not self.dedup:
            return self.agent.controller.drive(self._see(ids))
        self._used[ids] = True
        if not self._driven[ids].all():
            self._meet(ids)
            if self.observations <= SMALL_TABLE:
                fresh = (self._known & ~self._driven).nonzero().squeeze(1)
            else:
                fresh = ids[~self._driven[ids]].unique()
            self._drive[fresh] = self.agent.controller.drive(self._features[fresh])
            self._driven[fresh] = True
        return self._drive[ids]

    @torch.no_grad()
    def features(self, ids: Tensor) -> Tensor:
        """What vision makes of observations: ids [N] -> [N, F], without gradient."""
        if not self.dedup:
            return self._see(ids)
        self._meet(ids)
        return self._features[ids]

    @torch.no_grad()
    def sample(self, most: int = 2048) -> Tensor:
        """Features of observations spread evenly over all there are, [N, F]; the table stays as it is."""
        ids = torch.arange(min(most, self.observations), device=self._known.device)
        return self._see(ids * self.observations // len(ids))

    def forget(self) -> None:
        """Drop everything seen so far: call it when vision has changed.

        What was looked at since the last time will be looked at again, and one large batch is faster than many
        small ones: it is seen anew at once.
        """
        expected, self._used = self._used, torch.zeros_like(self._used)
        self._known.zero_()
        self._driven.zero_()
        with torch.no_grad():
            self._meet(expected.nonzero().squeeze(1))

    def look_ahead(self) -> None:
        """Fill the table with every observation of the drawings seen so far: call it when vision will not change.

        Many drawings of a task never show, and a fine gaze has tens of thousands of observations of each.
        """
        if not self.dedup:
            return
        expected = self._known.view(self.drawings, -1)
        expected = expected.any(1, keepdim=True).expand_as(expected).flatten()
        if not torch.equal(self._known, expected):
            self._used = expected
            self.forget()

    def state_dict(self) -> dict[str, Tensor]:
        """Which observations the table holds; to be saved right after `forget` or `look_ahead`.

        Later, a table filled in other portions may differ in its last bits.
        """
        return {"known": self._known.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._used = state["known"].to(self._known)
        self.forget()

    def forget_drive(self) -> None:
        """Keep the features only: call it when the controller has changed and vision has not."""
        self._driven.zero_()

    def _meet(self, ids: Tensor) -> None:
        unknown = ids[~self._known[ids]]
        if len(unknown):
            unknown = unknown.unique()
            features = self._see(unknown)
            self._features[unknown] = features
            self._known[unknown] = True

    def _see(self, ids: Tensor) -> Tensor:
        return look_with_gradient(self.agent, self.render, ids)  # but for the gradient


def look_with_gradient(agent: Agent, render: Render, ids: Tensor) -> Tensor:
    """What vision makes of observations: ids [N] -> [N, F]. Under gradient all is remembered for the way back."""
    return torch.cat([agent.vision(padded(render(chunk)))[: len(chunk)] for chunk in chunks(agent, ids)])


def learn_to_see(agent: Agent, render: Render, ids: Tensor, gradient: Tensor) -> None:
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
