"""Exact joint certificates along one direction: the margins at all kinks of C∘R along the segment.

The outcome is certified or a counterexample, unless the least margin is within the slack, a computed bound on all
rounding errors.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from lassi.certify.along.model import Model, margins_of
from lassi.certify.along.polyline import Polyline
from lassi.certify.certificate import Certificate, Counterexample, Outcome
from lassi.certify.exact.confirm import confirmed
from lassi.certify.proof import Proof, Vector
from lassi.similarity.sets import SimilaritySet

NAME = "exact-joint"


def certify_segments(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    *,
    limit: float | None = None,
    proofs: dict[int, Proof] | None = None,
) -> list[Certificate]:
    """Certificates of people ``(B, q)`` along one direction.

    Args:
        people: their numbers.
        limit: how far to search for ``flip``, at least ε; by default ε.
        proofs: if given, it receives everybody's knots.
    """
    assert similar.rank == 1, "along one direction"
    reach = max(similar.radius, limit or similar.radius)
    lines = model.joint_tracer(z, similar.basis64, reach)
    dropped = model.joint_tracer.errors.carried(similar.dropped * reach / similar.radius)
    lines = [replace(line, slack=line.slack + dropped) for line in lines]
    if proofs is not None:
        proofs.update(knots_of(people, lines, similar))
    found = [_certificate(model, person, similar, line) for person, line in zip(people, lines, strict=True)]
    return confirmed(model, z, similar, found)


def _certificate(model: Model, person: int, similar: SimilaritySet, logits: Polyline) -> Certificate:
    radius = similar.radius
    predicted = int(logits.base.argmax())
    rows = margins_of(predicted, model.num_classes, logits.base)
    margins = logits.then(rows, logits.base.new_zeros(len(rows)))
    slack = margins.slack.max().item()
    if not (math.isfinite(slack) and margins.values.isfinite().all()):
        return Certificate(person, NAME, Outcome.UNDECIDED, predicted, radius, flip=0.0)  # overflow
    t, least = least_within(margins, radius)
    example = None
    if margins.base.min() <= slack:  # the person's own class is within rounding
        outcome = Outcome.UNDECIDED
    elif least > slack:
        outcome = Outcome.CERTIFIED
    elif least >= -slack:
        outcome = Outcome.UNDECIDED
    else:
        outcome = Outcome.COUNTEREXAMPLE
        v = logits.t.new_tensor([t])
        along = tuple(similar.along_directions(v).tolist())
        example = Counterexample(along, int((logits.base + logits.at(v)[0]).argmax()))
    figures = {"margin": least, "slack": slack, "kinks": len(logits.t) - 3, "searched": logits.t[-1].item()}
    flip = first_below(margins, slack)
    return Certificate(person, NAME, outcome, predicted, radius, figures=figures, flip=flip, counterexample=example)


def knots_of(people: Sequence[int], lines: Sequence[Polyline], similar: SimilaritySet) -> dict[int, Proof]:
    """The proofs of people along one direction: the knots of their polylines."""
    span = span_of(similar)
    return {person: Proof(tuple(line.t.tolist()), span=span) for person, line in zip(people, lines, strict=True)}


def span_of(similar: SimilaritySet) -> tuple[Vector, ...] | None:
    """V for a proof; None where coefficients are t itself."""
    if similar.rank == similar.num_directions:
        return None
    rows = similar.along_directions(torch.eye(similar.rank, dtype=torch.float64)).T  # (n, r)
    return tuple(tuple(row) for row in rows.tolist())


def least_within(margins: Polyline, radius: float) -> tuple[float, float]:
    """The point of [−radius, radius] where the margin over any rival is least, and that margin."""
    inside = margins.t.abs() <= radius
    t = torch.cat([margins.t[inside], margins.t.new_tensor([-radius, radius])])
    least = (margins.at(t) + margins.base).amin(1)
    which = int(least.argmin())
    return t[which].item(), least[which].item()


def first_below(margins: Polyline, slack: float) -> float | None:
    """The least |t| at which a margin is down to the slack; everybody up to there gets the person's class.

    None if that does not happen on the segment.
    """
    values = margins.values - slack  # (P, K − 1)
    found = math.inf
    for t, side in ((margins.t, values), (-margins.t.flip(0), values.flip(0))):
        start = int((t >= 0).nonzero()[0, 0])
        t, side = t[start:], side[start:]
        below = (side <= 0).any(1).nonzero()
        if len(below):
            found = min(found, _crossing(t, side, int(below[0, 0])))
    return None if math.isinf(found) else found


def _crossing(t: Tensor, values: Tensor, knot: int) -> float:
    """The least t on the piece before a knot at which a value is 0, rounded down."""
    if knot == 0:
        return 0.0
    before, after = values[knot - 1], values[knot]
    falling = after <= 0
    share = (before[falling] / (before[falling] - after[falling])).min()
    return max(0.0, (t[knot - 1] + share * (t[knot] - t[knot - 1])).item() * (1 - 1e-12))
