"""What vision learns from: the loss's gradient with respect to the features of each observation, summed over batches.

Vision may learn from a random sample of the observations, so that an update has the same price however many there are.
Each observation is drawn in proportion to the norm of its gradient, and weighted by the inverse: the sample's gradient
is an unbiased estimate of the gradient of all.
"""

import torch
from torch import Tensor


class VisionGradient:
    """Sums of gradients by observation, since vision's last update."""

    def __init__(self, observations: int, generator: torch.Generator) -> None:
        """observations: how many ids there are. The generator draws samples."""
        self.observations, self.generator = observations, generator
        self.batches = 0
        """Batches since the last update."""
        self._sums: Tensor | None = None  # [observations, F], made when it is first needed
        self._met: Tensor  # bool [observations]: has a gradient

    def add(self, ids: Tensor, gradient: Tensor) -> None:
        """The gradient [N, F] of a batch with respect to the features of its distinct observations, ids [N]."""
        if self._sums is None:
            self._sums = gradient.new_zeros(self.observations, gradient.shape[1])
            self._met = torch.zeros(self.observations, dtype=torch.bool, device=gradient.device)
        self._sums.index_add_(0, ids, gradient)
        self._met.index_fill_(0, ids.long(), True)
        self.batches += 1

    def take(self) -> tuple[Tensor, Tensor]:
        """All observations with a gradient, ids [N], and their sums [N, F]; from here on there are none."""
        assert self._sums is not None, "there is no gradient yet"
        ids = self._met.nonzero().squeeze(1)
        gradient = self._sums[ids]
        self._sums[ids] = 0.0
        self._met.zero_()
        self.batches = 0
        return ids, gradient

    def sample(self, ids: Tensor, gradient: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """At most `size` of these observations, and their gradients weighted so that the expectation is that of all.

        All of them if there are no more, or if size is 0.
        """
        norms = gradient.norm(dim=1).double()
        if not 0 < size < len(ids) or not 0 < norms.sum() < torch.inf:
            return ids, gradient
        expected = size * norms / norms.sum()  # [N] how often each is drawn in the mean
        times = systematic_draw(expected, float(torch.rand((), generator=self.generator, dtype=torch.float64)))
        drawn = times.nonzero().squeeze(1)
        weights = (times[drawn] / expected[drawn]).to(gradient.dtype)
        return ids[drawn], gradient[drawn] * weights.unsqueeze(1)


def systematic_draw(expected: Tensor, offset: float) -> Tensor:
    """How often each item is drawn, [N] whole numbers, if it shall be `expected` [N] times in the mean.

    The items lie side by side, each as long as it is expected often; a comb with teeth one apart, the first at a random
    offset from 0 to 1, draws where a tooth falls. A number differs by less than one from what is expected.
    """
    ends = (expected.cumsum(0) - offset).ceil().clamp_(min=0)  # teeth before the end of each
    return ends.diff(prepend=ends.new_zeros(1))
