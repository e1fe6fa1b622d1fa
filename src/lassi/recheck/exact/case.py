"""One certificate to check: what it claims, about whom, and the proof that came with it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.proof import Proof
from lassi.recheck.exact.arithmetic import arb_mat, exact
from lassi.recheck.exact.network import Affine, Along, BallModel

JOINT, MODULAR = "exact-joint", "exact-modular"  # the methods that can be checked
RELATIVE = 1e-9  # by how much a figure may be off
RANK_SHARE = (
    1e-6  # singular values below this share of the largest are left out of a span of our own; any span is valid
)


class Similar:
    """Directions A ``(q, n)``, and what the model's first layer makes of them, computed once."""

    def __init__(self, directions: NDArray[Any]) -> None:
        self.directions = directions
        self._moved: dict[int, tuple[Affine, arb_mat]] = {}
        self._along: dict[tuple[int, Any], tuple[list[Affine], Along]] = {}

    @property
    def num_directions(self) -> int:
        return int(self.directions.shape[1])

    def along(self, maps: list[Affine], span: tuple[tuple[float, ...], ...] | None) -> Along:
        """The network on z + A t, in the coefficients of a span."""
        key = (id(maps), span)
        if key not in self._along:
            matrix = None if span is None else exact(np.array(span))
            self._along[key] = (maps, Along.of(maps, self._first(maps[0]), matrix))
        return self._along[key][1]

    def _first(self, first: Affine) -> arb_mat:
        """W₁A."""
        if id(first) not in self._moved:
            self._moved[id(first)] = (first, first.weight * exact(self.directions))
        return self._moved[id(first)][1]

    @cached_property
    def own_span(self) -> tuple[tuple[float, ...], ...] | None:
        """Right singular vectors that span almost everything; None if all are needed."""
        _, sizes, rows = np.linalg.svd(self.directions.astype(np.float64), full_matrices=False)
        rank = int((sizes > RANK_SHARE * sizes[0]).sum())
        return None if rank == self.num_directions else tuple(map(tuple, rows[:rank].T.tolist()))


@dataclass(frozen=True, eq=False)
class Case:
    """A certificate of one person ``(q,)``."""

    model: BallModel
    similar: Similar
    z: NDArray[Any]
    certificate: Certificate
    proof: Proof | None
    budget: int

    @property
    def radius(self) -> float:
        return self.certificate.radius

    @property
    def is_certified(self) -> bool:
        return self.certificate.outcome is Outcome.CERTIFIED

    @property
    def is_joint(self) -> bool:
        return self.certificate.method == JOINT

    @cached_property
    def predicted(self) -> int:
        assert self.certificate.predicted is not None
        return self.certificate.predicted

    def figure(self, name: str) -> float:
        return float(self.certificate.figures[name] or 0.0)

    @property
    def span(self) -> tuple[tuple[float, ...], ...] | None:
        """V: from the proof; where there is none, our own if the search that made the certificate needed one."""
        if self.proof is not None:
            return self.proof.span
        own, figures = self.similar.own_span, self.certificate.figures
        is_line = own is not None and len(own[0]) == 1
        if not self.is_joint:
            return own if is_line else None
        sufficed = figures.get("boxes") == 1  # the whole ball did, in any coordinates
        return own if is_line == ("kinks" in figures) and not sufficed else None

    @property
    def span_to_search(self) -> tuple[tuple[float, ...], ...] | None:
        """V, where boxes are cut in any case: the fewer coefficients, the better."""
        return self.similar.own_span if self.proof is None else self.proof.span

    def objection(self) -> str | None:
        """Why a certificate cannot be right, before anything is computed; None if it can."""
        own, n = self.certificate, self.similar.num_directions
        if own.predicted is None or not 0 <= own.predicted < self.model.num_classes:
            return f"The class is {own.predicted}, but the model has {self.model.num_classes}."
        numbers = [own.radius, *(value for value in (own.flip, *own.figures.values()) if value is not None)]
        if not all(map(math.isfinite, numbers)) or not own.radius > 0:
            return "A number of the certificate is not finite, or its radius is not positive."
        if own.flip is not None and (own.flip < 0 or not self.is_joint):
            return f"It claims a flip of {own.flip:g}, which no such certificate has."
        needed = ("margin", "slack") if self.is_joint else ("d_max", "class_radius")
        if any(own.figures.get(name) is None for name in needed):
            return f"The certificate lacks one of its figures {' and '.join(needed)}."
        if self.is_joint and self.figure("slack") < 0:
            return "Its slack is negative."
        if (own.counterexample is not None) == self.is_certified:
            return "The outcome and the counterexample do not fit together."
        return None if self.proof is None else _objection_to_proof(self.proof, n)


def _objection_to_proof(proof: Proof, n: int) -> str | None:
    rows = () if proof.span is None else proof.span
    corners = [corner for leaf in proof.leaves for corner in (leaf.low, leaf.high)]
    if not all(math.isfinite(number) for vector in (proof.knots, *rows, *corners) for number in vector):
        return "A number of the proof is not finite."
    if rows and (len(rows) != n or len({len(row) for row in rows}) != 1 or not rows[0]):
        return f"The proof's span does not have {n} rows of the same length."
    dim = len(rows[0]) if rows else n
    if any(len(corner) != dim for corner in corners):
        return f"A box of the proof does not have {dim} sides."
    return None
