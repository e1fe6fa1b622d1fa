"""Whether boxes cover a ball: exactly, in whole numbers.

Corners are rounded outwards to a grid finer than any search cuts, and bounds are computed on the boxes so rounded. The
cube around the ball is cut at faces of the boxes until every cell lies in a box or, provably, outside the ball.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lassi.certify.proof import Leaf

BITS = 48  # of the radius; a search cuts a side of 24 bits in half up to 24 times before rounding matters
CELLS_PER_BOX = 64

Whole = NDArray[np.int64]


class TooManyCells(Exception):
    """The boxes overlap in ways that would take too long to follow."""


@dataclass(frozen=True, eq=False)
class Cover:
    """Boxes ``(m, r)`` on a grid.

    Args:
        low, high: corners, in units of the grid.
        unit: of the grid, a power of 2.
        radius: of the ball.
    """

    low: Whole
    high: Whole
    unit: float
    radius: float

    @staticmethod
    def of(leaves: Sequence[Leaf], radius: float) -> "Cover":
        unit = math.ldexp(1.0, math.frexp(radius)[1] - BITS)
        most = 2.0 ** (BITS + 1)  # beyond the cube around the ball
        low = np.array([leaf.low for leaf in leaves]) / unit
        high = np.array([leaf.high for leaf in leaves]) / unit
        low, high = np.floor(low.clip(-most, most)), np.ceil(high.clip(-most, most))
        return Cover(low.astype(np.int64), high.astype(np.int64), unit, radius)

    def gap(self) -> list[float] | None:
        """A corner of a part of the ball that no box covers; None if the boxes cover the ball."""
        side = math.ceil(Fraction(self.radius) / Fraction(self.unit))
        dim = self.low.shape[1]
        cells = [(np.full(dim, -side), np.full(dim, side), np.arange(len(self.low)))]
        for _ in range(CELLS_PER_BOX * (len(self.low) + dim)):
            if not cells:
                return None
            low, high, boxes = cells.pop()
            boxes = boxes[((self.low[boxes] < high) & (self.high[boxes] > low)).all(1)]
            if not len(boxes):
                if not self._is_outside(low, high):
                    return [float(number) * self.unit for number in _nearest(low, high)]
            elif not ((self.low[boxes] <= low) & (self.high[boxes] >= high)).all(1).any():
                axis, place = self._cut(low, high, boxes)
                for is_upper in (False, True):
                    cut_low, cut_high = low.copy(), high.copy()
                    (cut_low if is_upper else cut_high)[axis] = place
                    cells.append((cut_low, cut_high, boxes))
        raise TooManyCells

    def _is_outside(self, low: Whole, high: Whole) -> bool:
        """Whether a cell has no point of the ball."""
        squares = sum(number * number for number in _nearest(low, high))
        return squares * Fraction(self.unit) ** 2 > Fraction(self.radius) ** 2

    def _cut(self, low: Whole, high: Whole, boxes: NDArray[np.intp]) -> tuple[int, int]:
        """The face within a cell that crosses the fewest boxes; then, that has as many on one side as on the other."""
        best: tuple[int, int, int, int] | None = None
        for axis in range(len(low)):
            starts, ends = np.sort(self.low[boxes, axis]), np.sort(self.high[boxes, axis])
            places = np.unique(np.concatenate([starts, ends]))
            places = places[(places > low[axis]) & (places < high[axis])]
            before, ended = np.searchsorted(starts, places, "left"), np.searchsorted(ends, places, "right")
            crossing, uneven = before - ended, np.abs(ended - (len(boxes) - before))
            for number in np.lexsort((uneven, crossing))[:1]:
                found = (int(crossing[number]), int(uneven[number]), axis, int(places[number]))
                best = found if best is None else min(best, found)
        assert best is not None, "a cell that meets a box but lies in none has a face of it inside"
        return best[2], best[3]


def _nearest(low: Whole, high: Whole) -> list[int]:
    """The point of a cell that is nearest to 0."""
    return [max(a, 0) or min(b, 0) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
