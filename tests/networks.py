"""Networks to certify, small and random."""

from collections.abc import Sequence

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.method import People, Subject
from lassi.certify.people import Certifier
from lassi.certify.settings import Certification
from lassi.consumer.classifier import Classifier, from_linear
from lassi.representation.network import Representation
from lassi.similarity.sets import SimilaritySet


def random_model(
    seed: int, widths: Sequence[int] = (32, 24, 12), classes: int = 2, hidden: Sequence[int] = (), q: int = 20
) -> Model:
    """A representation with BatchNorms that have seen something, and a classifier."""
    stream = Stream(seed, "test/model")
    r = Representation(q, widths, stream=stream.child("r"))
    generator = stream.child("norms").torch()
    for norm in r.norms:
        norm.running_mean = 0.3 * torch.randn(norm.num_features, generator=generator)
        norm.running_var = 0.3 + torch.rand(norm.num_features, generator=generator)
        if norm.affine:
            norm.weight.data = 0.5 + torch.rand(norm.num_features, generator=generator)
            norm.bias.data = 0.3 * torch.randn(norm.num_features, generator=generator)
    c = Classifier(widths[-1], classes, hidden, stream=stream.child("c"))
    r, c = r.eval().requires_grad_(False), c.eval().requires_grad_(False)
    c.linears[-1].bias -= c(r(random_people(seed + 1, 500, q))).mean(0)  # every class has its people
    return Model(r, c)


def plain_model(weights: list[Tensor], biases: list[Tensor], offset: float = 0.0) -> Model:
    """Layers as they are, BatchNorm doing next to nothing; the class is whether the first number exceeds an offset."""
    r = Representation(weights[0].shape[1], [len(bias) for bias in biases], stream=Stream(0, "plain"))
    for linear, weight, bias in zip(r.linears, weights, biases, strict=True):
        linear.weight.data, linear.bias.data = weight, bias
    rows = torch.zeros(2, len(biases[-1]))
    rows[1, 0] = 1.0
    c = from_linear(rows, torch.tensor([0.0, -offset]))
    return Model(r.eval().requires_grad_(False), c.requires_grad_(False))


def random_people(seed: int, count: int = 8, q: int = 20) -> Tensor:
    return torch.randn(count, q, generator=Stream(seed, "test/people").torch())


def random_set(seed: int, n: int = 1, q: int = 20, radius: float = 1.0, length: float = 1.0) -> SimilaritySet:
    directions = torch.randn(q, n, generator=Stream(seed, "test/directions").torch())
    return SimilaritySet(length * directions / directions.norm(dim=0), radius)


def in_ball(n: int, radius: float, count: int = 4000) -> Tensor:
    """Points in the ball, and as many on its rim."""
    inside = SimilaritySet(torch.eye(n), radius).uniform(count, stream=Stream(0, "test/ball")).double()
    return torch.cat([inside, radius * inside / inside.norm(dim=1, keepdim=True)])


def classes_at(model: Model, z: Tensor, similar: SimilaritySet, t: Tensor) -> Tensor:
    """By the unfolded networks, in float64: ``(B, N)`` for coefficients ``(N, n)``."""
    r, c = model.representation.double(), model.classifier.double()
    with torch.no_grad():
        points = z.double()[:, None] + t.double() @ similar.basis.double().T
        found = c(r(points.flatten(0, 1))).argmax(1).view(len(z), len(t))
    r.float(), c.float()
    return found


def certify_some(
    model: Model, people: People, similar: SimilaritySet, method: str, settings: Certification, *, seed: int = 0
) -> list[Certificate]:
    """Certificates of people by the method of a name, for a classifier that was trained with noise 0.5."""
    return Certifier.of(method, Subject(model, similar, seed), settings, sigma_rs=0.5)(people)
