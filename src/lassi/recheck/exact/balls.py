"""Several directions: the boxes of the proof must cover the ball, and each must show the margin claimed.

That margin is what the relaxation of [docs/mathematics.md#box-and-ball] yields on these boxes, so it must come out
again. Where rounding may have decided between two lines of the relaxation, boxes are cut further instead.
"""

from dataclasses import replace

from lassi.recheck.exact.arithmetic import arb, arb_mat, down, least, norm
from lassi.recheck.exact.case import RELATIVE, Case
from lassi.recheck.exact.cover import Cover, TooManyCells
from lassi.recheck.exact.network import Along
from lassi.recheck.exact.regions import Ball, Box
from lassi.recheck.exact.search import Place
from lassi.recheck.exact.verdict import Enclosure, Status, Verdict, contradicted, short, unproven

MORE_SLACKS = 4  # by how much a proof may show more than is claimed; 1 is what is deducted from it
TINY = arb(1e-300)


def check_ball(case: Case, along: Along, start: arb_mat) -> Verdict:
    """Whether all margins over the ball are at least the one claimed."""
    place = Place(along, start, case.radius)
    margin = case.figure("margin")
    if not margin > 0:
        return contradicted("It is certified, although its margin is not positive.")
    target = (arb(margin) * (1 - RELATIVE)).lower()
    high = place.margin_at(place.low_point())
    if high < 0:
        why = f"A similar person has another class: the margin is down to {short(high)}."
        return Enclosure(arb("-inf"), high).contradicted(why)
    if high < target:
        why = f"The least margin is at most {short(high)}, not {short(margin)} as claimed."
        return Enclosure(arb("-inf"), high).contradicted(why)
    if case.proof is None and case.certificate.figures.get("boxes") != 1:
        return _searched(case, place, [place.cube], target, high)
    return _by_proof(case, place, target, high)


def _by_proof(case: Case, place: Place, target: arb, high: arb) -> Verdict:
    """What the leaves show, or the whole ball where there are none."""
    leaves = () if case.proof is None else case.proof.leaves
    boxes, regions = [place.cube], list[Ball | Box]([Ball(case.radius)])
    if leaves:
        cover = Cover.of(leaves, case.radius)
        try:
            gap = cover.gap()
        except TooManyCells:
            return unproven("The boxes overlap so much that it was not decided whether they cover the ball.")
        if gap is not None:
            return contradicted(
                f"No box of the proof covers the part of the ball around ({', '.join(map(short, gap))})."
            )
        corners = zip(cover.low * cover.unit, cover.high * cover.unit, strict=True)
        boxes = [Box(low, up, case.radius) for low, up in corners]
        regions = [*boxes]
    bounds = [place.bound(region) for region in regions]
    proven, margin = Enclosure(least([bound for bound, _ in bounds]), high), case.figure("margin")
    missing = [(box, has_tie) for box, (bound, has_tie) in zip(boxes, bounds, strict=True) if not bound >= target]
    if any(not has_tie for _, has_tie in missing):
        return proven.contradicted(f"The proof shows a margin of {short(proven.low)}, not {short(margin)} as claimed.")
    if missing:
        verdict = _searched(case, place, [box for box, _ in missing], target, high)
        return replace(verdict, low=down(target)) if verdict.is_confirmed else verdict
    allowed = MORE_SLACKS * case.figure("slack") + RELATIVE * abs(proven.low)
    if proven.low > margin + allowed and not any(has_tie for _, has_tie in bounds):
        return proven.contradicted(
            f"The proof shows a margin of {short(proven.low)}, so it is not that of {short(margin)}."
        )
    return proven.confirmed(f"The least margin is at least {short(proven.low)}, on {len(regions)} regions.")


def _searched(case: Case, place: Place, boxes: list[Box], target: arb, high: arb) -> Verdict:
    """What a search of our own shows, where the proof does not decide."""
    low, point = place.prove(boxes, target, case.budget)
    if low is not None:
        return Enclosure(low, high).confirmed(f"The least margin is at least {short(low)}, by boxes of our own.")
    if point is None:
        return Enclosure(arb("-inf"), high).unproven(f"A search of {case.budget} boxes did not decide.")
    high = min(high, place.margin_at(point))
    why = f"The least margin is at most {short(high)}, not {short(case.figure('margin'))} as claimed."
    return Enclosure(arb("-inf"), high).contradicted(why)


def check_flip(case: Case, along: Along, start: arb_mat, verdict: Verdict) -> Verdict:
    """Whether nobody up to the flip claimed has another class, where that does not follow from the verdict."""
    flip, example = case.certificate.flip or 0.0, case.certificate.counterexample
    if flip <= (case.radius if case.is_certified else 0.0):
        return verdict
    false = replace(verdict, status=Status.CONTRADICTED, why=f"Somebody nearer than {short(flip)} has another class.")
    if example is not None and norm([arb(number) for number in example.t]) < flip:
        return false
    place = Place(along, start, flip)
    if place.margin_at(place.low_point()) < 0:
        return false
    if place.bound(Ball(flip))[0] > 0:
        return verdict
    low, point = place.prove([place.cube], TINY, case.budget)
    if low is not None:
        return verdict
    if point is not None and place.margin_at(point) < 0:
        return false
    why = f"It was not decided whether somebody nearer than {short(flip)} has another class."
    return replace(verdict, status=Status.UNPROVEN, why=why)
