"""Small models and people whose truth is known, for checking the program itself."""

import math

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.consumer.classifier import Classifier, from_linear
from lassi.representation.network import Representation
from lassi.similarity.sets import SimilaritySet

LATENT_DIM = 24


def random_model(seed: int, *, classes: int = 3) -> Model:
    """A network with random weights and BatchNorm statistics."""
    stream = Stream(seed, "selftest/model")
    r = Representation(LATENT_DIM, (32, 24, 8), stream=stream)
    with torch.no_grad(), stream.child("norms").global_torch():
        for norm in r.norms:
            assert norm.running_mean is not None
            assert norm.running_var is not None
            norm.running_mean.normal_(0, 0.2)
            norm.running_var.uniform_(0.2, 1)
    classifier = Classifier(8, classes, stream=stream.child("classifier"))
    return Model(r.eval().requires_grad_(False), classifier.eval().requires_grad_(False))


def linear_model(seed: int) -> Model:
    """R and C without a ReLU and with two classes, so that every certificate has a truth in closed form."""
    stream = Stream(seed, "selftest/linear")
    r = Representation(LATENT_DIM, (4,), stream=stream)
    generator = stream.child("classifier").torch()
    weight = torch.randn(2, 4, generator=generator)
    return Model(r.eval().requires_grad_(False), from_linear(weight, torch.zeros(2)))


def people(seed: int, count: int) -> Tensor:
    """Latents ``(count, q)``."""
    return torch.randn(count, LATENT_DIM, generator=Stream(seed, "selftest/people").torch())


def similar_set(seed: int, directions: int, length: float) -> SimilaritySet:
    """Random directions of about this length."""
    generator = Stream(seed, "selftest/directions").torch()
    vectors = torch.randn(LATENT_DIM, directions, generator=generator)
    return SimilaritySet(length * vectors / math.sqrt(LATENT_DIM), 1.0)


def true_surplus(model: Model, z: Tensor, similar: SimilaritySet) -> Tensor:
    """The least margin of each person's class over S(x), ``(B,)``: |m(z)| − ε ‖Aᵀ∇m‖ for a linear model."""
    origin = model.networks(torch.zeros(1, LATENT_DIM, dtype=torch.float64))[0]
    maps = model.networks(torch.eye(LATENT_DIM, dtype=torch.float64)) - origin  # (q, 2)
    gradient = maps[:, 0] - maps[:, 1]
    margins = z.double() @ gradient + origin[0] - origin[1]
    return margins.abs() - similar.radius * (similar.directions.double().T @ gradient).norm()
