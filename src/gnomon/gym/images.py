"""The retina's images by observation id, each made once, in the form in which the environment hands them out."""

from math import isqrt

import numpy as np
import torch

from gnomon.gym.settings import ImageConfig
from gnomon.lab.laboratory import Laboratory

KEPT_BYTES = 256 << 20  # images kept; when that is full, all are dropped
FIRST_SLOTS = 64  # images there is room for at first; the room doubles as it fills
VALUES_AROUND = 1 << 19  # numbers in the images made together with a single one; few cost as much as one


class Images:
    """A table of images of one laboratory. Whoever gets an image may write into it: it is a copy."""

    def __init__(self, laboratory: Laboratory, config: ImageConfig) -> None:
        self.laboratory, self.config = laboratory, config
        self.space = config.space(laboratory.optics.config.retina)
        values = int(np.prod(self.space.shape))
        self._most = max(FIRST_SLOTS, KEPT_BYTES // (values * np.dtype(config.dtype).itemsize))
        self._reach = (isqrt(min(max(1, VALUES_AROUND // values), self._most)) - 1) // 2
        self._drop()

    def _drop(self) -> None:
        self.kept = 0
        self._table = np.empty((FIRST_SLOTS, *self.space.shape), self.space.dtype)
        self._slot = np.full(self.laboratory.observations, -1, np.int32)  # where each id's image is, or -1

    def one(self, observation_id: int) -> np.ndarray:
        """The image of one id."""
        slot = self._slot[observation_id]
        if slot < 0:
            self._make(self._around(observation_id))
            slot = self._slot[observation_id]
        return self._table[slot].copy()

    def many(self, observation_ids: np.ndarray) -> np.ndarray:
        """The images of ids (int64 [N]): [N, ...]."""
        if (self._slot[observation_ids] < 0).any():
            self._make(np.unique(observation_ids))
        return self._table[self._slot[observation_ids]]

    def _around(self, observation_id: int) -> np.ndarray:
        """Ids of what the same picture looks like from gazes nearby, where a gaze will soon be: int64 [n]."""
        lattice, reach = self.laboratory.lattice, self._reach
        picture, gaze = divmod(observation_id, lattice.count)
        rows, columns = (
            np.arange(max(0, at - reach), min(lattice.side, at + reach + 1)) for at in divmod(gaze, lattice.side)
        )
        return picture * lattice.count + (rows[:, None] * lattice.side + columns).ravel()

    def _make(self, ids: np.ndarray) -> None:
        """See to it that the images of these ids, each named once, are in the table."""
        new = ids[self._slot[ids] < 0]
        if self.kept + len(new) > self._most:
            self._drop()
            new = ids
        self._add(new)

    def _add(self, new: np.ndarray) -> None:
        """Make the images of ids that are not in the table."""
        needed = self.kept + len(new)
        if needed > len(self._table):
            table = np.empty((max(needed, 2 * len(self._table)), *self.space.shape), self.space.dtype)
            table[: self.kept] = self._table[: self.kept]
            self._table = table
        self._table[self.kept : needed] = self.config.convert(self.laboratory.render(torch.from_numpy(new)))
        self._slot[new] = np.arange(self.kept, needed)
        self.kept = needed

    def __getstate__(self) -> tuple[Laboratory, ImageConfig]:
        return self.laboratory, self.config

    def __setstate__(self, state: tuple[Laboratory, ImageConfig]) -> None:
        self.__init__(*state)
