"""The plane between two classes, by logistic regression on latents."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.batches import Batches
from lassi.base.compute import Compute
from lassi.base.devices import usable
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.base.train import Wording, train
from lassi.base.trained import epochs
from lassi.data.dataset import Integers
from lassi.flow.latents import Labelled

CHUNK = 4096  # latents at a time
EPOCHS, BATCH, RATE = 3, 512, 1e-3  # as in the paper's program


class _Hyperplane:
    """A logistic regression on latents, in the form the training loop expects."""

    batch = BATCH

    def __init__(self, train_set: Labelled, valid_set: Labelled, stream: Stream, device: torch.device) -> None:
        with stream.global_torch():  # its own start is overwritten
            self.model = nn.Linear(train_set.z.shape[1], 1)
        nn.init.zeros_(self.model.weight)
        nn.init.zeros_(self.model.bias)
        self.model.to(device)
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
    train_set: Labelled, valid_set: Labelled, *, stream: Stream, what: str = "fitting", compute: Compute | None = None
) -> Hyperplane:
    """The plane of a logistic regression: Adam for three epochs, keeping the one with the best validation loss."""
    if len(np.unique(train_set.labels)) < 2:
        raise UserError(
            "All people belong to one class, so no plane separates them.", hint="Choose a different attribute."
        )
    compute = compute or Compute()
    trainee = _Hyperplane(train_set, valid_set, stream, usable(compute.device))
    settings = epochs(EPOCHS, trainee.batches, RATE, "constant")
    same_threads = Compute(torch.get_num_threads(), compute.device, compute.progress)
    train(trainee, settings, compute=same_threads, wording=Wording(what, "latents"))
    normal, offset = trainee.model.weight.detach()[0].cpu(), trainee.model.bias.detach()[0].cpu()
    length = normal.norm()
    return Hyperplane(normal / length, (offset / length).item())
