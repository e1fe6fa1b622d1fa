"""One direction: between two knots, every neuron stays close to the straight line between its values at them.

For t on a piece let x(t) be the input of a ReLU, x_L and x_R its values at the piece's ends. Suppose x is within e of
the line from x_L to x_R. If both ends are at least e, or at most −e, x has one sign and the ReLU passes it or is 0.
Otherwise relu(x) is within e of the ReLU of the line, and that is within |x_L||x_R| / (|x_L| + |x_R|) of the line from
relu(x_L) to relu(x_R) if the signs differ, and on it if not. A linear layer takes values through W and e through |W|.

This needs nothing of the knots. Where one is missing or displaced, e is larger and less is proven.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lassi.recheck.exact.arithmetic import ZERO, Array, Row, arb, arb_mat, floats, least
from lassi.recheck.exact.case import RELATIVE, Case
from lassi.recheck.exact.network import Along
from lassi.recheck.exact.verdict import Enclosure, Status, Verdict, contradicted, short

SHARE_OF_ROUNDING = 1e-6  # of the largest output; float64 is off by some 1e-12


@dataclass(frozen=True, eq=False)
class Traced:
    """A network's outputs along a segment.

    Args:
        knots: increasing, P of them.
        values: the outputs at the knots, a row of P per output.
        errors: how far each output can be from the straight lines between them, a row of P − 1 per output.
        rest: how far each can be from what the span describes, per unit of |t|.
    """

    knots: Sequence[float]
    values: list[Row]
    errors: list[Row]
    rest: Row

    @cached_property
    def rounding(self) -> float:
        """The most by which rounding can put a margin off, whatever slack a certificate claims."""
        return SHARE_OF_ROUNDING * max(float(value.abs_upper()) for row in self.values for value in row)

    def least(self, radius: float) -> Enclosure:
        """The least output on [−radius, radius], whose ends are knots."""
        inside = [number for number, t in enumerate(self.knots) if -radius <= t <= radius]
        first, last = inside[0], inside[-1]
        below, above = [], []
        for values, errors, rest in zip(self.values, self.errors, self.rest, strict=True):
            lows = [value.lower() for value in values[first : last + 1]]
            pieces = zip(lows, lows[1:], errors[first:last], strict=False)
            below += [(min(left, right) - error - radius * rest).lower() for left, right, error in pieces]
            above += [(value + radius * rest).upper() for value in values[first : last + 1]]
        return Enclosure(least(below), least(above))


def trace(along: Along, start: arb_mat, knots: Sequence[float]) -> Traced:
    """The outputs at the knots, and how far they are from straight lines between them."""
    values = along.first(start, arb_mat(1, len(knots), list(knots)))
    errors = arb_mat(values.nrows(), len(knots) - 1)  # the first layer is affine in t
    for later in along.maps[1:]:
        after = [_relu(*row) for row in zip(values.tolist(), errors.tolist(), strict=True)]
        outputs, errors = arb_mat([row for row, _ in after]), arb_mat([row for _, row in after])
        values = later.weight * outputs + later.bias * arb_mat(1, len(knots), [1] * len(knots))
        errors = later.absolute * errors
    return Traced(knots, values.tolist(), errors.tolist(), along.rest)


def _relu(values: Row, errors: Row) -> tuple[Row, Row]:
    """One neuron: its outputs at the knots, and how far it is from straight lines between them."""
    after = []
    for left, right, error in zip(values, values[1:], errors, strict=False):
        if left >= error and right >= error:
            after.append(error)
        elif -left >= error and -right >= error:
            after.append(ZERO)
        else:
            after.append(error + _gap(left, right))
    return [value.nonnegative_part() for value in values], after


def _gap(left: arb, right: arb) -> arb:
    """The most by which the ReLU of a line is below the line between its ends."""
    if (left >= 0 and right >= 0) or (left <= 0 and right <= 0):
        return ZERO
    a, b = left.abs_upper(), right.abs_upper()
    return a * b / (a + b)


def find_knots(along: Along, start: arb_mat, reach: float) -> list[float]:
    """Knots on [−reach, reach] as floats find them: layer by layer, where a neuron changes sign between two knots."""
    t = np.array([-reach, 0.0, reach])
    for depth in range(1, len(along.maps)):
        values = along.rounded(floats(start), t[None], depth)
        t = np.union1d(t, _crossings(t, values))
    return list(t.tolist())


def _crossings(t: Array, values: Array) -> Array:
    """Where values ``(h, P)``, straight between the knots, change sign."""
    left, right = values[:, :-1], values[:, 1:]
    neuron, piece = np.nonzero(np.sign(left) * np.sign(right) < 0)
    a, b = left[neuron, piece], right[neuron, piece]
    return np.asarray(t[piece] + a / (a - b) * (t[piece + 1] - t[piece]))


def check_segment(case: Case, along: Along, start: arb_mat) -> Verdict:
    """Whether the least margin along a segment is the one claimed: by the proof's knots, or by our own."""
    if not case.is_certified and case.certificate.flip is None:
        return contradicted("It has a counterexample, but says that nobody within reach has another class.")
    flip = _claimed_flip(case)
    reach = max(case.radius, flip)
    if case.proof is None:
        knots = find_knots(along, start, reach)
        return _judged(case, trace(along, start, with_ends(knots, case.radius, flip)), flip)
    kept = case.proof.knots
    if not kept or min(kept) > -reach or max(kept) < reach:
        return contradicted(f"The knots of the proof do not cover [−{short(reach)}, {short(reach)}].")
    verdict = _judged(case, trace(along, start, with_ends(kept, case.radius, flip)), flip)
    return verdict if verdict.is_confirmed else without_proof(case, along, start, check_segment)


def without_proof(
    case: Case, along: Along, start: arb_mat, check: Callable[[Case, Along, arb_mat], Verdict]
) -> Verdict:
    """What a check along a segment finds without the proof, which does not show what is claimed."""
    alone = replace(case, proof=None)
    own = case.similar.along(along.maps, alone.span)
    if own.dim > 1:
        return contradicted("The proof is about one direction, but the directions have more.")
    verdict = check(alone, own, start)
    if verdict.is_confirmed:
        why = "The knots of the proof do not show it, although it is true."
        return replace(verdict, status=Status.CONTRADICTED, why=why)
    return verdict


def with_ends(knots: Iterable[float], *ends: float) -> list[float]:
    """The knots, 0, and ± the ends; nothing beyond the farthest of them."""
    reach = max(ends)
    return sorted({0.0, *ends, *(-end for end in ends), *(knot for knot in knots if abs(knot) <= reach)})


def _claimed_flip(case: Case) -> float:
    """Up to which |t| nobody is said to have another class; 0 if nothing is said."""
    if case.certificate.flip is not None:
        return case.certificate.flip
    return float(case.certificate.figures.get("searched") or case.radius) if case.is_certified else 0.0


def _judged(case: Case, traced: Traced, flip: float) -> Verdict:
    """What the outputs along the segment say about the claims."""
    found = traced.least(case.radius)
    margin, slack = case.figure("margin"), case.figure("slack")
    allowed = min(slack, traced.rounding) + RELATIVE * abs(margin)
    if case.is_certified and not margin > slack:
        return found.contradicted("It is certified, although its margin does not exceed its slack.")
    if case.is_certified and found.high < 0:
        return found.contradicted(f"A similar person has another class: the margin is down to {short(found.high)}.")
    if found.high < margin - allowed:
        return found.contradicted(f"The least margin is at most {short(found.high)}, not {short(margin)} as claimed.")
    if found.low > margin + allowed:
        return found.contradicted(f"The least margin is at least {short(found.low)}, not {short(margin)} as claimed.")
    before = traced.least(flip) if flip > 0 else None
    if before is not None and before.high < 0:
        return found.contradicted(f"Somebody nearer than {short(flip)} has another class.")
    if not found.low >= margin - allowed or (case.is_certified and not found.low > 0):
        return found.unproven(f"Only a margin of {short(found.low)} is proven, not {short(margin)}.")
    if before is not None and not before.low > 0:
        return found.unproven(f"It is not proven that nobody nearer than {short(flip)} has another class.")
    return found.confirmed(f"The least margin is at least {short(found.low)}, at {len(traced.knots)} knots.")
