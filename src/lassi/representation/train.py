"""Training a representation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.batches import Batches
from lassi.base.compute import Compute
from lassi.base.devices import usable
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.identity import Identity, array_hash
from lassi.base.modules import built, tensors_hash
from lassi.base.ranges import Several, Whole, refuse_unfit
from lassi.base.streams import Stream
from lassi.base.train import Decay, Epochs, LearningRate, NormedBatch, TrainSettings, Wording
from lassi.base.trained import TrainedStage, epochs
from lassi.base.workers import chunks
from lassi.data.dataset import Integers
from lassi.flow.latents import Labelled
from lassi.representation.network import WIDTHS, Representation
from lassi.representation.objective import Objective, Producer
from lassi.similarity.sets import SimilaritySet

STAGE, VERSION = "representation", 2
CHUNK = 1000
SOME_WIDTHS = Several(Whole(1, 65_536), 1, 32)


@dataclass(frozen=True)
class RepresentationTraining:
    """How a representation is trained.

    Args:
        objective: the losses and their weights.
        widths: of R's layers.
        epochs: over the training people.
        batch: people per step.
        learning_rate: of Adam, at its peak.
        decay: ``cosine`` or ``constant``; the paper's is constant.
    """

    objective: Objective
    widths: Annotated[Sequence[int], SOME_WIDTHS] = WIDTHS
    epochs: Epochs = 5
    batch: NormedBatch = 500
    learning_rate: LearningRate = 1e-3
    decay: Decay = "cosine"

    def __post_init__(self) -> None:
        refuse_unfit(self)


@dataclass(frozen=True, eq=False)
class Lessons:
    """The people a representation learns from, and those it is evaluated on.

    Args:
        num_classes: of the target.
        similar: the similarity set for the attack or the augmentation; None without either.
    """

    train: Labelled
    valid: Labelled
    num_classes: int
    similar: SimilaritySet | None = None

    def refuse_unfit(self, objective: Objective) -> None:
        """Refuse, before any work, data that the objective cannot learn from."""
        if (objective.lambda2 or objective.augments) and self.similar is None:
            raise UserError(
                "There is no similarity set to attack or augment with.", hint="Give directions and a radius."
            )
        if objective.lambda1 and len(np.unique(self.train.labels)) < 2:
            raise UserError("All training people have the same target.", hint="Choose a target that varies.")


class ProducerTrainee:
    """A producer, and the people it is trained and evaluated on."""

    def __init__(self, model: Producer, lessons: Lessons, settings: RepresentationTraining, stream: Stream) -> None:
        self.model, self.batch = model, settings.batch
        self._train, self._valid = lessons.train, lessons.valid
        device = next(model.parameters()).device
        self._similar = None if lessons.similar is None else lessons.similar.to(device)
        self._objective, self._stream = settings.objective, stream
        self.batches = Batches(len(lessons.train.labels), settings.batch, stream=stream.child("order"))

    def loss(self, step: int) -> Tensor:
        return self._loss_of(self._train, self.batches(step), self._stream.child("attack").at(step))

    def validate(self) -> float:
        """The error on held-out people: the total loss if there is more than classification, otherwise the mistakes.

        An objective that augments is evaluated on augmented people, as in the published program.
        """
        total, weight = 0.0, 0
        for part in chunks(len(self._valid.labels), CHUNK):
            rows = np.arange(part.start, part.stop)
            stream = self._stream.child("validation").at(part.start)
            judged = self._loss_of if self._objective.is_judged_by_loss else self._mistakes
            total += len(rows) * judged(self._valid, rows, stream).item()
            weight += len(rows)
        return total / weight

    def _loss_of(self, people: Labelled, rows: Integers, stream: Stream) -> Tensor:
        z, labels, other = self._pictures(people, rows, stream)
        return self.model.losses(z, labels, self._objective, self._similar, stream=stream, other=other)

    def _mistakes(self, people: Labelled, rows: Integers, stream: Stream) -> Tensor:
        z, labels, other = self._pictures(people, rows, stream)
        return self.model.mistakes(z, labels, self._objective, self._similar, stream=stream, other=other)

    def _pictures(self, people: Labelled, rows: Integers, stream: Stream) -> tuple[Tensor, Tensor, Tensor | None]:
        """Latents and labels of people; if they have copies, those of two drawn pictures of each."""
        like = next(self.model.parameters())
        z, labels = people.tensors(rows, like=like)
        if people.copies is None:
            return z, labels, None
        one, other = (people.redrawn(rows, like=like, stream=stream.child(name)) for name in ("one", "other"))
        return one, labels, other


@dataclass(frozen=True, eq=False)
class RepresentationStage(TrainedStage[ProducerTrainee]):
    """A representation, trained and saved.

    Args:
        parents: the content hashes of what it is made from: flow, latents, directions.
    """

    wording = Wording("training the representation", "people")

    folder: Path
    lessons: Lessons
    settings: RepresentationTraining
    parents: Mapping[str, str]
    seed: int

    def __post_init__(self) -> None:
        self.lessons.refuse_unfit(self.settings.objective)

    @cached_property
    def identity(self) -> Identity:
        lessons = self.lessons
        described = asdict(self.settings) | {"widths": list(self.settings.widths), "num_classes": lessons.num_classes}
        described |= {"labels": array_hash(lessons.train.labels), "valid_labels": array_hash(lessons.valid.labels)}
        if lessons.similar is not None:
            described["radius"] = lessons.similar.radius
        return Identity(STAGE, VERSION, described, dict(self.parents), self.seed)

    def trainee(self, compute: Compute) -> ProducerTrainee:
        stream, latent_dim = Stream(self.seed, "representation"), self.lessons.train.z.shape[1]
        r = Representation(latent_dim, self.settings.widths, stream=stream.child("weights"))
        model = Producer(
            r,
            self.lessons.num_classes,
            reconstructs=self.settings.objective.lambda3 > 0,
            stream=stream.child("helpers"),
        )
        return ProducerTrainee(model.to(usable(compute.device)), self.lessons, self.settings, stream)

    def schedule(self, trainee: ProducerTrainee) -> TrainSettings:
        settings = self.settings
        return epochs(settings.epochs, trainee.batches, settings.learning_rate, settings.decay)

    def weights(self, trainee: ProducerTrainee) -> dict[str, Tensor]:
        return trainee.model.representation.state_dict()


def save_representation(r: Representation, folder: Path) -> Artefact:
    """Save a representation made elsewhere; its weights identify it."""
    settings = {"widths": list(r.widths), "weights": tensors_hash(r.state_dict())}
    with new_artefact(folder, Identity(STAGE, VERSION, settings)) as draft:
        draft.write_tensors(r.state_dict())
    return Artefact(folder)


def load_representation(folder: Path) -> Representation:
    """Load a representation, in evaluation mode."""
    artefact = Artefact(folder)
    if artefact.identity.stage != STAGE:
        raise UserError(
            f"'{folder}' holds a {artefact.identity.stage}, not a representation.",
            hint="Give the folder of a representation.",
        )
    with artefact.understood():
        tensors, widths = artefact.tensors(), artefact.identity.settings["widths"]
        latent_dim, called = tensors["linears.0.weight"].shape[1], f"the representation in '{folder}'"
        return built(lambda: Representation(latent_dim, widths, stream=Stream(0, "unused")), tensors, called=called)


@torch.no_grad()
def represent(r: Representation, z: NDArray[np.float32], *, chunk: int = CHUNK) -> Tensor:
    """R(z) of many people, ``(people, k)``, in evaluation mode; the latents may be a memory map of any length."""
    folded = r.folded()
    like = folded.biases[0]
    parts = (torch.from_numpy(np.array(z[rows.start : rows.stop])).to(like) for rows in chunks(len(z), chunk))
    return torch.cat([folded(part) for part in parts])
