"""Gaussian masses of balls along a polyline, computed without sampling and its error. For one direction.

On a piece |g(t) − c|² is quadratic in t, so it is at most r² on an interval, whose mass is a difference of Φ.
[docs/mathematics.md#quadrature]
"""

import torch
from torch import Tensor

from lassi.certify.along.rounding import UNIT, gamma_of_product
from lassi.certify.smoothed.walk import PolylineWalk, could_be_least

CLOSE = 1 + 1e-10  # bisection ends where a radius is known to this factor; the larger radius, which holds, is returned
MOST_STEPS = 200  # of bisection; needed where the radius is 0
EPSILON = torch.finfo(torch.float64).eps  # 2u

HALF_ROOM = 1e-11
"""The value of Δ used instead of 0, so that the model at z′ may compare the half mass as computed.

There, a ball computed to hold ½ holds at least ½ − 10^−11, which by p(10^−11) at z is enough for the two balls to
meet. [docs/mathematics.md#quadrature]
"""


def lost_in_mass(pieces: int) -> float:
    """By how much a computed sum of differences of Φ over P pieces can exceed the exact one.

    Φ in [0, 1] is off by at most 2u at each end of a piece, and the sum by γ_P: 5 P u altogether.
    [docs/mathematics.md#quadrature]
    """
    return max(1e-12, 5 * pieces * UNIT)


def lost_in_squares(dim: int) -> float:
    """Share of the largest square on a piece by which the quadratic |g − c|² in k dimensions can be too small.

    The roots are computed with a few roundings of half²/lengths + start, and half² ≤ start · lengths by
    Cauchy–Schwarz, so what they lose is a few u of the largest square. The squares themselves lose γ_{k+3} each.
    [docs/mathematics.md#quadrature]
    """
    return 64 * EPSILON + 2 * gamma_of_product(dim)


POINT = EPSILON
"""A piece counts as a point where |u − v|² is at most this share of the largest square |u − c|², |v − c|².

On a longer piece the rounding error δ ≈ u · most of half changes half²/lengths by δ²/lengths ≤ u · most, which
``lost_in_squares`` covers; on a shorter one half is noise. [docs/mathematics.md#quadrature]
"""

BEYOND_ALL = 1 + 1e-6
"""A ball of this many times the largest knot distance holds the whole polyline, even after ``lost_in_squares``."""


class Masses:
    """Lower bounds on the Gaussian masses of balls around several centres.

    Every ball is shrunk by what the squared distances may have lost; see ``lost_in_squares``.

    Args:
        squares: squared distances of the knots to the centres, ``(m, P)``.
        sigma: of the noise on t.
    """

    def __init__(self, walk: PolylineWalk, squares: Tensor, sigma: float) -> None:
        line = walk.line
        self._t = line.t[:-1] / sigma
        self._width = line.t.diff() / sigma
        # lengths · θ² + 2 half · θ + start − r² ≤ 0 on a piece
        start, end, lengths = squares[:, :-1], squares[:, 1:], line.lengths2
        self._half = (end - start - lengths) / 2
        self._most = torch.maximum(start, end)
        self._start = start + lost_in_squares(line.moves.shape[1]) * (self._most + lengths)
        # a point counts as inside if both its ends are
        self._is_point = lengths <= POINT * self._most
        self._lengths = torch.where(self._is_point, 1.0, lengths)
        self.largest = squares.amax(1).sqrt() * BEYOND_ALL

    def keep(self, rows: Tensor) -> None:
        """Keep only some of the centres."""
        for name in ("_start", "_half", "_most", "_is_point", "_lengths", "largest"):
            setattr(self, name, getattr(self, name)[rows])

    def __call__(self, radii: Tensor) -> Tensor:
        """The mass of {t : |g(t) − c_i| ≤ r_i}, ignoring everything beyond the polyline; ``(m,)``."""
        squares = radii.square()[:, None]
        under_root = self._half.square() - self._lengths * (self._start - squares)
        root = under_root.clamp(min=0).sqrt_()
        low = (-self._half - root).div_(self._lengths).clamp_(0, 1)
        high = (root - self._half).div_(self._lengths).clamp_(0, 1)
        is_in = (under_root >= 0) & (high > low)
        if self._is_point.any():
            low, high = low.masked_fill(self._is_point, 0.0), high.masked_fill(self._is_point, 1.0)
            is_in = torch.where(self._is_point, self._most <= squares, is_in)
        ends = torch.stack([high, low]).mul_(self._width).add_(self._t)
        upper, lower = torch.special.ndtr(ends)
        return torch.where(is_in, upper - lower, 0.0).sum(1)


def mass_radius(walk: PolylineWalk, centre: Tensor, sigma: float, mass: float) -> float:
    """A radius that holds the mass, barely above the least one, rounded up; infinite where none does."""
    holds = Masses(walk, walk.squares_at_knots(centre[None]), sigma)
    low, high = torch.zeros_like(holds.largest), holds.largest
    needed = mass + lost_in_mass(len(walk.line.t))
    if holds(high).item() < needed:
        return float("inf")
    for _ in range(MOST_STEPS):
        low, high = _halved(holds, low, high, needed)
        if high.item() <= low.item() * CLOSE:
            break
    return high.item()


def half_mass_centre(walk: PolylineWalk, candidates: Tensor, sigma: float) -> int:
    """The row of the candidate in ``(m, k)`` that needs the least radius to hold half of the mass."""
    best = _nearly_best(walk, candidates, sigma)
    own = [mass_radius(walk, candidates[row], sigma, 0.5) for row in best] if len(best) > 1 else [0.0]
    return best[own.index(min(own))]


def _nearly_best(walk: PolylineWalk, candidates: Tensor, sigma: float) -> list[int]:
    """The candidates that may need the least radius, allowing for what products lose.

    By bisection for all at once; a candidate that can no longer be the best is dropped.
    """
    holds = Masses(walk, walk.squares_at_knots(candidates), sigma)
    rows = torch.arange(len(candidates))
    low, high = torch.zeros(len(candidates), dtype=torch.float64), holds.largest
    for _ in range(MOST_STEPS):
        low, high = _halved(holds, low, high, 0.5)
        kept = could_be_least(walk, low, high, candidates[rows])
        if len(kept) < len(rows):
            rows, low, high = rows[kept], low[kept], high[kept]
            holds.keep(kept)
        if len(rows) == 1 or (high <= low * CLOSE).all():
            break
    found: list[int] = rows.tolist()
    return found


def _halved(holds: Masses, low: Tensor, high: Tensor, mass: float) -> tuple[Tensor, Tensor]:
    """A step of bisection: the upper radii hold the mass, the lower ones do not."""
    middle = (low + high) / 2
    enough = holds(middle) >= mass
    return torch.where(enough, low, middle), torch.where(enough, middle, high)
