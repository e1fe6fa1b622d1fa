"""Training a representation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.artefact import Artefact, Identity, array_hash, find_artefact, new_artefact
from lassi.base.batches import Batches
from lassi.base.checkpoint import Checkpoints
from lassi.base.devices import usable
from lassi.base.engine import chunks
from lassi.base.errors import UserError
from lassi.base.modules import fill, tensors_hash
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.base.train import TrainSettings, checkpoint_folder, train
from lassi.data.dataset import Integers
from lassi.flow.latents import Labelled
from lassi.representation.network import WIDTHS, Representation
from lassi.representation.objective import Objective, Producer
from lassi.similarity.sets import SimilaritySet

STAGE, VERSION = "representation", 1
CHUNK = 1000


@dataclass(frozen=True)
class Production:
    """How a representation is trained.

    Args:
        objective: the losses and their weights.
        widths: of R's layers.
        epochs: over the training people.
        batch: people in a step.
        learning_rate: of Adam, at its highest.
        decay: ``cosine`` or ``constant``; the paper's is constant.
    """

    objective: Objective
    widths: Sequence[int] = WIDTHS
    epochs: int = 5
    batch: int = 500
    learning_rate: float = 1e-3
    decay: str = "cosine"

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 2:
            raise UserError(
                f"A representation cannot be trained for {self.epochs} epochs in batches of {self.batch}.",
                hint="Choose at least 1 epoch and batches of at least 2.",
            )


class ProducerTrainee:
    """A producer, and the people it is trained and judged on."""

    def __init__(
        self,
        model: Producer,
        train_set: Labelled,
        valid_set: Labelled,
        similar: SimilaritySet | None,
        settings: Production,
        stream: Stream,
    ) -> None:
        self.model, self.batch = model, settings.batch
        self._train, self._valid = train_set, valid_set
        device = next(model.parameters()).device
        self._similar = None if similar is None else similar.to(device)
        self._objective, self._stream = settings.objective, stream
        self.batches = Batches(len(train_set.labels), settings.batch, stream=stream.child("order"))

    def loss(self, step: int) -> Tensor:
        return self._loss_of(self._train, self.batches(step), self._stream.child("attack").at(step))

    def validate(self) -> float:
        """The total loss, or, where there is nothing but classification, the share of mistakes; lower is better."""
        objective = self._objective
        total, count = 0.0, len(self._valid.labels)
        for part in chunks(count, CHUNK):
            rows = np.arange(part.start, part.stop)
            if objective.lambda2 or objective.lambda3 or objective.augments:
                value = self._loss_of(self._valid, rows, self._stream.child("validation").at(part.start))
            else:
                value = self._mistakes(rows)
            total += len(rows) * value.item()
        return total / count

    def _loss_of(self, people: Labelled, rows: Integers, stream: Stream) -> Tensor:
        z, labels = people.tensors(rows, like=next(self.model.parameters()))
        return self.model.losses(z, labels, self._objective, self._similar, stream=stream)

    def _mistakes(self, rows: Integers) -> Tensor:
        z, labels = self._valid.tensors(rows, like=next(self.model.parameters()))
        return (self.model.aux(self.model.representation(z)).argmax(1) != labels).double().mean()


def train_representation(
    train_set: Labelled,
    valid_set: Labelled,
    similar: SimilaritySet | None,
    settings: Production,
    folder: Path,
    *,
    num_classes: int,
    parents: Mapping[str, str],
    seed: int,
    threads: int | None = None,
    device: str = "cpu",
    progress: Progress = SILENT,
) -> Artefact:
    """Train a representation and leave it in ``folder``; resumes, and does nothing if it is there.

    Args:
        similar: the similarity set of the attack or the augmentation; None where there is neither.
        num_classes: of the target that the labels tell.
        parents: the content of what it is made from: latents, directions.
    """
    objective = settings.objective
    if (objective.lambda2 or objective.augments) and similar is None:
        raise UserError("There is no similarity set to attack or augment with.", hint="Give directions and a radius.")
    if objective.lambda1 and len(np.unique(train_set.labels)) < 2:
        raise UserError("All training people have the same target.", hint="Choose a target that varies.")
    described = asdict(settings) | {"widths": list(settings.widths), "num_classes": num_classes}
    described |= {"labels": array_hash(train_set.labels), "valid_labels": array_hash(valid_set.labels)}
    if similar is not None:
        described["radius"] = similar.radius
    identity = Identity(STAGE, VERSION, described, dict(parents), seed)
    checkpoints = Checkpoints(checkpoint_folder(folder), identity.fingerprint)
    if found := find_artefact(folder, identity):
        checkpoints.remove()
        return found
    stream = Stream(seed, "representation")
    r = Representation(train_set.z.shape[1], settings.widths, stream=stream.child("weights"))
    model = Producer(r, num_classes, reconstructs=objective.lambda3 > 0, stream=stream.child("helpers"))
    trainee = ProducerTrainee(model.to(usable(device)), train_set, valid_set, similar, settings, stream)
    epoch = trainee.batches.per_epoch
    schedule = TrainSettings(
        settings.epochs * epoch, settings.learning_rate, decay=settings.decay, validate_every=epoch
    )
    trained = train(
        trainee,
        schedule,
        checkpoints=checkpoints,
        threads=threads,
        what="training the representation",
        unit="people",
        progress=progress,
    )
    with new_artefact(folder, identity) as draft:
        draft.write_tensors(r.state_dict())
        draft.figures.update({"best_step": trained.step, "value": trained.value, "curve": trained.curve})
    checkpoints.remove()
    return Artefact(folder)


def save_representation(r: Representation, folder: Path) -> Artefact:
    """Write a representation that was made elsewhere; it is known by its weights."""
    settings = {"widths": list(r.widths), "weights": tensors_hash(r.state_dict())}
    with new_artefact(folder, Identity(STAGE, VERSION, settings)) as draft:
        draft.write_tensors(r.state_dict())
    return Artefact(folder)


def load_representation(folder: Path) -> Representation:
    """Read a representation, in evaluation mode."""
    artefact = Artefact(folder)
    if artefact.identity.stage != STAGE:
        raise UserError(
            f"'{folder}' holds a {artefact.identity.stage}, not a representation.",
            hint="Give the folder of a representation.",
        )
    tensors = artefact.tensors()
    widths = artefact.identity.settings["widths"]
    r = Representation(tensors["linears.0.weight"].shape[1], widths, stream=Stream(0, "unused"))
    fill(r, tensors, called=f"the representation in '{folder}'")
    return r.eval().requires_grad_(False)


@torch.no_grad()
def represent(r: Representation, z: NDArray[np.float32], *, chunk: int = CHUNK) -> Tensor:
    """R(z) of many people, ``(people, k)``, in evaluation mode; the latents may be a memory map of any length."""
    folded = r.folded()
    like = folded.biases[0]
    parts = (torch.from_numpy(np.array(z[rows.start : rows.stop])).to(like) for rows in chunks(len(z), chunk))
    return torch.cat([folded(part) for part in parts])
