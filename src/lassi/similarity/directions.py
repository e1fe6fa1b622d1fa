"""Directions of attributes in latent space, from the latents and labels of the training split.

Each method returns vectors as columns, ``(q, n)``. Nothing here knows where latents come from: they are read in chunks,
so a memory map of any length will do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.batches import Batches
from lassi.base.engine import map_chunks
from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.base.train import TrainSettings, train
from lassi.data.dataset import Integers
from lassi.flow.latents import Labelled

CHUNK = 4096
EPOCHS, BATCH, RATE = 3, 512, 1e-3  # of the logistic regressions, as in the paper's program


@dataclass(frozen=True)
class ClassMoments:
    """What one pass over the latents finds out about each class.

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
        """The standard error of the difference, relative to its length: about the angle, in radians, it may be off."""
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
    shift = torch.from_numpy(np.array(z[0])).double()  # squares of differences lose no digits

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


def pairs(moments: ClassMoments) -> Tensor:
    """For all values i below and j above the middle one, mean of j minus mean of i; ``(q, n)``. [Paper, App. F]"""
    return torch.stack([moments.difference(i, j) for i, j in pairs_of(len(moments.counts))], 1).float()


def pairs_of(num_values: int) -> list[tuple[int, int]]:
    """The values that the vectors of :func:`pairs` lead between.

    >>> pairs_of(5)
    [(0, 3), (0, 4), (1, 3), (1, 4)]
    """
    values, last = range(num_values), num_values - 1
    return [(i, j) for i in values if i < last / 2 for j in values if j > last / 2]


class _Hyperplane:
    """A logistic regression on latents, as the training loop wants it."""

    batch = BATCH

    def __init__(self, train_set: Labelled, valid_set: Labelled, stream: Stream) -> None:
        self.model = nn.Linear(train_set.z.shape[1], 1)
        nn.init.zeros_(self.model.weight)
        nn.init.zeros_(self.model.bias)
        self._train, self._valid = train_set, valid_set
        self.batches = Batches(len(train_set.labels), BATCH, stream=stream)

    def loss(self, step: int) -> Tensor:
        return self._loss_of(self._train, self.batches(step))

    def validate(self) -> float:
        total, count = 0.0, len(self._valid.labels)
        for start in range(0, count, CHUNK):
            rows = np.arange(start, min(start + CHUNK, count))
            total += len(rows) * self._loss_of(self._valid, rows).item()
        return total / count

    def _loss_of(self, data: Labelled, rows: Integers) -> Tensor:
        z, labels = data.tensors(rows, like=self.model.weight)
        return F.binary_cross_entropy_with_logits(self.model(z)[:, 0], labels.float())


@dataclass(frozen=True)
class Hyperplane:
    """The plane normal · z + offset = 0 between two classes; the normal has length 1."""

    normal: Tensor
    offset: float


def hyperplane(
    train_set: Labelled, valid_set: Labelled, *, stream: Stream, what: str = "fitting", progress: Progress = SILENT
) -> Hyperplane:
    """The plane of a logistic regression: Adam, three epochs, the one with the best validation loss."""
    if len(np.unique(train_set.labels)) < 2:
        raise UserError("All people are of one class, so no plane separates them.", hint="Choose another attribute.")
    trainee = _Hyperplane(train_set, valid_set, stream)
    epoch = trainee.batches.per_epoch
    settings = TrainSettings(EPOCHS * epoch, RATE, decay="constant", validate_every=epoch)
    train(trainee, settings, threads=torch.get_num_threads(), what=what, unit="latents", progress=progress)
    normal, offset = trainee.model.weight.detach()[0], trainee.model.bias.detach()[0]
    length = normal.norm()
    return Hyperplane(normal / length, (offset / length).item())


def perpendicular(plane: Hyperplane) -> Tensor:
    """The unit normal of the plane between the classes, ``(q, 1)``. (Denton et al., 2019.)"""
    return plane.normal[:, None]


def decorrelated(sensitive: Hyperplane, target: Hyperplane, z: NDArray[np.float32]) -> Tensor:
    """The sensitive normal without its part along the target's, as long as people's own steps on average, ``(q, 1)``.

    A person's own step mirrors them at the sensitive plane without moving along the target's normal:
    2 (w_s · z + b_s) / (1 − (w_s · w_t)²) · d, d = w_s − (w_s · w_t) w_t. (Ramaswamy et al., 2021.)
    """
    cosine = (sensitive.normal @ target.normal).item()
    if 1 - cosine**2 < 1e-6:
        raise UserError(
            "The sensitive and the target attribute have the same direction.", hint="Choose another pair of attributes."
        )
    direction = sensitive.normal - cosine * target.normal
    total = 0.0
    for start in range(0, len(z), CHUNK):
        some = torch.from_numpy(np.array(z[start : start + CHUNK]))
        total += (some @ sensitive.normal + sensitive.offset).abs().double().sum().item()
    mean_step = 2 * total / len(z) / (1 - cosine**2) * direction.norm()
    return (direction / direction.norm() * mean_step)[:, None]


def discovered(
    target: Hyperplane,
    z: NDArray[np.float32],
    decode: Callable[[Tensor], Tensor],
    classify: Callable[[Tensor], Tensor],
    *,
    count: int,
    steps: int = 2000,
    batch: int = 4,
    reach: float = 5.0,
    stream: Stream,
    progress: Progress = SILENT,
) -> Tensor:
    """Unit vectors along which a classifier's answer changes most, each orthogonal to those before, ``(q, count)``.

    Each is the normal of a plane: people are projected on it and moved by −5, 0 and +5 along the normal, decoded and
    classified; the plane is optimised such that the probabilities differ and the normal is new. (Li and Xu, 2021.)

    Args:
        target: the plane of the target attribute, whose normal counts as known.
        decode: latents to pictures, differentiable.
        classify: pictures to the probability of the target's class, ``(B,)``, differentiable.
    """
    known = [target.normal]
    for number in range(count):
        known.append(_discover(known, z, decode, classify, steps, batch, reach, stream.at(number), progress))
    return torch.stack(known[1:], 1)


def _discover(
    known: list[Tensor],
    z: NDArray[np.float32],
    decode: Callable[[Tensor], Tensor],
    classify: Callable[[Tensor], Tensor],
    steps: int,
    batch: int,
    reach: float,
    stream: Stream,
    progress: Progress,
) -> Tensor:
    old = torch.stack(known)  # (k, q)
    w = torch.randn(z.shape[1], generator=stream.child("start").torch()).requires_grad_()
    b = torch.zeros(()).requires_grad_()
    optimiser = torch.optim.Adam([w, b], 1e-3)
    people = stream.child("people").numpy().integers(0, len(z), (steps, batch))
    with progress.task(f"discovering direction {len(known)}", steps, "steps") as task:
        for rows in people:
            unit = w / w.norm()
            some = torch.from_numpy(np.array(z[np.sort(rows)]))
            on_plane = some - unit * ((some @ w + b) / w.norm())[:, None]
            moved = torch.cat([on_plane + step * unit for step in (-reach, 0.0, reach)])
            p = classify(decode(moved)).view(3, batch)
            change = (p[1:] - p[:-1]).abs().mean()
            overlap = ((old @ unit) / old.norm(dim=1)).square().mean()
            loss = -torch.log(1e-10 + change) + 10 * overlap
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            task.advance()
    return (w / w.norm()).detach()
