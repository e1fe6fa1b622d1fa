"""Counts, means and variances of the latents of each class, in one pass."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.workers import map_chunks
from lassi.data.dataset import Integers
from lassi.similarity.kind import Material

CHUNK = 4096  # latents at a time, so that a memory map of any length works


@dataclass(frozen=True)
class ClassMoments:
    """What one pass over the latents yields about each class.

    Args:
        counts: people of each class, ``(K,)``.
        means: mean latents, ``(K, q)``, float64.
        variances: of each coordinate within the class, ``(K, q)``, float64.
    """

    counts: Integers
    means: Tensor
    variances: Tensor

    def difference(self, low: int, high: int) -> Tensor:
        """The mean of one class minus that of another, ``(q,)``."""
        return self.means[high] - self.means[low]

    def relative_error(self, low: int, high: int) -> float:
        """The standard error of the difference, relative to its length: roughly its angular error in radians."""
        errors = self.variances[high] / self.counts[high] + self.variances[low] / self.counts[low]
        return math.sqrt(errors.sum().item()) / self.difference(low, high).norm().item()


def class_moments(
    z: NDArray[np.float32], labels: Integers, num_classes: int, *, attribute: str, progress: Progress = SILENT
) -> ClassMoments:
    """Counts, means and variances of the latents ``(people, q)`` of each class, in one pass."""
    counts = np.bincount(labels, minlength=num_classes)
    if (counts < 2).any():
        few = int(counts.argmin())
        raise UserError(
            f"'{attribute}' has {counts[few]} people of class {few} among {len(labels):,}, so it has no direction.",
            hint="Choose an attribute that varies, or add people.",
        )
    sums = torch.zeros(num_classes, z.shape[1], dtype=torch.float64)
    squares = torch.zeros_like(sums)
    shift = torch.from_numpy(np.array(z[0])).double()  # so that the sums of squares do not lose digits

    def add(rows: range) -> None:
        some = torch.from_numpy(np.array(z[rows.start : rows.stop])).double() - shift
        which = torch.from_numpy(labels[rows.start : rows.stop])
        sums.index_add_(0, which, some)
        squares.index_add_(0, which, some**2)

    for _ in map_chunks(add, len(z), chunk=CHUNK, what=f"averaging {attribute}", unit="latents", progress=progress):
        pass
    people = torch.from_numpy(counts).double()[:, None]
    means = sums / people
    variances = (squares - people * means**2).clamp(min=0) / (people - 1)
    return ClassMoments(counts, means + shift, variances)


def first_to_last(moments: ClassMoments) -> Tensor:
    """Mean latent of the last class minus that of the first, ``(q, 1)``.

    For a binary attribute, the positives' minus the negatives': the mean difference. (Kingma and Dhariwal, 2018.)
    """
    return moments.difference(0, len(moments.counts) - 1)[:, None].float()


def moments_of(material: Material) -> ClassMoments:
    """The moments of the sensitive attribute's classes among the training people."""
    attribute, labelled = material.attribute, material.train.labelled(material.attribute.name)
    return class_moments(
        labelled.z, labelled.labels, len(attribute.values), attribute=attribute.name, progress=material.compute.progress
    )
