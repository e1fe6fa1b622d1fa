"""Gaussian masses of balls along a polyline, computed: no sample, no sampling error. For one direction.

On a piece |g(t) − c|² is a quadratic in t, so where it is at most r² is an interval, whose mass is a difference of Φ.
"""

import torch
from torch import Tensor

from lassi.certify.walk import PolylineWalk

STEPS = 60  # of bisection, down to the last bits
ROUND_UP = 1e-12  # of a mass: what a sum of Φ-differences may be off by


def masses(walk: PolylineWalk, squares: Tensor, radii: Tensor, sigma: float) -> Tensor:
    """The mass of N(0, σ²) on {t : |g(t) − c_i| ≤ r_i}, what lies beyond the polyline left out; ``(m,)``.

    Args:
        squares: squared distances of the knots to the centres, ``(m, P)``.
        radii: ``(m,)``.
    """
    t = walk.line.t
    lengths = walk.line.moves.diff(dim=0).square().sum(1)  # |u − v|², (P − 1,)
    start, end = squares[:, :-1], squares[:, 1:]
    # lengths · θ² + (end − start − lengths) · θ + start − r² ≤ 0
    half = (end - start - lengths) / 2
    constant = start - radii.square()[:, None]
    root = (half.square() - lengths * constant).clamp(min=0).sqrt()
    is_point = lengths <= 0
    scale = torch.where(is_point, 1.0, lengths)
    low, high = (-half - root) / scale, (-half + root) / scale
    is_inside = half.square() >= lengths * constant
    low = torch.where(is_point, 0.0, low).clamp(0, 1)
    high = torch.where(is_point, (constant <= 0).to(low.dtype), high).clamp(0, 1)
    width = t.diff()
    upper = torch.special.ndtr((t[:-1] + high * width) / sigma)
    lower = torch.special.ndtr((t[:-1] + low * width) / sigma)
    return torch.where(is_inside & (high > low), upper - lower, 0.0).sum(1)


def mass_radius(walk: PolylineWalk, centre: Tensor, sigma: float, mass: float) -> float:
    """A radius that holds the mass, hardly more than the least one, rounded up; infinite where none does."""
    squares = walk.squares_at_knots(centre[None])
    high = squares.max(1).values.sqrt()
    if masses(walk, squares, high * (1 + 1e-9), sigma).item() < mass + ROUND_UP:
        return float("inf")
    low = torch.zeros_like(high)
    high = high * (1 + 1e-9)
    for _ in range(STEPS):
        middle = (low + high) / 2
        holds = masses(walk, squares, middle, sigma) >= mass + ROUND_UP
        low, high = torch.where(holds, low, middle), torch.where(holds, middle, high)
    return high.item()


def half_mass_centre(walk: PolylineWalk, candidates: Tensor, sigma: float) -> int:
    """Which of the candidates ``(m, k)`` needs the least radius to hold half of the mass.

    By bisection for all at once; a candidate that can no longer be the best is left out.
    """
    squares = walk.squares_at_knots(candidates)
    rows = torch.arange(len(candidates))
    low = torch.zeros(len(candidates), dtype=torch.float64)
    high = squares.max(1).values.sqrt() * (1 + 1e-9)
    for _ in range(STEPS):
        middle = (low + high) / 2
        holds = masses(walk, squares[rows], middle, sigma) >= 0.5
        low, high = torch.where(holds, low, middle), torch.where(holds, middle, high)
        kept = low < high.min()
        rows, low, high = rows[kept], low[kept], high[kept]
        if len(rows) == 1:
            break
    return int(rows[0])
