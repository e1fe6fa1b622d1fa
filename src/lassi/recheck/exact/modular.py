"""Exact modular certificates: how far R moves similar people, and how far R(z) is from the boundary of a linear C."""

from dataclasses import replace

import numpy as np

from lassi.recheck.exact.arithmetic import Row, arb, arb_mat, least, norm
from lassi.recheck.exact.case import RELATIVE, Case
from lassi.recheck.exact.network import Along
from lassi.recheck.exact.regions import Ball
from lassi.recheck.exact.relaxation import Reduced
from lassi.recheck.exact.segments import Traced, find_knots, trace, with_ends, without_proof
from lassi.recheck.exact.verdict import Enclosure, Verdict, contradicted, short, unproven

HUGE = 1e300
LOOSE = 1e-3  # by how much figures may be on the safe side; representations have the scale 1


def check_modular(case: Case) -> Verdict:
    """Whether no similar person's representation is farther than d_max, and C keeps its class that far."""
    if len(case.model.classifier) != 1:
        return contradicted("The classifier is not linear, so distances to its boundary are not known.")
    along = case.similar.along(case.model.representation, case.span)
    start = along.start(case.z)
    base = [row[0] for row in along.at(start, np.zeros((along.dim, 1)))]
    distance = _to_boundary(case, base)
    if distance.high < 0:
        return contradicted(f"The person's own class is not {case.predicted}.")
    if not distance.low > 0:
        return unproven("The person's own class is within rounding of another.")
    d_max, radius = case.figure("d_max"), case.figure("class_radius")
    if not d_max < radius:
        return contradicted(f"It is certified, although d_max is {short(d_max)} and the radius only {short(radius)}.")
    if radius * (1 - RELATIVE) > distance.high:
        return contradicted(f"The boundary is {short(distance.high)} away, not {short(radius)} as claimed.")
    if distance.low - radius > LOOSE * (1 + distance.low):
        return contradicted(
            f"The boundary is {short(distance.low)} away: a distance of {short(radius)} is not this one."
        )
    if along.dim == 1:
        return _on_segment(case, along, start)
    reduced = Reduced.of(along, start, case.radius)
    return _judged(case, _on_ball(case, along, reduced, base), distance, is_unsure=reduced.has_tie)


def _judged(case: Case, moved: Enclosure, distance: Enclosure, *, is_unsure: bool) -> Verdict:
    """What follows for the claims from what is known about how far R moves similar people.

    Args:
        is_unsure: whether the search may have found something else than what is known here.
    """
    d_max = case.figure("d_max")
    if moved.low * (1 - RELATIVE) > d_max:
        return moved.contradicted(f"R moves a similar person by {short(moved.low)}, not at most {short(d_max)}.")
    if not moved.high * (1 - RELATIVE) <= d_max:
        why = f"R is proven to move nobody by more than {short(moved.high)}, not {short(d_max)} as claimed."
        return moved.unproven(why) if is_unsure else moved.contradicted(why)
    is_comparable = not is_unsure and case.similar.own_span is None  # otherwise d_max has a part that is not known here
    if is_comparable and d_max - moved.high > LOOSE * (1 + moved.high):
        return moved.contradicted(f"R moves nobody by more than {short(moved.high)}: {short(d_max)} is not this bound.")
    if not (moved.high < distance.low and case.figure("class_radius") * (1 - RELATIVE) <= distance.low):
        return moved.unproven("The distances are within rounding of each other.")
    return moved.confirmed(
        f"R moves nobody by more than {short(moved.high)}; the boundary is {short(distance.low)} away."
    )


def _to_boundary(case: Case, base: Row) -> Enclosure:
    """How far a representation is from where C changes its class; negative if it has another class already."""
    (linear,) = case.model.classifier
    rows, biases = linear.weight.tolist(), linear.bias.entries()
    below, above = [], []
    for label in range(case.model.num_classes):
        if label != case.predicted:
            normal = [own - other for own, other in zip(rows[case.predicted], rows[label], strict=True)]
            lead = sum((a * b for a, b in zip(normal, base, strict=True)), biases[case.predicted] - biases[label])
            length = norm(normal)
            away = lead / length if length > 0 else lead * HUGE  # two classes with the same weights have no boundary
            below.append(away.lower())
            above.append(away.upper())
    return Enclosure(least(below), least(above))


def _on_segment(case: Case, along: Along, start: arb_mat) -> Verdict:
    """Along one direction: by the proof's knots, or by our own."""
    kept = find_knots(along, start, case.radius) if case.proof is None else case.proof.knots
    if not kept or min(kept) > -case.radius or max(kept) < case.radius:
        return contradicted(f"The knots of the proof do not cover [−{short(case.radius)}, {short(case.radius)}].")
    traced = trace(along, start, with_ends(kept, case.radius))
    is_guess = case.proof is None and case.similar.num_directions > 1  # the search may not have used a span
    base = [row[list(traced.knots).index(0.0)] for row in traced.values]
    verdict = _judged(case, _farthest(traced, base, case.radius), _to_boundary(case, base), is_unsure=is_guess)
    if verdict.is_confirmed or case.proof is None:
        return verdict
    return without_proof(case, along, start, _on_segment)


def _farthest(traced: Traced, base: Row, radius: float) -> Enclosure:
    """How far the outputs move from t = 0: on a straight piece no farther than at its ends."""
    rest = radius * norm(traced.rest)
    lengths = [_length(at, base) for at in _columns(traced.values)]
    ends = [length.upper() for length in lengths]
    pieces = zip(ends, ends[1:], _columns(traced.errors), strict=False)
    far = [(max(left, right) + norm(errors) + rest).upper() for left, right, errors in pieces]
    return Enclosure((max(length.lower() for length in lengths) - rest).lower(), -least([-number for number in far]))


def _length(values: Row, base: Row) -> arb:
    return norm([value - own for value, own in zip(values, base, strict=True)])


def _columns(rows: list[Row]) -> list[Row]:
    return [list(column) for column in zip(*rows, strict=True)]


def _on_ball(case: Case, along: Along, reduced: Reduced, base: Row) -> Enclosure:
    """Along several directions: every output lies between two linear functions, and some points are tried."""
    count = len(base)
    both = [*reduced.outputs, *([-entry for entry in row] for row in reduced.outputs)]
    bounds, _ = replace(reduced, outputs=both).least(Ball(case.radius))
    reach = [
        (-minus_high - own).max(own - low)
        for low, minus_high, own in zip(bounds[:count], bounds[count:], base, strict=True)
    ]
    rest = case.radius * norm(along.rest)
    axes = case.radius * (1 - 1e-12) * np.eye(along.dim)
    points = along.at(along.start(case.z), np.concatenate([axes, -axes], 1))
    tried = [_length(at, base) for at in _columns(points)]
    return Enclosure((max(length.lower() for length in tried) - rest).lower(), (norm(reach) + rest).upper())
