"""A counterexample is reported only where it is proven, by the standard of the certificates: in real arithmetic.

The proof is about the reported point itself, z + A t with t as stored, along the original directions. The float64
network is evaluated there, and a bound on its rounding errors decides. [docs/mathematics.md#counterexamples]
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import torch
from torch import Tensor

from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate, Counterexample, Outcome
from lassi.similarity.sets import SimilaritySet

INWARD = 1 - 1e-12  # the factor for a t that rounding has put outside the ball


@dataclass(frozen=True)
class Claim:
    """The person in this row gets one class, and the similar person at t, along the original directions, another."""

    row: int
    predicted: int
    t: tuple[float, ...]


def confirmed(
    model: Model, z: Tensor, similar: SimilaritySet, certificates: Sequence[Certificate]
) -> list[Certificate]:
    """The certificates of people ``(B, q)``; those whose counterexample is not proven become undecided."""
    found, claims = list(certificates), list[Claim]()
    for row, certificate in enumerate(certificates):
        if certificate.counterexample is not None:
            assert certificate.predicted is not None, "a counterexample differs from the person's own class"
            claims.append(Claim(row, certificate.predicted, certificate.counterexample.t))
    for claim, example in zip(claims, proven(model, z, similar, claims), strict=True):
        outcome = Outcome.UNDECIDED if example is None else Outcome.COUNTEREXAMPLE
        found[claim.row] = replace(found[claim.row], outcome=outcome, counterexample=example)
    return found


def proven(model: Model, z: Tensor, similar: SimilaritySet, claims: Sequence[Claim]) -> list[Counterexample | None]:
    """The counterexample of each claim about people ``(B, q)``; None where rounding errors could make it untrue.

    It is proven that the person gets the class claimed, and that somebody in S(x) does not. Which other class that is
    stands as computed: among three or more, two may be within rounding of each other.
    """
    if not claims:
        return []
    people = list(dict.fromkeys(claim.row for claim in claims))
    rows, labels = [claim.row for claim in claims], torch.tensor([claim.predicted for claim in claims])
    examples = [_into_ball(claim.t, similar.radius) for claim in claims]
    t = torch.tensor(examples, dtype=torch.float64)
    moved = [_moved(z[row], similar, row, own) for row, own in zip(rows, t, strict=True)]
    lengths = z.double().norm(dim=1)
    steps = similar.directions.double().norm(dim=(-2, -1)).expand(len(z))[rows] * t.norm(dim=1)
    # One pass for both. A number of z + A t has n + 1 roundings: a product, and n sums.
    both = model.logits(
        torch.cat([z[people].double(), torch.stack(moved)]),
        torch.cat([lengths[people], lengths[rows] + steps]),
        roundings=similar.num_directions + 1,
    )
    here, there = both[[people.index(row) for row in rows]], both[slice(len(people), None)]
    is_proven = (here.least_lead(labels) > 0) & (there.most_lead(labels) < 0)
    return [
        Counterexample(example, label) if sure and is_in_ball(example, similar.radius) else None
        for example, label, sure in zip(examples, there.values.argmax(1).tolist(), is_proven.tolist(), strict=True)
    ]


def is_in_ball(t: tuple[float, ...], radius: float) -> bool:
    """Whether ‖t‖ ≤ ε, exactly: in rational numbers."""
    return all(map(math.isfinite, t)) and sum(Fraction(number) ** 2 for number in t) <= Fraction(radius) ** 2


def _into_ball(t: tuple[float, ...], radius: float) -> tuple[float, ...]:
    """t, slightly shorter where rounding has put it outside the ball."""
    return t if is_in_ball(t, radius) else tuple(number * INWARD for number in t)


def moved_by(z: Tensor, similar: SimilaritySet, row: int, example: Counterexample) -> Tensor:
    """The latent z + A t of one person's counterexample, ``(q,)``, float64; the row selects per-person directions."""
    return _moved(z, similar, row, torch.tensor(example.t, dtype=torch.float64))


def _moved(z: Tensor, similar: SimilaritySet, row: int, t: Tensor) -> Tensor:
    directions = similar.directions if similar.is_shared else similar.directions[row]
    return z.double() + directions.double() @ t
