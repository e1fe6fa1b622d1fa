"""The exact joint certificate: along one direction by its kinks, along several by branch and bound."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lassi.certify.certificate import Certificate
from lassi.certify.exact.balls import certify_balls, largest_radius
from lassi.certify.exact.segments import NAME, certify_segments
from lassi.certify.method import Method, People, Subject, figure

if TYPE_CHECKING:
    from lassi.certify.settings import Certification

FLIPS_UP_TO = 3  # directions; beyond that, the largest radius is not searched for


@dataclass(frozen=True)
class Search:
    """How far and how long to search.

    Args:
        flip: how far to search for a change of class, in multiples of the radius.
        max_boxes: the budget along several directions.
    """

    flip: float
    max_boxes: int


class ExactJoint(Method[Search]):
    """C∘R itself, with its stored weights in real arithmetic."""

    name = NAME
    version = 2
    title = "exact"
    meaning = (
        "A certificate for the plain model, without sampling: it proves that everybody similar gets the same answer, "
        "or shows a similar person who does not. Always right, up to a rounding error that is itself bounded. Along "
        "many directions the search can run out of budget; then the person stays undecided."
    )
    decides = True
    states_flips = True

    def plan(self, settings: "Certification", radius: float, sigma_rs: float) -> Search:  # noqa: ARG002
        return Search(settings.flip, settings.max_boxes)

    def within(self, plan: Search) -> Search:
        return replace(plan, flip=1.0)

    def certify(self, subject: Subject, people: People, plan: Search) -> list[Certificate]:
        model, similar = subject.model, subject.similar
        limit = plan.flip * similar.radius
        if similar.rank == 1:
            return certify_segments(model, people.z, people.numbers, similar, limit=limit, proofs=subject.proofs)
        boxes = plan.max_boxes
        found = certify_balls(model, people.z, people.numbers, similar, max_boxes=boxes, proofs=subject.proofs)
        if plan.flip <= 1 or similar.rank > FLIPS_UP_TO:
            return found
        radii = largest_radius(model, people.z, similar, limit=limit, max_boxes=boxes)
        flips = [None if radius == limit else radius for radius in radii]
        return [replace(certificate, flip=flip) for certificate, flip in zip(found, flips, strict=True)]

    def _surplus(self, certificate: Certificate) -> float:
        margin = figure(certificate, "margin")
        # The search over boxes stores a bound that already has the slack subtracted.
        return margin if "boxes" in certificate.figures else margin - figure(certificate, "slack")
