"""g_z at many coefficients of one person, in the form centre smoothing needs: displacements from R(z), and distances.

For one direction they come from the polyline, for several from the reduced network. They are displacements rather than
representations: where R maps all similar people to nearly the same point, differences of representations would lose
their digits. [docs/mathematics.md#centre-smoothing]
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from lassi.base.devices import HOST
from lassi.base.workers import chunks
from lassi.certify.along.polyline import Polyline
from lassi.certify.along.rounding import ROUND_UP, gamma_of_product
from lassi.certify.along.shells import Shells

CHUNK = 8192  # samples at a time

INTERPOLATIONS = 2
"""Multiples of γ_{k+20} by which a square interpolated on a piece from u to v can be too small, as a share of
|u − c|² + |v − c|² + |u − v|².

The identity in ``PolylineWalk`` subtracts sums of k squares from each other, each off by at most γ_{k+3} of itself, and
interpolates with 6 roundings; γ_{k+8} would suffice. [docs/mathematics.md#rounding]
"""

ERRORS_IN_DISPLACEMENT = 2
"""A displacement g(t) − g(0) has the rounding errors of two outputs. [docs/mathematics.md#rounding]"""

SQUARE_OF_TWO = 4
"""Bounds the sizes in |y|² + |c|² − 2⟨y, c⟩ where |y − c| ≤ r.

As |y| ≤ |c| + r, they add up to (|y| + |c|)² ≤ (2|c| + r)² ≤ 4 (|c| + r)². Where y is interpolated between knots, r is
at least the length of the longest knot. [docs/mathematics.md#rounding]
"""


class Walk(Protocol):
    """Where R maps the people similar to one person."""

    @property
    def base(self) -> Tensor:
        """R(z), ``(k,)``."""

    @property
    def off(self) -> float:
        """How far the computed values can be from the truth, as a length, where that is bounded."""

    @property
    def longest(self) -> float:
        """The length of the longest displacement used for interpolation; 0 where nothing is interpolated."""

    @property
    def at_once(self) -> int:
        """Centres whose distances should be asked for together: each call looks at all coefficients again."""

    def moves(self, t: Tensor) -> Tensor:
        """R(z + A t) − R(z) at coefficients ``(N, n)``, ``(N, k)``."""

    def distances(self, t: Tensor, centres: Tensor) -> Tensor:
        """Distances of R(z + A t) to centres, given as displacements ``(m, k)``; ``(m, N)``, in any order.

        To one centre by differences, rounded up, on the host. To many by products, which is accurate enough to
        shortlist them: on the walk's device, and given there.
        """


@dataclass(frozen=True, eq=False)
class PolylineWalk:
    """Along one direction, in float64.

    On a piece from u to v, at the share θ of the way, |y − c|² = (1−θ)|u − c|² + θ|v − c|² − θ(1−θ)|u − v|², so the
    only the knots are ever compared with a centre.

    Args:
        dropped: how far R can move along what the basis of the similarity set omits.
        device: where distances to many centres are computed.
    """

    line: Polyline
    dropped: float = 0.0
    device: torch.device = HOST
    at_once: int = 64  # coefficients are cheap to look up, and few distances stay in the cache

    @property
    def base(self) -> Tensor:
        return self.line.base

    @property
    def off(self) -> float:
        return self.line.slack.norm().item() + self.dropped

    @cached_property
    def longest(self) -> float:
        return self.line.moves2.max().sqrt().item() * ROUND_UP

    def moves(self, t: Tensor) -> Tensor:
        return self.line.at(t[:, 0].double())

    @cached_property
    def _line_there(self) -> Polyline:
        return self.line if self.device == HOST else self.line.to(self.device)

    def squares_at_knots(self, centres: Tensor) -> Tensor:
        """Squared distances of the knots to centres ``(m, k)``, ``(m, P)``."""
        return _squares_at_knots(self.line, centres)

    def distances(self, t: Tensor, centres: Tensor) -> Tensor:
        line = self.line if len(centres) == 1 else self._line_there
        t, centres = t.to(line.t.device), centres.to(line.t.device)
        values = t[:, 0].sort().values  # neighbours share a piece, whose numbers are then in the cache
        piece = torch.searchsorted(line.t, values).clamp(1, len(line.t) - 1)
        share = ((values - line.t[piece - 1]) / (line.t[piece] - line.t[piece - 1])).nan_to_num(nan=0.0)
        bend = share * (1 - share) * line.lengths2[piece - 1]
        knots = _squares_at_knots(line, centres).T.contiguous()  # (P, m): selecting rows is fast
        ends = knots.index_select(0, piece - 1), knots.index_select(0, piece)
        squares = torch.lerp(*ends, share[:, None]).sub_(bend[:, None])  # (N, m)
        if len(centres) == 1:  # rounded up
            lost = INTERPOLATIONS * gamma_of_product(line.moves.shape[1])
            squares += lost * (ends[0] + ends[1] + line.lengths2[piece - 1][:, None])
        return squares.clamp_(min=0).sqrt_().T.contiguous()


def _squares_at_knots(line: Polyline, centres: Tensor) -> Tensor:
    """Squared distances of the knots to centres ``(m, k)``, ``(m, P)``; for one centre by differences."""
    if len(centres) == 1:
        return (line.moves - centres).square().sum(1)[None]
    squares = torch.addmm(line.moves2, centres, line.moves.T, alpha=-2).add_(centres.square().sum(1)[:, None])
    return squares.clamp_(min=0)


@dataclass(frozen=True, eq=False)
class ShellsWalk:
    """Along several directions; ``dropped`` and ``device`` as above."""

    shells: Shells
    dropped: float = 0.0
    device: torch.device = HOST
    longest: float = 0.0
    at_once: int = 1024  # coefficients go through the network

    @property
    def base(self) -> Tensor:
        return self.shells.base

    @property
    def off(self) -> float:
        return ERRORS_IN_DISPLACEMENT * self.shells.error.norm().item() + self.dropped

    def moves(self, t: Tensor) -> Tensor:
        return self.shells.moves(t)

    def distances(self, t: Tensor, centres: Tensor) -> Tensor:
        there = HOST if len(centres) == 1 else self.device
        out = torch.empty(len(centres), len(t), dtype=torch.float64, device=there)
        for part in chunks(len(t), CHUNK):
            some = slice(part.start, part.stop)
            out[:, some] = _distances(self.shells.moves(t[some]).to(there), centres.to(there))
        return out


def _distances(y: Tensor, centres: Tensor) -> Tensor:
    """Distances of ``(N, k)`` to ``(m, k)``, ``(m, N)``; to one centre by differences."""
    if len(centres) == 1:
        return (y - centres).norm(dim=1)[None]
    squares = centres.square().sum(1)[:, None] + y.square().sum(1) - 2 * centres @ y.T
    return squares.clamp_(min=0).sqrt_()


def could_be_least(walk: Walk, low: Tensor, high: Tensor, centres: Tensor) -> Tensor:
    """Which of the centres ``(m, k)`` may have the least radius, given bounds ``(m,)`` computed from products."""
    lost = lost_by_products(walk, high, centres)
    return (low.square() - lost <= (high.square() + lost).min()).nonzero()[:, 0]


def lost_by_products(walk: Walk, radii: Tensor, centres: Tensor) -> Tensor:
    """By how much a square |y|² + |c|² − 2⟨y, c⟩ can be off where |y − c| is the radius, ``(m,)``."""
    sizes = centres.norm(dim=1) + radii.clamp(min=walk.longest)
    return SQUARE_OF_TWO * gamma_of_product(centres.shape[1]) * sizes.square()
