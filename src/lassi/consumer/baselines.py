"""Baselines that do not use representations: ResNet-18 on images, and a network on latents. [Paper, App. D]

They are not certified; their fairness is only tested on points (see :mod:`lassi.consumer.fairness`).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.artefact import Artefact
from lassi.base.batches import Batches
from lassi.base.compute import Compute
from lassi.base.devices import usable
from lassi.base.errors import UserError, unknown
from lassi.base.identity import Identity, array_hash
from lassi.base.modules import built
from lassi.base.ranges import refuse_unfit
from lassi.base.streams import Stream
from lassi.base.train import Decay, Epochs, LearningRate, NormedBatch, Trained, TrainSettings, Wording
from lassi.base.trained import TrainedStage, epochs
from lassi.base.workers import chunks
from lassi.consumer.resnet import ResNet18
from lassi.data.dataset import Integers
from lassi.representation.network import WIDTHS, Representation

STAGE, VERSION = "baseline", 1
KINDS = ("resnet", "mlp")
CHUNK = 250


class LatentNetwork(nn.Module):
    """Latents ``(B, q)`` to logits ``(B, K)``: a representation and a linear layer, trained as one."""

    def __init__(self, latent_dim: int, num_classes: int, *, stream: Stream) -> None:
        super().__init__()
        self.representation = Representation(latent_dim, WIDTHS, stream=stream.child("r"))
        with stream.child("head").global_torch():
            self.head = nn.Linear(WIDTHS[-1], num_classes)

    def forward(self, z: Tensor) -> Tensor:
        return self.head(self.representation(z))


@dataclass(frozen=True)
class BaselineTraining:
    """How a baseline is trained; the defaults are the paper's."""

    epochs: Epochs = 5
    batch: NormedBatch = 500
    learning_rate: LearningRate = 1e-3
    decay: Decay = "constant"

    def __post_init__(self) -> None:
        refuse_unfit(self)


@dataclass(frozen=True)
class Examples:
    """A baseline's inputs, loaded by row, and the labels ``(people,)``."""

    load: Callable[[Integers], Tensor]
    labels: Integers


class BaselineTrainee:
    """A baseline, and the people it is trained and evaluated on."""

    def __init__(self, model: nn.Module, train_set: Examples, valid_set: Examples, batch: int, stream: Stream) -> None:
        self.model, self.batch = model, batch
        self._train, self._valid = train_set, valid_set
        self.batches = Batches(len(train_set.labels), batch, stream=stream)

    def loss(self, step: int) -> Tensor:
        rows = self.batches(step)
        logits = self.model(_on_device_of(self.model, self._train.load(rows)))
        return self.error(logits, torch.from_numpy(self._train.labels[rows]).to(logits.device))

    def error(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch of logits ``(B, K)``."""
        return F.cross_entropy(logits, labels)

    def validate(self) -> float:
        """The share of mistakes."""
        return self.mistakes(predict(self.model, self._valid), self._valid.labels)

    def mistakes(self, predicted: Integers, labels: Integers) -> float:
        """What is to be as small as possible on validation people."""
        return float((predicted != labels).mean())


@torch.no_grad()
def predict(model: nn.Module, people: Examples) -> Integers:
    """The class of everybody, ``(people,)``."""
    parts = [np.arange(rows.start, rows.stop) for rows in chunks(len(people.labels), CHUNK)]
    return np.concatenate([model(_on_device_of(model, people.load(rows))).argmax(1).cpu().numpy() for rows in parts])


def _on_device_of(model: nn.Module, x: Tensor) -> Tensor:
    return x.to(next(model.parameters()).device)


def new_baseline(kind: str, num_classes: int, latent_dim: int, *, stream: Stream) -> nn.Module:
    """An untrained baseline."""
    if kind == "mlp":
        return LatentNetwork(latent_dim, num_classes, stream=stream)
    if kind != "resnet":
        raise unknown("baseline", kind, KINDS)
    with stream.global_torch():
        return ResNet18(num_classes)


@dataclass(frozen=True)
class BaselineShape:
    """The architecture of a baseline: ``resnet`` or ``mlp``, K, and q."""

    kind: str
    num_classes: int
    latent_dim: int

    def new(self, *, stream: Stream) -> nn.Module:
        """An untrained one."""
        return new_baseline(self.kind, self.num_classes, self.latent_dim, stream=stream)


@dataclass(frozen=True, eq=False)
class BaselineStage(TrainedStage[BaselineTrainee]):
    """A baseline, trained and saved; it keeps the epoch with the fewest validation mistakes."""

    wording = Wording("training a baseline", "people")
    pupil: ClassVar[type[BaselineTrainee]] = BaselineTrainee

    folder: Path
    shape: BaselineShape
    train: Examples
    valid: Examples
    settings: BaselineTraining
    parents: Mapping[str, str]
    seed: int

    @cached_property
    def identity(self) -> Identity:
        return Identity(STAGE, VERSION, self.described(), dict(self.parents), self.seed)

    def described(self) -> dict[str, Any]:
        """What distinguishes it from others with the same parents and seed."""
        described = asdict(self.settings) | asdict(self.shape)
        return described | {"labels": array_hash(self.train.labels), "valid_labels": array_hash(self.valid.labels)}

    def trainee(self, compute: Compute) -> BaselineTrainee:
        if len(np.unique(self.train.labels)) < 2:
            raise UserError("All training people belong to one class.", hint="Choose a task that varies.")
        stream = Stream(self.seed, self.identity.stage)
        model = self.shape.new(stream=stream.child("weights")).to(usable(compute.device))
        return self.pupil(model, self.train, self.valid, self.settings.batch, stream.child("order"))

    def schedule(self, trainee: BaselineTrainee) -> TrainSettings:
        settings = self.settings
        return epochs(settings.epochs, trainee.batches, settings.learning_rate, settings.decay)

    def figures(self, trainee: BaselineTrainee, trained: Trained) -> dict[str, Any]:  # noqa: ARG002
        return {"best_step": trained.step, "mistakes": trained.value}


def load_baseline(folder: Path, stage: str = STAGE) -> nn.Module:
    """Load a baseline, in evaluation mode.

    Args:
        stage: what it should be, if not a baseline.
    """
    artefact = Artefact(folder)
    if artefact.identity.stage != stage:
        raise UserError(f"'{folder}' holds a {artefact.identity.stage}, not a {stage}.", hint="Check the path.")
    settings = artefact.identity.settings
    with artefact.understood():
        shape = BaselineShape(settings["kind"], settings["num_classes"], settings["latent_dim"])
        called = f"the {stage} in '{folder}'"
        return built(lambda: shape.new(stream=Stream(0, "unused")), artefact.tensors(), called=called)
