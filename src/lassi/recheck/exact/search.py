"""The margins of one person on a ball: bounds on parts of it, a point where one is small, and a search of our own."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lassi.recheck.exact.arithmetic import Array, arb, arb_mat, floats, least
from lassi.recheck.exact.network import Along
from lassi.recheck.exact.regions import Box, Region
from lassi.recheck.exact.relaxation import Reduced

STARTS, STEPS = 64, 30  # of the descent
INWARD = 1 - 1e-12  # so that rounding leaves points in the ball


@dataclass(frozen=True, eq=False)
class Place:
    """The network along one person's ball.

    Args:
        start: the first layer at the person.
        radius: of the ball.
    """

    along: Along
    start: arb_mat
    radius: float

    @cached_property
    def reduced(self) -> Reduced:
        return Reduced.of(self.along, self.start, self.radius)

    @property
    def cube(self) -> Box:
        """All of the ball, as a box."""
        side = np.full(self.along.dim, self.radius)
        return Box(-side, side, self.radius)

    def bound(self, region: Region) -> tuple[arb, bool]:
        """A lower bound on the margins over a region, and whether rounding may have decided between two lines."""
        bounds, has_tie = self.reduced.least(region)
        rests = zip(bounds, self.along.rest, strict=True)
        return least([(bound - self.radius * rest).lower() for bound, rest in rests]), has_tie or self.reduced.has_tie

    def margin_at(self, point: Array) -> arb:
        """An upper bound on the least margin at a point of the ball ``(r,)``, and so on that over the ball."""
        values = [row[0] for row in self.along.at(self.start, point[:, None])]
        rests = zip(values, self.along.rest, strict=True)
        return least([(value + self.radius * rest).upper() for value, rest in rests])

    def prove(self, boxes: list[Box], target: arb, budget: int) -> tuple[arb | None, Array | None]:
        """Cut boxes until every margin is at least the target on each of them.

        Returns:
            what is proven on all of them, or None; and a point where a margin is provably below the target, or None.
            Neither is known if the budget, in boxes, runs out.
        """
        left, proven = list(boxes), list[arb]()
        while left:
            box = left.pop()
            if not box.meets_ball:
                continue
            if budget <= 0:
                return None, None
            budget -= 1
            bound, _ = self.bound(box)
            if bound >= target:
                proven.append(bound)
                continue
            middle = self.into_ball((box.low + box.high) / 2)
            if self._rounded(middle[:, None])[0] < float(target) and self.margin_at(middle) < target:
                return None, middle
            left += box.halves(self.reduced.influence)
        return min(proven, default=target), None

    def low_point(self) -> Array:
        """A point of the ball where some margin is small, ``(r,)``: by descent in floats from the best of several."""
        rng = np.random.default_rng(0)
        points = rng.standard_normal((self.along.dim, 2 * STARTS))
        points /= np.linalg.norm(points, axis=0)
        points[:, :STARTS] *= rng.random(STARTS) ** (1 / self.along.dim)
        points = np.concatenate([np.zeros((self.along.dim, 1)), self.radius * INWARD * points], 1)
        values = self._rounded(points)
        best, lowest, step = points[:, int(values.argmin())], values.min(), self.radius / 2
        for _ in range(STEPS):
            gradient = self._gradient(best)
            moved = self.into_ball(best - step * gradient / max(float(np.linalg.norm(gradient)), 1e-300))
            value = self._rounded(moved[:, None])[0]
            if value < lowest:
                best, lowest = moved, value
            else:
                step /= 2
        return best

    def into_ball(self, point: Array) -> Array:
        length = float(np.linalg.norm(point))
        return point if length <= self.radius * INWARD else point * (self.radius * INWARD / length)

    @cached_property
    def _rounded_start(self) -> Array:
        return floats(self.start)

    def _rounded(self, points: Array) -> Array:
        """The least margins at points ``(r, P)``, in floats, ``(P,)``."""
        return np.asarray(self.along.rounded(self._rounded_start, points).min(0))

    def _gradient(self, point: Array) -> Array:
        """Of the least margin, in floats, ``(r,)``."""
        slopes = self.along.rounded_slopes
        values = self._rounded_start[:, 0] + slopes @ point
        for later in self.along.maps[1:]:
            weight, bias = later.rounded
            is_on = values > 0
            values, slopes = weight @ (values * is_on) + bias[:, 0], weight @ (slopes * is_on[:, None])
        return np.asarray(slopes[int(values.argmin())])
