"""Independent judges: classifiers of pictures that see which value of an attribute somebody has.

They share nothing with the models that are certified: not the latents, not the seed, not the training set where it is
biased. Rare values count as much as frequent ones, so that a judge does not overlook them.
"""

from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lassi.base.identity import Identity
from lassi.base.train import Trained, Wording
from lassi.consumer.baselines import BaselineStage, BaselineTrainee, predict
from lassi.consumer.scores import Scores, score
from lassi.data.dataset import Integers

STAGE, VERSION = "judge", 1


class JudgeTrainee(BaselineTrainee):
    """A judge: its logits are those of values that are equally frequent. [Menon et al. 2021, logit adjustment]"""

    def error(self, logits: Tensor, labels: Tensor) -> Tensor:
        counts = torch.from_numpy(np.bincount(self._train.labels, minlength=logits.shape[1])).to(logits)
        return F.cross_entropy(logits + (counts / counts.sum()).clamp(min=1e-9).log(), labels)

    def mistakes(self, predicted: Integers, labels: Integers) -> float:
        return 1 - score(predicted, labels, int(labels.max()) + 1).balanced


class JudgeStage(BaselineStage):
    """A judge, trained and saved; it keeps the epoch with the highest balanced accuracy."""

    wording = Wording("training a judge", "people")
    pupil = JudgeTrainee

    @cached_property
    def identity(self) -> Identity:
        return Identity(STAGE, VERSION, self.described(), dict(self.parents), self.seed)

    def figures(self, trainee: BaselineTrainee, trained: Trained) -> dict[str, Any]:
        """Also its scores on validation people."""
        scores = score(predict(trainee.model, self.valid), self.valid.labels, self.shape.num_classes)
        return {"best_step": trained.step, "scores": asdict(scores)}


def scores_of(figures: dict[str, Any]) -> Scores:
    """The scores of a judge on validation people, from its artefact's figures."""
    return Scores(**figures["scores"])
