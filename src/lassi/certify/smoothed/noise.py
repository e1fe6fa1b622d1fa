"""Gaussian noise on a person's coefficients, by the name of its stream: as many draws as one likes, and none kept."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from lassi.base.engine import chunks
from lassi.base.streams import Stream
from lassi.certify.smoothed.order import BLOCK


@dataclass(frozen=True)
class Noise:
    """Draws of N(0, σ²), ``(count, n)``: made block by block, the same each time.

    Args:
        within: what is farther from 0 is put there.
    """

    count: int
    n: int
    sigma: float
    stream: Stream
    within: float = math.inf

    def first(self, count: int) -> "Noise":
        """So many of them, from the first on."""
        return replace(self, count=count)

    def blocks(self) -> Iterator[Tensor]:
        """One after the other, ``(at most BLOCK, n)``."""
        return iter([self.whole]) if self.count <= BLOCK else self._made()

    @cached_property
    def whole(self) -> Tensor:
        """All at once, and kept, for few."""
        return torch.cat(list(self._made()))

    @property
    def reach(self) -> float:
        """The length of the longest."""
        return max(block.norm(dim=1).max().item() for block in self.blocks())

    def _made(self) -> Iterator[Tensor]:
        generator = self.stream.numpy()
        for part in chunks(self.count, BLOCK):
            draws = torch.from_numpy(generator.standard_normal((len(part), self.n)))
            yield draws.mul_(self.sigma).clamp_(-self.within, self.within)
