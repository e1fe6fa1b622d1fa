"""Gaussian masses of balls along a polyline, computed: no sample, no sampling error. For one direction.

On a piece |g(t) − c|² is a quadratic in t, so where it is at most r² is an interval, whose mass is a difference of Φ.
"""

import torch
from torch import Tensor

from lassi.certify.walk import PolylineWalk

STEPS = 36  # of bisection: the radius is found, from above, to some 1e-11 of the largest
ROUND_UP = 1e-12  # of a mass: what a sum of Φ-differences may be off by


class Masses:
    """Gaussian masses of balls around some centres.

    Args:
        squares: squared distances of the knots to the centres, ``(m, P)``.
        sigma: of the noise on t.
    """

    def __init__(self, walk: PolylineWalk, squares: Tensor, sigma: float) -> None:
        line = walk.line
        self._t = line.t[:-1] / sigma
        self._width = line.t.diff() / sigma
        # lengths · θ² + 2 half · θ + start − r² ≤ 0 on a piece; one that is a point, or nearly, is in or out as a whole
        self._start, lengths = squares[:, :-1], line.lengths2
        self._half = (squares[:, 1:] - self._start - lengths) / 2
        self._is_point = lengths <= torch.finfo(lengths.dtype).tiny
        self._lengths = torch.where(self._is_point, 1.0, lengths)
        self.largest = squares.amax(1).sqrt() * (1 + 1e-9)

    def keep(self, rows: Tensor) -> None:
        """Forget all centres but some."""
        self._start, self._half, self.largest = self._start[rows], self._half[rows], self.largest[rows]

    def __call__(self, radii: Tensor) -> Tensor:
        """The mass of {t : |g(t) − c_i| ≤ r_i}, what lies beyond the polyline left out; ``(m,)``."""
        constant = self._start - radii.square()[:, None]
        under_root = self._half.square() - self._lengths * constant
        root = under_root.clamp(min=0).sqrt_()
        low = (-self._half - root).div_(self._lengths).clamp_(0, 1)
        high = (root - self._half).div_(self._lengths).clamp_(0, 1)
        is_in = (under_root >= 0) & (high > low)
        if self._is_point.any():
            low = torch.where(self._is_point, 0.0, low)
            high = torch.where(self._is_point, 1.0, high)
            is_in = torch.where(self._is_point, constant <= 0, is_in)
        ends = torch.stack([high, low]).mul_(self._width).add_(self._t)
        upper, lower = torch.special.ndtr(ends)
        return torch.where(is_in, upper - lower, 0.0).sum(1)


def mass_radius(walk: PolylineWalk, centre: Tensor, sigma: float, mass: float) -> float:
    """A radius that holds the mass, hardly more than the least one, rounded up; infinite where none does."""
    holds = Masses(walk, walk.squares_at_knots(centre[None]), sigma)
    high = holds.largest
    if holds(high).item() < mass + ROUND_UP:
        return float("inf")
    low = torch.zeros_like(high)
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = holds(middle) >= mass + ROUND_UP
        low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
    return high.item()


def half_mass_centre(walk: PolylineWalk, candidates: Tensor, sigma: float) -> int:
    """Which of the candidates ``(m, k)`` needs the least radius to hold half of the mass.

    By bisection for all at once; a candidate that can no longer be the best is left out.
    """
    holds = Masses(walk, walk.squares_at_knots(candidates), sigma)
    rows = torch.arange(len(candidates))
    low, high = torch.zeros(len(candidates), dtype=torch.float64), holds.largest
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = holds(middle) >= 0.5
        low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
        kept = (low <= high.min()).nonzero()[:, 0]
        if len(kept) < len(rows):
            rows, low, high = rows[kept], low[kept], high[kept]
            holds.keep(kept)
        if len(rows) == 1:
            break
    return int(rows[0])
