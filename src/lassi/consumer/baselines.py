"""Baselines that know nothing of representations: ResNet-18 on images, and a network on latents. [Paper, App. D]

Nobody certifies them; what is said of their fairness is tried on points (see :mod:`lassi.consumer.fairness`).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.artefact import Artefact, Identity, array_hash, find_artefact, new_artefact
from lassi.base.batches import Batches
from lassi.base.checkpoint import Checkpoints
from lassi.base.engine import chunks
from lassi.base.errors import UserError, unknown
from lassi.base.modules import fill
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.base.train import TrainSettings, checkpoint_folder, train
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

    epochs: int = 5
    batch: int = 500
    learning_rate: float = 1e-3
    decay: str = "constant"

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 2:
            raise UserError(
                f"A baseline cannot be trained for {self.epochs} epochs in batches of {self.batch}.",
                hint="Choose at least 1 epoch and batches of at least 2.",
            )


@dataclass(frozen=True)
class Examples:
    """What a baseline sees of people, loaded by their rows, and their labels ``(people,)``."""

    load: Callable[[Integers], Tensor]
    labels: Integers


class _BaselineTrainee:
    def __init__(self, model: nn.Module, train_set: Examples, valid_set: Examples, batch: int, stream: Stream) -> None:
        self.model, self.batch = model, batch
        self._train, self._valid = train_set, valid_set
        self.batches = Batches(len(train_set.labels), batch, stream=stream)

    def loss(self, step: int) -> Tensor:
        rows = self.batches(step)
        logits = self.model(self._train.load(rows))
        return F.cross_entropy(logits, torch.from_numpy(self._train.labels[rows]).to(logits.device))

    def validate(self) -> float:
        """The share of mistakes."""
        return float((predict(self.model, self._valid) != self._valid.labels).mean())


@torch.no_grad()
def predict(model: nn.Module, people: Examples) -> Integers:
    """The class of everybody, ``(people,)``."""
    parts = [np.arange(rows.start, rows.stop) for rows in chunks(len(people.labels), CHUNK)]
    return np.concatenate([model(people.load(rows)).argmax(1).cpu().numpy() for rows in parts])


def new_baseline(kind: str, num_classes: int, latent_dim: int, *, stream: Stream) -> nn.Module:
    """A baseline that has learned nothing yet."""
    if kind == "mlp":
        return LatentNetwork(latent_dim, num_classes, stream=stream)
    if kind != "resnet":
        raise unknown("baseline called", kind, KINDS)
    with stream.global_torch():
        return ResNet18(num_classes)


def train_baseline(
    kind: str,
    train_set: Examples,
    valid_set: Examples,
    settings: BaselineTraining,
    folder: Path,
    *,
    num_classes: int,
    latent_dim: int,
    parents: Mapping[str, str],
    seed: int,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Artefact:
    """Train a baseline and leave it in ``folder``; the epoch with the fewest mistakes in validation is kept."""
    if len(np.unique(train_set.labels)) < 2:
        raise UserError("All training people are of one class.", hint="Choose a task that varies.")
    described = asdict(settings) | {"kind": kind, "num_classes": num_classes, "latent_dim": latent_dim}
    described |= {"labels": array_hash(train_set.labels), "valid_labels": array_hash(valid_set.labels)}
    identity = Identity(STAGE, VERSION, described, dict(parents), seed)
    checkpoints = Checkpoints(checkpoint_folder(folder), identity.fingerprint)
    if found := find_artefact(folder, identity):
        checkpoints.remove()
        return found
    stream = Stream(seed, "baseline")
    model = new_baseline(kind, num_classes, latent_dim, stream=stream.child("weights"))
    trainee = _BaselineTrainee(model, train_set, valid_set, settings.batch, stream.child("order"))
    epoch = trainee.batches.per_epoch
    schedule = TrainSettings(
        settings.epochs * epoch, settings.learning_rate, decay=settings.decay, validate_every=epoch
    )
    what = {"resnet": "training ResNet-18 on images", "mlp": "training a network on latents"}[kind]
    trained = train(
        trainee, schedule, checkpoints=checkpoints, threads=threads, what=what, unit="people", progress=progress
    )
    with new_artefact(folder, identity) as draft:
        draft.write_tensors(model.state_dict())
        draft.figures.update({"best_step": trained.step, "mistakes": trained.value})
    checkpoints.remove()
    return Artefact(folder)


def load_baseline(folder: Path) -> nn.Module:
    """Read a baseline, in evaluation mode."""
    artefact = Artefact(folder)
    if artefact.identity.stage != STAGE:
        raise UserError(f"'{folder}' holds a {artefact.identity.stage}, not a baseline.", hint="Check the path.")
    settings = artefact.identity.settings
    stream = Stream(0, "unused")
    model = new_baseline(settings["kind"], settings["num_classes"], settings["latent_dim"], stream=stream)
    fill(model, artefact.tensors(), called=f"the baseline in '{folder}'")
    return model.eval().requires_grad_(False)
