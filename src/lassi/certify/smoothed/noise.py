"""Gaussian noise on a person's coefficients, regenerated from its stream instead of being stored."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.base.workers import chunks
from lassi.certify.smoothed.order import BLOCK


@dataclass(frozen=True)
class Noise:
    """Draws of N(0, σ²), ``(count, n)``: generated block by block, the same each time.

    Args:
        within: values farther from 0 are clipped to it.
    """

    count: int
    n: int
    sigma: float
    stream: Stream
    within: float = math.inf

    def first(self, count: int) -> "Noise":
        """The first ``count`` draws."""
        return replace(self, count=count)

    def blocks(self) -> Iterator[Tensor]:
        """The draws in order, in blocks ``(at most BLOCK, n)``."""
        return iter([self.whole]) if self.count <= BLOCK else self._made()

    @cached_property
    def whole(self) -> Tensor:
        """All draws at once, kept in memory; for small counts."""
        return torch.cat(list(self._made()))

    @property
    def reach(self) -> float:
        """The length of the longest draw."""
        return max(block.norm(dim=1).max().item() for block in self.blocks())

    def _made(self) -> Iterator[Tensor]:
        generator = self.stream.numpy()
        for part in chunks(self.count, BLOCK):
            draws = torch.from_numpy(generator.standard_normal((len(part), self.n)))
            yield draws.mul_(self.sigma).clamp_(-self.within, self.within)
