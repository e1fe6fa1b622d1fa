"""Smoothed joint certificates: for the model smoothed over the coefficients, and for any image classifier.

The smoothed model answers argmax_c P(C(g_z(t)) = c), t ~ N(0, σ²). It gives everybody similar the same class if
σΦ⁻¹(p_A) > ε; this fails with probability at most α over the draws, for all similar people at once.
[docs/mathematics.md#joint-smoothing]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.base.workers import chunks
from lassi.certify.along.model import Model
from lassi.certify.along.polyline import Polyline
from lassi.certify.along.shells import Shells, shells_of
from lassi.certify.along.tiles import along_in_tiles
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.method import People, Shape, SmoothedMethod, Subject, figure
from lassi.certify.smoothed.classes import Sampler, predicted_class, smoothed_class, sure_classes
from lassi.certify.smoothed.producer import refuse_own_directions
from lassi.certify.smoothed.settings import ClassSmoothing
from lassi.consumer.classifier import Classifier
from lassi.representation.network import Along
from lassi.similarity.sets import SimilaritySet

if TYPE_CHECKING:
    from lassi.certify.settings import Certification

NAME = "smoothed-joint"
PURPOSE = "certify/joint"  # of the draws
CHUNK = 4096  # samples at a time
OUTER = 5.5  # σ; the few draws beyond it go through the whole network

Classes = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class JointPlan:
    """How the classes of C∘R are smoothed over the coefficients."""

    classes: ClassSmoothing


class SmoothedJoint(SmoothedMethod[JointPlan]):
    """Randomised smoothing of the whole model, over t."""

    name = NAME
    title = "smoothed, joint"
    meaning = (
        "A certificate for the representation and the classifier together, smoothed over the sensitive attributes "
        "themselves. It usually proves more than the modular one, but the producer and the consumer can no longer "
        "certify separately. It relies on samples, so it can be wrong, but only with the small probability stated."
    )

    def plan(self, settings: "Certification", radius: float, sigma_rs: float) -> JointPlan:  # noqa: ARG002
        return JointPlan(settings.classes(settings.sigma_cs * radius))

    def refuse_infeasible(self, plan: JointPlan, shape: Shape) -> None:
        plan.classes.refuse_infeasible(shape.radius)

    def alpha(self, plan: JointPlan) -> float:
        return plan.classes.alpha

    def certify(self, subject: Subject, people: People, plan: JointPlan) -> list[Certificate]:
        return certify_joint(subject.model, people.z, people.numbers, subject.similar, plan.classes, seed=subject.seed)

    def stricter(self, plan: JointPlan, beta: float) -> JointPlan:
        return JointPlan(replace(plan.classes, alpha=min(plan.classes.alpha, beta)))

    def predict(self, subject: Subject, people: People, plan: JointPlan, *, place: str = "predict") -> list[int | None]:
        stream = Stream(subject.seed, PURPOSE).child(place)
        return predict_joint(subject.model, people.z, people.numbers, subject.similar, plan.classes, stream=stream)

    def _surplus(self, certificate: Certificate) -> float:
        return figure(certificate, "class_radius") - certificate.radius


def certify_joint(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, settings: ClassSmoothing, *, seed: int
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers."""
    refuse_own_directions(similar)
    settings.refuse_infeasible(similar.radius)
    samplers = _samplers(model, z, similar, settings.sigma)
    return [_certify(sample, person, similar, settings, seed) for person, sample in zip(people, samplers, strict=True)]


def predict_joint(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, settings: ClassSmoothing, *, stream: Stream
) -> list[int | None]:
    """The classes predicted by the smoothed model; None where it abstains."""
    refuse_own_directions(similar)
    samplers = _samplers(model, z, similar, settings.sigma)
    return [
        predicted_class(sample, settings.samples0, settings.alpha, stream=stream.at(person))
        for person, sample in zip(people, samplers, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class BlackBox:
    """Any image classifier F, seen through the decoder: t ↦ F(D(z + A t)).

    Args:
        classify: images ``(B, C, H, W)`` to classes ``(B,)``.
        decode: latents to images.
        num_classes: K.
        chunk: pictures at a time, which bounds the memory.
    """

    classify: Classes
    decode: Callable[[Tensor], Tensor]
    num_classes: int
    chunk: int = 64

    @torch.no_grad()
    def classes_at(self, similar: SimilaritySet, z: Tensor, t: Tensor) -> Tensor:
        """The classes of people similar to one person ``(q,)``, at t ``(N, n)``."""
        return self.classify(self.decode(similar.move_along(z[None], t.to(z))[0]))


def certify_black_box(
    box: BlackBox, z: Tensor, people: Sequence[int], similar: SimilaritySet, settings: ClassSmoothing, *, seed: int
) -> list[Certificate]:
    """The same for any image classifier, without retraining it."""
    refuse_own_directions(similar)
    settings.refuse_infeasible(similar.radius)
    found = []
    for person, own in zip(people, z, strict=True):
        classes = partial(box.classes_at, similar, own)
        sample = _counted(classes, similar.num_directions, settings.sigma, box.num_classes, box.chunk)
        found.append(_certify(sample, person, similar, settings, seed))
    return found


def _certify(sample: Sampler, person: int, similar: SimilaritySet, settings: ClassSmoothing, seed: int) -> Certificate:
    found = smoothed_class(sample, settings, stream=Stream(seed, PURPOSE).at(person), needed=similar.radius)
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
    return Certificate(person, NAME, outcome, predicted, similar.radius, found.alpha, figures, seed=seed)


def _samplers(model: Model, z: Tensor, similar: SimilaritySet, sigma: float) -> list[Sampler]:
    """For each person, draws of the class at t ~ N(0, σ²)."""
    ways: list[Classes]
    if not isinstance(model.classifier, Classifier):
        # Along all directions: such a classifier can jump, so the effect of a dropped direction has no bound.
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
    """Classes at coefficients ``(N, 1)``: from the polyline within the reach, from the whole network beyond it."""
    beyond = t[:, 0].abs() > reach
    logits = line.base + line.at(t[:, 0].clamp(-reach, reach))
    if beyond.any():
        logits[beyond] = whole(t[beyond][None])[0]
    return sure_classes(logits, 3 * line.slack + dropped)


def _counted(classes: Classes, n: int, sigma: float, num_classes: int, chunk: int = CHUNK) -> Sampler:
    """Draws t ~ N(0, σ²) and counts the classes there, chunk by chunk; the draws do not depend on the chunk size."""

    def sample(count: int, stream: Stream) -> Tensor:
        generator = stream.numpy()
        totals = torch.zeros(num_classes, dtype=torch.int64)
        for drawn in chunks(count, CHUNK):
            t = sigma * torch.from_numpy(generator.standard_normal((len(drawn), n)))
            for part in chunks(len(t), chunk):
                found = torch.bincount(classes(t[part.start : part.stop]), minlength=num_classes)
                totals += found[:num_classes]  # the rest have no certain class
        return totals

    return sample
