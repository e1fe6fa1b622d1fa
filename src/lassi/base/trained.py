"""Stages that are trained: one skeleton for the flow, representations, classifiers and baselines.

What exists is not trained again, interrupted training resumes from its checkpoint, and checkpoints are removed when it
is done.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.batches import Batches
from lassi.base.checkpoint import Checkpoints
from lassi.base.compute import Compute
from lassi.base.draft import new_artefact
from lassi.base.identity import Identity
from lassi.base.stage import made_before
from lassi.base.train import Trained, Trainee, TrainSettings, Wording, train

AnyTrainee = TypeVar("AnyTrainee", bound=Trainee)


class TrainedStage(ABC, Generic[AnyTrainee]):
    """Something trained and kept; :func:`lassi.base.stage.load` loads it."""

    folder: Path
    wording: ClassVar[Wording] = Wording()
    saves_checkpoints: ClassVar[bool] = True  # training that takes seconds needs none

    @property
    @abstractmethod
    def identity(self) -> Identity:
        """What it is made from."""

    @abstractmethod
    def trainee(self, compute: Compute) -> AnyTrainee:
        """A new model on the device, with the people it is trained and evaluated on."""

    @abstractmethod
    def schedule(self, trainee: AnyTrainee) -> TrainSettings:
        """How long and how fast it is trained."""

    def weights(self, trainee: AnyTrainee) -> dict[str, Tensor]:
        """The weights to keep."""
        return trainee.model.state_dict()

    def figures(self, trainee: AnyTrainee, trained: Trained) -> dict[str, Any]:  # noqa: ARG002
        """The training figures to keep."""
        return {"best_step": trained.step, "value": trained.value, "curve": trained.curve}

    def make(self, compute: Compute | None = None) -> Artefact:
        """Train it, unless it already exists."""
        compute, checkpoints = compute or Compute(), self._checkpoints()
        if made_before(self, compute) is None:
            trainee, saved = self.trainee(compute), checkpoints if self.saves_checkpoints else None
            schedule = self.schedule(trainee)
            trained = train(trainee, schedule, checkpoints=saved, compute=compute, wording=self.wording)
            with new_artefact(self.folder, self.identity, replace=compute.replace) as draft:
                draft.write_tensors(self.weights(trainee))
                draft.figures.update({"threads": trained.threads, **self.figures(trainee, trained)})
        checkpoints.remove()
        return Artefact(self.folder)

    def _checkpoints(self) -> Checkpoints:
        return Checkpoints(self.folder.parent / f"{self.folder.name}.unfinished", self.identity.fingerprint)


def epochs(count: int, batches: Batches, learning_rate: float, decay: str) -> TrainSettings:
    """Settings for ``count`` epochs, with a validation after each."""
    return TrainSettings(count * batches.per_epoch, learning_rate, decay=decay, validate_every=batches.per_epoch)
