"""Smoothed modular certificates: the producer certifies that similar people are mapped close together, the consumer
that nearby representations get the same class. [Paper, Alg. 1; docs/mathematics.md#centre-smoothing]

Let d_cs bound how far the smoothed representations of similar people can be from this person's, and let the smoothed
classifier keep its class within d_rs of it. Then everybody similar gets the same class if d_cs < d_rs. This fails with
probability at most α₂ + α_rs over the draws made here, for all similar people at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.method import People, Shape, SmoothedMethod, Subject, figure
from lassi.certify.smoothed.centre import draw_noise, smoothed_centre
from lassi.certify.smoothed.classes import (
    SmoothedClass,
    linear_two_classes,
    noisy_classes,
    predicted_class,
    smoothed_class,
)
from lassi.certify.smoothed.producer import (
    PURPOSE,
    Produced,
    produced,
    refuse_own_directions,
    refuse_quadrature_along_several,
    walks,
)
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.similarity.sets import SimilaritySet

if TYPE_CHECKING:
    from lassi.certify.settings import Certification

NAME = "smoothed-modular"


@dataclass(frozen=True)
class ModularPlan:
    """How R is smoothed along S(x), and how C is smoothed around the centre."""

    centres: CentreSmoothing
    classes: ClassSmoothing


class SmoothedModular(SmoothedMethod[ModularPlan]):
    """The paper's certificate."""

    name = NAME
    title = "smoothed, modular"
    meaning = (
        "The paper's own certificate, for a smoothed model that answers by majority vote over small random changes. "
        "The producer, who trains the representation, bounds how far apart similar people can be (d_cs). The "
        "consumer, who trains a classifier on it, bounds how far apart they may be without getting a different answer "
        "(d_rs). Each certifies separately. It relies on samples, so it can be wrong, but only with the small "
        "probability stated."
    )
    checks_end_points = True

    def plan(self, settings: "Certification", radius: float, sigma_rs: float) -> ModularPlan:
        return ModularPlan(settings.centres(radius), settings.classes(sigma_rs))

    def refuse_infeasible(self, plan: ModularPlan, shape: Shape) -> None:
        refuse_quadrature_along_several(plan.centres, shape.directions)
        plan.centres.refuse_infeasible(shape.radius, shape.dim)

    def alpha(self, plan: ModularPlan) -> float:
        return plan.centres.alpha_at_x + plan.classes.alpha

    def expected_abstention(self, plan: ModularPlan) -> float:
        return plan.centres.expected_abstention()

    def certify(self, subject: Subject, people: People, plan: ModularPlan) -> list[Certificate]:
        parts = self._produced(subject, people, plan)
        return consumed(subject.model, parts, people.numbers, subject.similar, plan, seed=subject.seed)

    def _produced(self, subject: Subject, people: People, plan: ModularPlan) -> list[Produced | None]:
        """The producer's parts: those already known, and the others, which are then remembered."""
        refuse_own_directions(subject.similar)
        plan.centres.refuse_infeasible(subject.similar.radius, subject.model.representation.widths[-1])
        known, model, similar = subject.known, subject.model, subject.similar
        if known is None:
            return produced(model, people.z, people.numbers, similar, plan.centres, seed=subject.seed)
        missing = people.at([row for row, person in enumerate(people.numbers) if person not in known])
        if len(missing):
            parts = produced(model, missing.z, missing.numbers, similar, plan.centres, seed=subject.seed)
            for person, part in zip(missing.numbers, parts, strict=True):
                known[person] = part
        return [known[person] for person in people.numbers]

    def stricter(self, plan: ModularPlan, beta: float) -> ModularPlan:
        # Half of α_cs is spent at a similar person, besides (½ − Δ)^k, which no α changes; the rest is the class's.
        left = max(beta - plan.centres.missed, 1e-90)
        centres = replace(plan.centres, alpha=min(plan.centres.alpha, left))
        return ModularPlan(centres, replace(plan.classes, alpha=min(plan.classes.alpha, left / 2)))

    def predict(
        self, subject: Subject, people: People, plan: ModularPlan, *, place: str = "predict"
    ) -> list[int | None]:
        stream = Stream(subject.seed, PURPOSE).child(place)
        return predict_modular(subject.model, people.z, people.numbers, subject.similar, plan, stream=stream)

    def _surplus(self, certificate: Certificate) -> float:
        return figure(certificate, "class_radius") - figure(certificate, "centre_radius")

    def radii(self, certificate: Certificate) -> tuple[float, float] | None:
        d_cs, d_rs = certificate.figures["centre_radius"], certificate.figures["class_radius"]
        return (d_cs, d_rs) if d_cs is not None and d_rs is not None and d_rs > 0 else None


def certify_modular(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, plan: ModularPlan, *, seed: int
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers; a person's draws depend only on seed and number."""
    return SmoothedModular().certify(Subject(model, similar, seed), People(z, people), plan)


def consumed(
    model: Model,
    parts: Sequence[Produced | None],
    people: Sequence[int],
    similar: SimilaritySet,
    plan: ModularPlan,
    *,
    seed: int,
) -> list[Certificate]:
    """The certificates of people, from the producer's parts."""
    found = []
    for person, part in zip(people, parts, strict=True):
        stream = Stream(seed, PURPOSE).at(person)
        smoothed = None if part is None else _class_at(model, part.r, plan, stream)
        outcome, predicted = _outcome(part, smoothed)
        alpha = plan.centres.alpha_at_x + (plan.classes.alpha if smoothed is None else smoothed.alpha)
        figures = _figures(part, smoothed, plan, similar.dropped)
        found.append(Certificate(person, NAME, outcome, predicted, similar.radius, alpha, figures, seed=seed))
    return found


def _class_at(model: Model, r: Tensor, plan: ModularPlan, stream: Stream) -> SmoothedClass:
    if plan.centres.quadrature and (exact := linear_two_classes(model.classifier, r)) is not None:
        return exact
    sample = noisy_classes(model.classifier, r, plan.classes.sigma)
    return smoothed_class(sample, plan.classes, stream=stream.child("class"))


def _outcome(part: Produced | None, smoothed: SmoothedClass | None) -> tuple[Outcome, int | None]:
    if part is None or smoothed is None or smoothed.abstains:
        return Outcome.ABSTAINED, None
    return (Outcome.CERTIFIED if part.radius < smoothed.radius else Outcome.NOT_CERTIFIED), smoothed.label


def _figures(
    part: Produced | None, smoothed: SmoothedClass | None, plan: ModularPlan, dropped: float
) -> dict[str, float | int | None]:
    return {
        "sigma_cs": plan.centres.sigma,
        "sigma_rs": plan.classes.sigma,
        "centre_radius": None if part is None or part.radius == float("inf") else part.radius,  # JSON has no ∞
        "class_radius": None if smoothed is None else smoothed.radius,
        "alpha_elsewhere": plan.centres.alpha_elsewhere,
        "dropped": dropped,
    }


def predict_modular(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, plan: ModularPlan, *, stream: Stream
) -> list[int | None]:
    """The classes predicted by the smoothed model that is certified; None where it abstains."""
    refuse_own_directions(similar)
    streams = [stream.at(person) for person in people]
    draws = [draw_noise(plan.centres, similar.rank, stream=own) for own in streams]
    found: list[int | None] = []
    for own, walk, drawn in zip(streams, walks(model, z, similar, draws, plan.centres), draws, strict=True):
        centre = smoothed_centre(walk, drawn, plan.centres, None)
        found.append(None if centre is None else _predicted(model, walk.base + centre.move.double(), plan, own))
    return found


def _predicted(model: Model, r: Tensor, plan: ModularPlan, stream: Stream) -> int | None:
    """The class of the smoothed classifier at a centre."""
    if plan.centres.quadrature and (exact := linear_two_classes(model.classifier, r)) is not None:
        return None if exact.abstains else exact.label
    sample = noisy_classes(model.classifier, r, plan.classes.sigma)
    return predicted_class(sample, plan.classes.samples0, plan.classes.alpha, stream=stream.child("class"))
