"""Training a classifier on representations in memory, from arrays."""

import numpy as np
import torch
from numpy.typing import ArrayLike

from lassi.base.batches import held_out
from lassi.base.compute import Compute
from lassi.base.streams import Stream
from lassi.base.train import train
from lassi.base.trained import epochs
from lassi.consumer.classifier import Classifier, ClassifierTraining, ConsumerTrainee, Lessons, Represented


def fit_classifier(
    r: ArrayLike,
    labels: ArrayLike,
    settings: ClassifierTraining | None = None,
    *,
    seed: int = 0,
    compute: Compute | None = None,
) -> Classifier:
    """Train C on representations ``(people, k)`` and labels ``(people,)``; a tenth of the people is held out.

    Args:
        settings: the noise on representations, hidden layers, epochs, …; linear with noise 1 unless given.
    """
    settings = settings or ClassifierTraining(1.0)
    inputs, values = torch.as_tensor(np.asarray(r, np.float32)), torch.as_tensor(np.asarray(labels, np.int64))
    stream = Stream(seed, "classifier")
    rest, valid = held_out(len(values), stream=stream.child("held out"))
    lessons = Lessons(Represented(inputs[rest], values[rest]), Represented(inputs[valid], values[valid]))
    lessons.refuse_unfit()
    model = Classifier(inputs.shape[1], int(values.max()) + 1, settings.hidden, stream=stream.child("weights"))
    trainee = ConsumerTrainee(model, lessons, settings, stream)
    train(trainee, epochs(settings.epochs, trainee.batches, settings.learning_rate, settings.decay), compute=compute)
    return model.eval().requires_grad_(False)
