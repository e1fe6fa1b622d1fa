"""For all values i below and j above the middle one, mean latent of j minus that of i. [Paper, App. F]"""

import torch
from torch import Tensor

from lassi.similarity.kind import Computed, Kind, Material
from lassi.similarity.moments import ClassMoments, moments_of


class Pairs(Kind):
    """The paper's 49 directions for orientation."""

    name = "pairs"
    meaning = (
        "Steps from the average person with each value below an attribute's middle value to the average person with "
        "each value above it; combined, they reach much further than a single step."
    )
    takes_many_values = True

    def compute(self, material: Material) -> Computed:
        moments = moments_of(material)
        return Computed(pairs(moments), moments.relative_error(0, len(moments.counts) - 1))

    def ends(self, num_values: int) -> list[tuple[int, int]]:
        return pairs_of(num_values)


def pairs(moments: ClassMoments) -> Tensor:
    """Mean of j minus mean of i for all pairs, ``(q, n)``."""
    return torch.stack([moments.difference(i, j) for i, j in pairs_of(len(moments.counts))], 1).float()


def pairs_of(num_values: int) -> list[tuple[int, int]]:
    """The pairs of values that the vectors lead between.

    >>> pairs_of(5)
    [(0, 3), (0, 4), (1, 3), (1, 4)]
    """
    values, last = range(num_values), num_values - 1
    return [(i, j) for i in values if i < last / 2 for j in values if j > last / 2]
