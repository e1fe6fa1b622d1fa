"""Exact modular certificates: the farthest R moves similar people, against the distance within which C, linear, keeps
its class.

d_max is what a producer can publish without randomness: any linear classifier whose distance to its decision boundary
exceeds it treats all similar people alike. [docs/mathematics.md#exact-modular-certificates]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.certify.along.model import Model
from lassi.certify.along.polyline import Polyline
from lassi.certify.along.reduced import Reduced
from lassi.certify.along.relaxation import least_on_ball, lower_bounds
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.segments import knots_of
from lassi.certify.method import Method, People, Shape, Subject, figure
from lassi.certify.proof import Proof
from lassi.certify.smoothed.classes import exact_radius
from lassi.consumer.classifier import Classifier
from lassi.similarity.sets import SimilaritySet

if TYPE_CHECKING:
    from lassi.certify.settings import Certification

NAME = "exact-modular"


@dataclass(frozen=True)
class NoPlan:
    """There is nothing to choose."""


class ExactModular(Method[NoPlan]):
    """Compares the farthest R moves similar people with the distance within which a linear C keeps its class."""

    name = NAME
    title = "exact, modular"
    meaning = (
        "A certificate without sampling, split between producer and consumer: the producer computes how far apart "
        "similar people can be, and the consumer the distance within which its linear classifier keeps its answer. "
        "Always right, up to a rounding error that is itself bounded."
    )

    def plan(self, settings: "Certification", radius: float, sigma_rs: float) -> NoPlan:  # noqa: ARG002
        return NoPlan()

    def refuse_infeasible(self, plan: NoPlan, shape: Shape) -> None:  # noqa: ARG002
        if not shape.is_linear:
            raise _not_linear()

    def certify(self, subject: Subject, people: People, plan: NoPlan) -> list[Certificate]:  # noqa: ARG002
        return certify_exact_modular(subject.model, people.z, people.numbers, subject.similar, proofs=subject.proofs)

    def _surplus(self, certificate: Certificate) -> float:
        return figure(certificate, "class_radius") - figure(certificate, "d_max")


def _not_linear() -> UserError:
    return UserError(
        "Exact modular certificates need a linear classifier.", hint="Choose exact-joint, or a linear classifier."
    )


def certify_exact_modular(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    *,
    proofs: dict[int, Proof] | None = None,
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers.

    Args:
        proofs: if given, it receives the knots of R along one direction; several need no proof.
    """
    if not (isinstance(model.classifier, Classifier) and model.classifier.is_linear):
        raise _not_linear()
    found = []
    for person, (r, off, d_max) in zip(people, farthest(model, z, similar, people, proofs), strict=True):
        radius, label = exact_radius(model.classifier, r, off)
        outcome = Outcome.CERTIFIED if d_max < radius else Outcome.NOT_CERTIFIED
        figures = {"d_max": d_max, "class_radius": radius}
        found.append(Certificate(person, NAME, outcome, label, similar.radius, figures=figures))
    return found


def farthest(
    model: Model,
    z: Tensor,
    similar: SimilaritySet,
    people: Sequence[int] = (),
    proofs: dict[int, Proof] | None = None,
) -> list[tuple[Tensor, Tensor, float]]:
    """R(z) of each person, how far off it can be, and a bound on how far R moves similar people.

    For one direction the bound is exact up to its slack.

    Args:
        people: their numbers, under which ``proofs`` receives their knots along one direction.
    """
    if similar.rank == 1:
        lines = model.tracer(z, similar.basis64, similar.radius)
        found = [_on_polyline(line) for line in lines]
        dropped = model.tracer.errors.carried(similar.dropped)
        if proofs is not None:
            proofs.update(knots_of(people, lines, similar))
    else:
        found = [_on_ball(network) for network in model.reducer(z, similar.basis64, similar.radius)]
        dropped = model.reducer.errors.carried(similar.dropped)
    return [(r, off, d_max + dropped.norm().item()) for r, off, d_max in found]


def _on_polyline(line: Polyline) -> tuple[Tensor, Tensor, float]:
    """|g(t) − g(0)| is convex on a piece, so it is largest at a knot; the slack covers rounding and misplaced kinks."""
    most = line.moves.norm(dim=1).max() * (1 + 1e-12)
    return line.base, line.slack, (most + 2 * line.slack.norm()).item()


def _on_ball(network: Reduced) -> tuple[Tensor, Tensor, float]:
    """Each coordinate lies between two linear functions of t; the farthest corner of the resulting box."""
    base = network(network.out.new_zeros(1, network.n))[0]
    ranges = [(block.low, block.high) for block in network.blocks]
    low = least_on_ball(lower_bounds(network.out, network.blocks, ranges), network.radius)
    high = -least_on_ball(lower_bounds(-network.out, network.blocks, ranges), network.radius)
    most = torch.maximum(high - base, base - low) + 2 * network.error
    return base, network.error, most.norm().item() * (1 + 1e-12)
