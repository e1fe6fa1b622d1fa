"""Forgeries of certificates, each of which a second check must contradict."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lassi.certify.certificate import Outcome
from lassi.certify.proof import Leaf, Proof
from recheck.exhibits import Exhibit

Forger = Callable[[Exhibit, Exhibit], Exhibit | None]  # from an exhibit, and another one of the same model


def refuted_as_certified(own: Exhibit, _: Exhibit) -> Exhibit | None:
    if own.is_certified:
        return None
    proof = own.proof or Proof()
    forged = own.but(outcome=Outcome.CERTIFIED, counterexample=None, flip=None, figures={"margin": 0.1, "boxes": 1})
    return replace(forged, proof=proof)


def refuted_as_certified_without_proof(own: Exhibit, other: Exhibit) -> Exhibit | None:
    forged = refuted_as_certified(own, other)
    return None if forged is None else replace(forged.but(figures={"boxes": 9}), proof=None)


def margin_raised(factor: float) -> Forger:
    def forger(own: Exhibit, _: Exhibit) -> Exhibit | None:
        if not (own.is_certified and own.is_joint):
            return None
        margin = own.figure("margin")
        if margin * (factor - 1) <= 3 * own.figure("slack"):
            return None  # no more than rounding
        return own.but(figures={"margin": factor * margin})

    return forger


def leaf_left_out(own: Exhibit, _: Exhibit) -> Exhibit | None:
    if own.proof is None or len(own.proof.leaves) < 2:
        return None
    radius = own.certificate.radius
    inside = [i for i, leaf in enumerate(own.proof.leaves) if np.linalg.norm(_nearest(leaf)) < radius * (1 - 1e-6)]
    gone = inside[own.certificate.person % len(inside)]
    leaves = tuple(leaf for i, leaf in enumerate(own.proof.leaves) if i != gone)
    return replace(own, proof=replace(own.proof, leaves=leaves))


def leaf_shrunk(own: Exhibit, _: Exhibit) -> Exhibit | None:
    if own.proof is None or not own.proof.leaves:
        return None
    radius, leaves = own.certificate.radius, list(own.proof.leaves)
    for number, leaf in enumerate(leaves):
        face = leaf.high[0] - 1e-9 * radius
        slab = Leaf((face, *leaf.low[1:]), leaf.high)  # what no leaf covers any more
        if np.linalg.norm(_nearest(slab)) < radius * (1 - 1e-6):
            leaves[number] = Leaf(leaf.low, (face, *leaf.high[1:]))
            return replace(own, proof=replace(own.proof, leaves=tuple(leaves)))
    return None


def _nearest(leaf: Leaf) -> NDArray[np.float64]:
    """The point of a box that is nearest to 0, but for signs."""
    return np.maximum(np.maximum(np.array(leaf.low), -np.array(leaf.high)), 0)


def knots_left_out(own: Exhibit, _: Exhibit) -> Exhibit | None:
    """Only the ends and 0 are kept, and the margin claimed is the least that is seen there."""
    if not own.is_joint or own.proof is None or len(own.proof.knots) < 4:
        return None
    knots = own.proof.knots[0], 0.0, own.proof.knots[-1]
    seen, slack = min(own.margin_at(knot) for knot in knots), own.figure("slack")
    if seen <= 2 * slack or seen <= own.figure("margin") + 3 * slack:
        return None  # nothing is hidden
    forged = own.but(outcome=Outcome.CERTIFIED, counterexample=None, flip=None, figures={"margin": seen})
    return replace(forged, proof=replace(own.proof, knots=knots))


def certificate_of_another(own: Exhibit, other: Exhibit) -> Exhibit | None:
    if own.certificate.person == other.certificate.person:
        return None
    return replace(own, certificate=other.certificate, proof=other.proof)


def proof_of_another(own: Exhibit, other: Exhibit) -> Exhibit | None:
    """With the margin raised by 1%: somebody else's proof may well show the true one."""
    if own.proof is None or other.proof is None or own.proof == other.proof:
        return None
    raised = margin_raised(1.01)(own, other)
    return None if raised is None else replace(raised, proof=other.proof)


def class_changed(own: Exhibit, _: Exhibit) -> Exhibit | None:
    assert own.certificate.predicted is not None
    return own.but(predicted=0 if own.certificate.predicted else 1)


def radius_enlarged(own: Exhibit, _: Exhibit) -> Exhibit | None:
    return own.but(radius=1.05 * own.certificate.radius) if own.is_certified else None


def d_max_lowered(own: Exhibit, _: Exhibit) -> Exhibit | None:
    return None if own.is_joint else own.but(figures={"d_max": 0.99 * own.figure("d_max")})


def class_radius_raised(own: Exhibit, _: Exhibit) -> Exhibit | None:
    return None if own.is_joint else own.but(figures={"class_radius": 1.01 * own.figure("class_radius")})


def counterexample_moved(factor: float) -> Forger:
    def forger(own: Exhibit, _: Exhibit) -> Exhibit | None:
        example = own.certificate.counterexample
        if example is None:
            return None
        moved = tuple(factor * number for number in example.t)
        return own.but(counterexample=replace(example, t=moved))

    return forger


def flip_raised(own: Exhibit, _: Exhibit) -> Exhibit | None:
    if own.is_certified or own.similar.rank > 1:
        return None
    flip = own.certificate.flip
    return None if flip is None else own.but(flip=1.2 * flip)


def margin_and_slack_raised(own: Exhibit, _: Exhibit) -> Exhibit | None:
    """So that their difference stays below the truth."""
    if not (own.is_certified and own.is_joint and "kinks" in own.certificate.figures):
        return None
    margin = own.figure("margin")
    return own.but(figures={"margin": 1.5 * margin, "slack": 0.6 * margin})


def flip_left_out(own: Exhibit, _: Exhibit) -> Exhibit | None:
    if own.is_certified or own.similar.rank > 1 or own.certificate.flip is None:
        return None
    return own.but(flip=None)


def flip_invented(own: Exhibit, _: Exhibit) -> Exhibit | None:
    return None if own.is_joint else own.but(flip=100.0)


FORGERS: dict[str, Forger] = {
    "a refuted person marked certified": refuted_as_certified,
    "the same without a proof": refuted_as_certified_without_proof,
    "margin raised by 1%": margin_raised(1.01),
    "margin raised tenfold": margin_raised(10.0),
    "margin and slack raised": margin_and_slack_raised,
    "a leaf left out": leaf_left_out,
    "a leaf shrunk by 1e-9": leaf_shrunk,
    "knots left out, margin raised": knots_left_out,
    "another person's certificate": certificate_of_another,
    "another person's proof, margin raised": proof_of_another,
    "class changed": class_changed,
    "radius enlarged": radius_enlarged,
    "d_max lowered by 1%": d_max_lowered,
    "class radius raised by 1%": class_radius_raised,
    "counterexample moved halfway": counterexample_moved(0.5),
    "counterexample moved out": counterexample_moved(2.5),
    "flip raised": flip_raised,
    "flip left out": flip_left_out,
    "flip invented": flip_invented,
}
