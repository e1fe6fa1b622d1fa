"""Smoothed joint certificates: the model smoothed over the coefficients, class by class, and any classifier of images.

The smoothed model answers argmax_c P(C(g_z(t)) = c), t ~ N(0, σ²). It gives everybody similar the same class if
σΦ⁻¹(p_A) > ε; that fails with probability at most α over the draws, for all similar people at once.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from lassi.base.engine import chunks
from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.along.polyline import Polyline
from lassi.certify.along.shells import Shells, shells_of
from lassi.certify.along.tiles import along_in_tiles
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.smoothed.classes import Sampler, predicted_class, smoothed_class, sure_classes
from lassi.certify.smoothed.modular import refuse_own_directions
from lassi.certify.smoothed.settings import ClassSmoothing
from lassi.consumer.classifier import Classifier
from lassi.representation.network import Along
from lassi.similarity.sets import SimilaritySet

METHOD = "smoothed-joint"
CHUNK = 4096  # samples at a time
OUTER = 5.5  # σ; the few draws beyond go through the whole network

Classes = Callable[[Tensor], Tensor]


def certify_joint(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, settings: ClassSmoothing, *, seed: int
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers."""
    refuse_own_directions(similar)
    settings.refuse_infeasible(similar.radius)
    samplers = _samplers(model, z, similar, settings.sigma)
    return [_certify(sample, person, similar, settings, seed) for person, sample in zip(people, samplers, strict=True)]


def predict_joint(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, settings: ClassSmoothing, *, seed: int
) -> list[int | None]:
    """The classes of the smoothed model; None where it abstains."""
    refuse_own_directions(similar)
    samplers = _samplers(model, z, similar, settings.sigma)
    return [
        predicted_class(sample, settings.samples0, settings.alpha, stream=_stream(seed, person).child("predict"))
        for person, sample in zip(people, samplers, strict=True)
    ]


def certify_black_box(
    classify: Classes,
    decode: Callable[[Tensor], Tensor],
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    settings: ClassSmoothing,
    *,
    num_classes: int,
    seed: int,
    chunk: int = 64,
) -> list[Certificate]:
    """The same for any classifier F of images, by way of t ↦ F(D(z + A t)), with no retraining.

    Args:
        classify: images ``(B, C, H, W)`` to classes ``(B,)``.
        decode: latents to images.
        chunk: pictures at a time, which bounds the memory.
    """
    refuse_own_directions(similar)
    settings.refuse_infeasible(similar.radius)
    found = []
    for person, own in zip(people, z, strict=True):
        way = partial(_by_picture, classify, decode, similar, own)
        sample = _counted(way, similar.num_directions, settings.sigma, num_classes, chunk)
        found.append(_certify(sample, person, similar, settings, seed))
    return found


@torch.no_grad()
def _by_picture(
    classify: Classes, decode: Callable[[Tensor], Tensor], similar: SimilaritySet, z: Tensor, t: Tensor
) -> Tensor:
    return classify(decode(similar.move_along(z[None], t.to(z))[0]))


def _certify(sample: Sampler, person: int, similar: SimilaritySet, settings: ClassSmoothing, seed: int) -> Certificate:
    found = smoothed_class(sample, settings, stream=_stream(seed, person), needed=similar.radius)
    if found.abstains:
        outcome, predicted = Outcome.ABSTAINED, None
    else:
        outcome = Outcome.CERTIFIED if found.radius > similar.radius else Outcome.NOT_CERTIFIED
        predicted = found.label
    figures = {
        "sigma": settings.sigma,
        "p_a": found.p_a,
        "class_radius": found.radius,
        "dropped": similar.dropped,
    }
    return Certificate(person, METHOD, outcome, predicted, similar.radius, found.alpha, figures, seed=seed)


def _samplers(model: Model, z: Tensor, similar: SimilaritySet, sigma: float) -> list[Sampler]:
    """For each person, draws of the class at t ~ N(0, σ²)."""
    ways: list[Classes]
    if not isinstance(model.classifier, Classifier):
        # Along all directions: what a jump of such a classifier makes of one that is dropped has no bound.
        along = along_in_tiles(model.folded_representation, z.double(), similar.directions.double())
        ways = [partial(_by_any, model, along.of(i)) for i in range(len(z))]
        return [_counted(way, similar.num_directions, sigma, model.num_classes) for way in ways]
    dropped = model.joint_reducer.errors.carried(similar.dropped)
    if similar.rank == 1:
        reach = OUTER * sigma
        whole = along_in_tiles(model.networks, z.double(), similar.basis64)
        lines = model.joint_tracer(z, similar.basis64, reach)
        ways = [partial(_on_line, line, dropped, whole.of(i), reach) for i, line in enumerate(lines)]
    else:
        shells = shells_of(model.joint_reducer, z, similar.basis64, sigma)
        ways = [partial(_by_shells, own, dropped) for own in shells]
    return [_counted(way, similar.rank, sigma, model.num_classes) for way in ways]


def _by_any(model: Model, along: Along, t: Tensor) -> Tensor:
    return model.classifier.predict(along(t[None].to(along.c))[0])


def _by_shells(shells: Shells, dropped: Tensor, t: Tensor) -> Tensor:
    return sure_classes(shells.base + shells.moves(t), 2 * shells.error + dropped)


def _on_line(line: Polyline, dropped: Tensor, whole: Along, reach: float, t: Tensor) -> Tensor:
    """Classes at coefficients ``(N, 1)``: within the reach on the polyline, at the few beyond by the whole network."""
    beyond = t[:, 0].abs() > reach
    logits = line.base + line.at(t[:, 0].clamp(-reach, reach))
    if beyond.any():
        logits[beyond] = whole(t[beyond][None])[0]
    return sure_classes(logits, 3 * line.slack + dropped)


def _counted(classes: Classes, n: int, sigma: float, num_classes: int, chunk: int = CHUNK) -> Sampler:
    """Draws of t ~ N(0, σ²) and counts of the classes there, so many at a time; the draws do not depend on how many."""

    def sample(count: int, stream: Stream) -> Tensor:
        generator = stream.numpy()
        totals = torch.zeros(num_classes, dtype=torch.int64)
        for drawn in chunks(count, CHUNK):
            t = sigma * torch.from_numpy(generator.standard_normal((len(drawn), n)))
            for part in chunks(len(t), chunk):
                found = torch.bincount(classes(t[part.start : part.stop]), minlength=num_classes)
                totals += found[:num_classes]  # what is counted beyond is nobody's
        return totals

    return sample


def _stream(seed: int, person: int) -> Stream:
    return Stream(seed, "certify/joint").at(person)
