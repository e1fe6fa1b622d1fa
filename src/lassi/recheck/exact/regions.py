"""The ball ‖v‖ ≤ ε, and boxes within it: the least value there of linear functions k₀ + k·v."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lassi.recheck.exact.arithmetic import Array, Row, arb, norm

HUGE = 1e300


class Region(Protocol):
    """A part of the ball."""

    def least(self, rows: Sequence[Row]) -> Row:
        """Lower bounds on linear functions, given as rows (k₀, k₁, …), over the region."""


@dataclass(frozen=True)
class Ball:
    """‖v‖ ≤ ε."""

    radius: float

    def least(self, rows: Sequence[Row]) -> Row:
        return [(row[0] - self.radius * norm(row[1:])).lower() for row in rows]


@dataclass(frozen=True, eq=False)
class Box:
    """The points of the ball ‖v‖ ≤ ε with low ≤ v ≤ high."""

    low: Array
    high: Array
    radius: float

    def least(self, rows: Sequence[Row]) -> Row:
        """By weak duality: for every μ, k·v = (k − μ)·v + μ·v ≥ Σ min (kᵢ − μᵢ)vᵢ over the box − ε‖μ‖."""
        slopes = np.array([[float(entry) for entry in row[1:]] for row in rows]).reshape(len(rows), len(self.low))
        parts = self._best_parts(slopes).tolist()
        return [self._bound(row, part) for row, part in zip(rows, parts, strict=True)]

    def _bound(self, row: Row, part: list[float]) -> arb:
        total = row[0]
        for slope, own, low, high in zip(row[1:], part, self.low.tolist(), self.high.tolist(), strict=True):
            left = slope - own
            if left >= 0:
                total += left * low
            elif left <= 0:
                total += left * high
            else:
                total += (left * low).min(left * high)
        return (total - self.radius * norm([arb(own) for own in part])).lower()

    def _best_parts(self, slopes: Array) -> Array:
        """The best of three μ, in floats: 0 (the box alone), k (the ball alone), and one for both, ``(m, r)``."""
        choices = np.stack([np.zeros_like(slopes), slopes, self._part_for_both(slopes)])
        left = slopes - choices
        on_box = np.minimum(left * self.low, left * self.high).sum(2)
        best = (on_box - self.radius * np.linalg.norm(choices, axis=2)).argmax(0)
        return np.asarray(choices[best, np.arange(len(slopes))])

    def _part_for_both(self, slopes: Array) -> Array:
        """μ = −v/s at the v = −s k, clipped to the box, that has length ε; s in two rounds.

        [docs/mathematics.md#box-and-ball]
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            s = shortest = np.minimum(self.radius / np.linalg.norm(slopes, axis=1, keepdims=True), HUGE)
            for _ in range(2):
                wanted = -s * slopes
                clipped = np.clip(wanted, self.low, self.high)
                is_free = wanted == clipped
                room = self.radius**2 - np.where(is_free, 0.0, clipped**2).sum(1, keepdims=True)
                free = np.where(is_free, slopes**2, 0.0).sum(1, keepdims=True)
                s = np.sqrt(np.maximum(room, 0.0) / np.maximum(free, 1 / HUGE))
                s = np.maximum(np.minimum(s, HUGE), shortest)
            return np.nan_to_num(np.clip(slopes, -self.high / s, -self.low / s))

    @property
    def meets_ball(self) -> bool:
        """Whether it may contain a point of the ball; False is proven."""
        nearest = [max(low, -high, 0.0) for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)]
        return not norm([arb(distance) for distance in nearest]) > self.radius

    def halves(self, influence: Array) -> tuple["Box", "Box"]:
        """Cut in the middle, across the side over which a function with these slopes ``(r,)`` varies most."""
        axis = int((influence * (self.high - self.low)).argmax())
        middle = (self.low[axis] + self.high[axis]) / 2
        high, low = self.high.copy(), self.low.copy()
        high[axis] = low[axis] = middle
        return Box(self.low, high, self.radius), Box(low, self.high, self.radius)
