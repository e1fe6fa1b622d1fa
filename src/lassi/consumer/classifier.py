"""Classifiers on representations, trained with Gaussian noise because they will be smoothed. [Paper, Sec. 4.3]"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.artefact import Artefact
from lassi.base.batches import Batches
from lassi.base.compute import Compute
from lassi.base.devices import usable
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.identity import Identity, array_hash
from lassi.base.modules import built, fill, tensors_hash
from lassi.base.ranges import Number, Several, Whole, refuse_unfit
from lassi.base.streams import Stream
from lassi.base.train import Batch, Decay, Epochs, LearningRate, Trained, TrainSettings, Wording
from lassi.base.trained import TrainedStage, epochs
from lassi.consumer.protocol import Consumer
from lassi.consumer.scores import Scores, score
from lassi.data.dataset import Integers

STAGE, VERSION = "classifier", 1
ANY_WIDTHS = Several(Whole(1, 65_536), 0, 32)


class Classifier(nn.Module):
    """C: representations ``(B, k)`` to logits ``(B, K)``; linear, or with hidden layers of Linear and ReLU.

    Args:
        dim: k.
        num_classes: K.
        hidden: widths of hidden layers; none for a linear classifier.
    """

    def __init__(self, dim: int, num_classes: int, hidden: Sequence[int] = (), *, stream: Stream) -> None:
        super().__init__()
        if num_classes < 2:
            raise UserError(f"The task has {num_classes} classes.", hint="Choose a task with at least 2.")
        self.dim, self.num_classes, self.hidden = dim, num_classes, tuple(hidden)
        with stream.global_torch():
            self.linears: Sequence[nn.Linear] = nn.ModuleList(  # type: ignore[assignment]
                nn.Linear(before, after) for before, after in itertools.pairwise([dim, *hidden, num_classes])
            )

    @property
    def is_linear(self) -> bool:
        return len(self.linears) == 1

    def forward(self, r: Tensor) -> Tensor:
        for linear in self.linears[:-1]:
            r = linear(r).relu()
        return self.linears[-1](r)

    @torch.no_grad()
    def predict(self, r: Tensor) -> Tensor:
        """The class of each representation, ``(B,)``."""
        return self(r).argmax(1)

    def __repr__(self) -> str:
        return f"Classifier({' → '.join(map(str, (self.dim, *self.hidden, self.num_classes)))})"


@dataclass(frozen=True)
class ClassifierTraining:
    """How a classifier is trained.

    Args:
        sigma: of the Gaussian noise on r (σ_rs), drawn afresh for every batch.
        hidden: widths of hidden layers; none for the paper's linear classifier.
    """

    sigma: Annotated[float, Number(0, 1_000_000)]
    hidden: Annotated[Sequence[int], ANY_WIDTHS] = ()
    epochs: Epochs = 1
    batch: Batch = 128
    learning_rate: LearningRate = 1e-3
    decay: Decay = "constant"

    def __post_init__(self) -> None:
        refuse_unfit(self)


@dataclass(frozen=True)
class Represented:
    """Representations ``(people, k)`` and the labels of a task ``(people,)``."""

    r: Tensor
    labels: Tensor


@dataclass(frozen=True, eq=False)
class Lessons:
    """The people a classifier learns from, and those it is evaluated on."""

    train: Represented
    valid: Represented

    def to(self, device: torch.device) -> "Lessons":
        """The same people on another device."""
        return Lessons(*(Represented(some.r.to(device), some.labels.to(device)) for some in (self.train, self.valid)))

    def refuse_unfit(self) -> None:
        if len(np.unique(self.train.labels.cpu().numpy())) < 2:
            raise UserError("All training people belong to one class.", hint="Choose a task that varies.")


class ConsumerTrainee:
    """A classifier, and the people it is trained and evaluated on."""

    def __init__(self, model: Classifier, lessons: Lessons, settings: ClassifierTraining, stream: Stream) -> None:
        self.model, self.batch = model, settings.batch
        self._train, self.valid, self._settings, self._stream = lessons.train, lessons.valid, settings, stream
        self.batches = Batches(len(lessons.train.labels), settings.batch, stream=stream.child("order"))

    def loss(self, step: int) -> Tensor:
        rows = torch.from_numpy(self.batches(step)).to(self._train.r.device)
        noise = torch.randn(len(rows), self.model.dim, generator=self._stream.child("noise").at(step).torch())
        noisy = self._train.r[rows] + self._settings.sigma * noise.to(self._train.r)
        return F.cross_entropy(self.model(noisy), self._train.labels[rows])

    def validate(self) -> float:
        return F.cross_entropy(self.model(self.valid.r), self.valid.labels).item()


@dataclass(frozen=True)
class ClassifierShape:
    """k and K."""

    dim: int
    num_classes: int


@dataclass(frozen=True, eq=False)
class ClassifierStage(TrainedStage[ConsumerTrainee]):
    """A classifier on representations, trained and saved with its scores on the validation people.

    Args:
        labels: of the training people, ``(people,)``.
        lessons: loads the people; called only if there is something to train.
        parents: the content hash of what it is made from: the representation.
    """

    wording = Wording("training the classifier", "people")
    saves_checkpoints = False

    folder: Path
    shape: ClassifierShape
    labels: Integers
    lessons: Callable[[], Lessons]
    settings: ClassifierTraining
    parents: Mapping[str, str]
    seed: int

    @cached_property
    def identity(self) -> Identity:
        described = asdict(self.settings) | asdict(self.shape)
        described |= {"hidden": list(self.settings.hidden), "labels": array_hash(self.labels)}
        return Identity(STAGE, VERSION, described, dict(self.parents), self.seed)

    def trainee(self, compute: Compute) -> ConsumerTrainee:
        lessons, stream = self.lessons(), Stream(self.seed, "classifier")
        lessons.refuse_unfit()
        lessons = lessons.to(usable(compute.device))
        model = Classifier(self.shape.dim, self.shape.num_classes, self.settings.hidden, stream=stream.child("weights"))
        return ConsumerTrainee(model.to(lessons.train.r), lessons, self.settings, stream)

    def schedule(self, trainee: ConsumerTrainee) -> TrainSettings:
        settings = self.settings
        return epochs(settings.epochs, trainee.batches, settings.learning_rate, settings.decay)

    def figures(self, trainee: ConsumerTrainee, trained: Trained) -> dict[str, Any]:  # noqa: ARG002
        return {"valid": asdict(evaluate(trainee.model, trainee.valid))}


def evaluate(model: Consumer, people: Represented) -> Scores:
    """How often the classifier is right, compared with the majority class."""
    return score(model.predict(people.r).cpu().numpy(), people.labels.cpu().numpy(), model.num_classes)


def save_classifier(model: Classifier, folder: Path) -> Artefact:
    """Save a classifier made elsewhere; its weights identify it."""
    settings = {
        "dim": model.dim,
        "num_classes": model.num_classes,
        "hidden": list(model.hidden),
        "weights": tensors_hash(model.state_dict()),
    }
    with new_artefact(folder, Identity(STAGE, VERSION, settings)) as draft:
        draft.write_tensors(model.state_dict())
    return Artefact(folder)


def load_classifier(folder: Path) -> Classifier:
    """Load a classifier."""
    artefact = Artefact(folder)
    settings = artefact.identity.settings
    if artefact.identity.stage != STAGE:
        raise UserError(
            f"'{folder}' holds a {artefact.identity.stage}, not a classifier.", hint="Give the folder of a classifier."
        )
    with artefact.understood():
        shape, called = (settings["dim"], settings["num_classes"], settings["hidden"]), f"the classifier in '{folder}'"
        return built(lambda: Classifier(*shape, stream=Stream(0, "unused")), artefact.tensors(), called=called)


def from_linear(weight: Tensor, bias: Tensor) -> Classifier:
    """A linear classifier with the given weights ``(K, k)`` and bias ``(K,)``."""
    model = Classifier(weight.shape[1], weight.shape[0], stream=Stream(0, "unused"))
    fill(model, {"linears.0.weight": weight.float(), "linears.0.bias": bias.float()}, called="the given weights")
    return model.eval().requires_grad_(False)
