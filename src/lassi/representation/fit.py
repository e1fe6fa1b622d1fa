"""Training a representation in memory, from arrays."""

import numpy as np
import torch
from numpy.typing import ArrayLike

from lassi.base.batches import held_out
from lassi.base.compute import Compute
from lassi.base.devices import usable
from lassi.base.streams import Stream
from lassi.base.train import train
from lassi.base.trained import epochs
from lassi.flow.latents import Labelled
from lassi.representation.network import Representation
from lassi.representation.objective import Objective, Producer
from lassi.representation.train import Lessons, ProducerTrainee, RepresentationTraining
from lassi.similarity.sets import SimilaritySet


def fit_representation(
    z: ArrayLike,
    labels: ArrayLike,
    similar: SimilaritySet | None = None,
    settings: RepresentationTraining | None = None,
    *,
    seed: int = 0,
    compute: Compute | None = None,
) -> Representation:
    """Train R on latents ``(people, q)`` and labels ``(people,)``; a tenth of the people is held out.

    Args:
        similar: who counts as similar. Unless the settings say otherwise, R is trained as LASSI with λ2 = 0.1 if this
            is given, and naively if not.
        settings: the objective, R's widths, epochs, …
    """
    objective = Objective(lambda2=0.1) if similar is not None else Objective()
    settings, compute = settings or RepresentationTraining(objective), compute or Compute()
    latents, values = np.asarray(z, np.float32), np.asarray(labels, np.int64)
    stream = Stream(seed, "representation")
    rest, valid = held_out(len(values), stream=stream.child("held out"))
    lessons = Lessons(
        Labelled(latents[rest], values[rest]), Labelled(latents[valid], values[valid]), int(values.max()) + 1, similar
    )
    lessons.refuse_unfit(settings.objective)
    r = Representation(latents.shape[1], settings.widths, stream=stream.child("weights"))
    reconstructs = settings.objective.lambda3 > 0
    model = Producer(r, lessons.num_classes, reconstructs=reconstructs, stream=stream.child("helpers"))
    trainee = ProducerTrainee(model.to(usable(compute.device)), lessons, settings, stream)
    train(trainee, epochs(settings.epochs, trainee.batches, settings.learning_rate, settings.decay), compute=compute)
    return r.to(torch.device("cpu")).eval().requires_grad_(False)
