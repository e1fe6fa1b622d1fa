"""What an exact certificate keeps, on request, so that somebody else can check it quickly.

A proof is a hint: a checker decides for itself what follows from it (``lassi.recheck``), so a wrong or incomplete proof
can only make the check fail. [docs/mathematics.md#the-network-along-a-segment, docs/mathematics.md#box-and-ball]
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lassi.base.errors import UserError

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Leaf:
    """A box of coefficients on which the class was proven: its least and its largest corner, ``(r,)`` each."""

    low: Vector
    high: Vector


@dataclass(frozen=True)
class Proof:
    """How one person's exact certificate was proven; coefficients are along the basis of the directions' span.

    Args:
        knots: along one direction, the points between which the network is affine, increasing; none along several.
        leaves: along several, boxes that together cover the ball; none if the bound over the whole ball sufficed.
        span: V, one row per direction, ``(n, r)``, where the rank r of the directions is below n: the coefficients
            along the basis are v = Vᵀt; None where they are t itself.
    """

    knots: Vector = ()
    leaves: tuple[Leaf, ...] = ()
    span: tuple[Vector, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Proof":
        try:
            leaves = tuple(Leaf(_vector(leaf["low"]), _vector(leaf["high"])) for leaf in content["leaves"])
            span = content["span"]
            return Proof(_vector(content["knots"]), leaves, None if span is None else tuple(map(_vector, span)))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"A line is not the proof of a certificate ({type(error).__name__}: {error}).",
                hint="Certify again and keep the proofs.",
            ) from error


def _vector(numbers: Any) -> Vector:
    return tuple(float(number) for number in numbers)
