"""g_z at many coefficients of one person, as centre smoothing asks for it: displacements from R(z), and distances.

For one direction on the polyline, for several through the reduced network. Displacements, not representations: where R
maps all similar people to nearly the same point, their differences would be lost beside its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from lassi.base.engine import chunks
from lassi.certify.polyline import Polyline
from lassi.certify.reduced import Displacement, Reduced

CHUNK = 1024  # samples at a time, such that they stay in the cache


class Walk(Protocol):
    """Where R maps the people similar to one."""

    @property
    def base(self) -> Tensor:
        """R(z), ``(k,)``."""

    def moves(self, t: Tensor) -> Tensor:
        """R(z + A t) − R(z) at coefficients ``(N, n)``, ``(N, k)``."""

    def distances(self, t: Tensor, centres: Tensor) -> Tensor:
        """Distances of R(z + A t) to centres, given as displacements ``(m, k)``; ``(m, N)``."""


@dataclass(frozen=True, eq=False)
class PolylineWalk:
    """Along one direction, in float64.

    On a piece from u to v, at the share θ of the way, |y − c|² = (1−θ)|u − c|² + θ|v − c|² − θ(1−θ)|u − v|², so the
    knots are all that is ever compared with a centre.
    """

    line: Polyline

    @property
    def base(self) -> Tensor:
        return self.line.base

    def moves(self, t: Tensor) -> Tensor:
        return self.line.at(t[:, 0].double())

    def squares_at_knots(self, centres: Tensor) -> Tensor:
        """Squared distances of the knots to centres ``(m, k)``, ``(m, P)``."""
        y = self.line.moves
        squares = centres.square().sum(1)[:, None] + y.square().sum(1) - 2 * centres @ y.T
        return squares.clamp_(min=0)

    def distances(self, t: Tensor, centres: Tensor) -> Tensor:
        line = self.line
        values = t[:, 0].double()
        piece = torch.searchsorted(line.t, values).clamp(1, len(line.t) - 1)
        share = (values - line.t[piece - 1]) / (line.t[piece] - line.t[piece - 1])
        lengths = line.moves.diff(dim=0).square().sum(1)
        bend = share * (1 - share) * lengths[piece - 1]
        knots = self.squares_at_knots(centres.double())
        squares = torch.lerp(knots[:, piece - 1], knots[:, piece], share).sub_(bend)
        return squares.clamp_(min=0).sqrt_()


@dataclass(frozen=True, eq=False)
class ReducedWalk:
    """Along several directions, in float32 displacements.

    The draws are taken shell by shell: on a smaller ball more of the network is stable, and most draws are in the
    smallest.

    Args:
        shells: the network on balls of rising radius.
    """

    shells: Sequence[Reduced]

    @property
    def base(self) -> Tensor:
        return self.shells[0].displacement.base

    def moves(self, t: Tensor) -> Tensor:
        out = torch.empty(len(t), len(self.base), dtype=torch.float32)
        for rows, network in self._by_shell(t):
            for part in chunks(len(rows), CHUNK):
                some = rows[part.start : part.stop]
                out[some] = network(t[some].float())
        return out

    def distances(self, t: Tensor, centres: Tensor) -> Tensor:
        out = torch.empty(len(centres), len(t), dtype=torch.float32)
        centres = centres.float()
        for rows, network in self._by_shell(t):
            for part in chunks(len(rows), CHUNK):
                some = rows[part.start : part.stop]
                out[:, some] = _distances(network(t[some].float()), centres)
        return out

    def _by_shell(self, t: Tensor) -> list[tuple[Tensor, Displacement]]:
        """Which samples belong to which shell, and its network."""
        norms, found, inner = t.double().norm(dim=1), [], -1.0
        for shell in self.shells:
            rows = ((norms > inner) & (norms <= shell.radius)).nonzero()[:, 0]
            inner = shell.radius
            if len(rows):
                found.append((rows, shell.displacement.to(torch.float32)))
        assert sum(len(rows) for rows, _ in found) == len(t), "the shells hold every draw"
        return found


def _distances(y: Tensor, centres: Tensor) -> Tensor:
    """Distances of ``(N, k)`` to ``(m, k)``, ``(m, N)``; for one centre by differences.

    For many by the product, in coordinates relative to R(z): what it loses is small beside how far similar people are
    apart, and it serves to choose a centre alone.
    """
    if len(centres) == 1:
        return (y - centres).norm(dim=1)[None]
    squares = centres.square().sum(1)[:, None] + y.square().sum(1) - 2 * centres @ y.T
    return squares.clamp_(min=0).sqrt_()
