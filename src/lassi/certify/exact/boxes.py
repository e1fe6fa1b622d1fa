"""Boxes of coefficients within the ball, bounds of linear functions on them, and how they are cut in two."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

BITS = 24  # of a half side, so that the first 29 cuts across it are exact
ROUNDS = 2  # in which the part of a function is found that the ball bounds better than the box
LONGEST_EVERY = 24  # levels; so no side is never cut
HUGE = 1e300  # in place of ∞, which times 0 would not be a number


@dataclass(frozen=True, eq=False)
class Boxes:
    """Parts of the box around the ball ‖t‖ ≤ R.

    Args:
        middle, half: their middles and half sides, ``(b, n)``.
        depth: how often they were cut, ``(b,)``.
        bound: what is known of a function on them, or on what they were cut from, ``(b,)``.
        radius: R.
    """

    middle: Tensor
    half: Tensor
    depth: Tensor
    bound: Tensor
    radius: float

    @staticmethod
    def around_ball(n: int, radius: float) -> "Boxes":
        """The whole box, hardly larger than the ball."""
        fraction, exponent = math.frexp(radius)
        side = math.ldexp(math.ceil(fraction * 2**BITS), exponent - BITS)
        middle, depth = torch.zeros(1, n, dtype=torch.float64), torch.zeros(1, dtype=torch.int64)
        return Boxes(middle, middle + side, depth, middle.new_full((1,), -torch.inf), radius)

    def __len__(self) -> int:
        return len(self.middle)

    def __getitem__(self, rows: Tensor | slice) -> "Boxes":
        return Boxes(self.middle[rows], self.half[rows], self.depth[rows], self.bound[rows], self.radius)

    def and_(self, other: "Boxes") -> "Boxes":
        middle, half, depth, bound = (
            torch.cat([getattr(self, name), getattr(other, name)]) for name in ("middle", "half", "depth", "bound")
        )
        return Boxes(middle, half, depth, bound, self.radius)

    @cached_property
    def sides(self) -> tuple[Tensor, Tensor]:
        """The least and the largest coefficients in each box, ``(b, 1, n)``."""
        return (self.middle - self.half)[:, None], (self.middle + self.half)[:, None]

    @property
    def meets_ball(self) -> Tensor:
        """Whether there is a point of the ball in a box, with room for rounding, ``(b,)``."""
        nearest = (self.middle.abs() - self.half).clamp(min=0).norm(dim=1)
        return nearest <= self.radius * (1 + 1e-9)

    def least(self, linear: Tensor) -> Tensor:
        """The least value of linear functions on each box within the ball, from below.

        ``(b, m, 1 + n)`` or ``(m, 1 + n)`` to ``(b, m)``. The boxes meet the ball.

        k·t = (k − μ)·t + μ·t is at least what the first part is on the box and the second on the ball, for every μ.
        """
        slopes = linear[..., 1:]
        part = self._better_by_ball(slopes)
        on_both = self._least_on_box(slopes - part) - self.radius * part.norm(dim=-1)
        on_one = torch.maximum(self._least_on_box(slopes), -self.radius * slopes.norm(dim=-1))
        return linear[..., 0] + torch.maximum(on_both, on_one)

    def _least_on_box(self, slopes: Tensor) -> Tensor:
        return (slopes * self.middle[:, None] - slopes.abs() * self.half[:, None]).sum(-1)

    def _better_by_ball(self, slopes: Tensor) -> Tensor:
        """A good μ for functions with slopes k: −t/s where k·t is least, at t = −s k clipped to the box, ‖t‖ = R.

        s is found by turns: which numbers are clipped at s, and which s makes the others long enough. As every μ
        serves, it need not be found exactly. It is not below R/‖k‖, so that no μᵢ is above ‖k‖, for the rounding.
        """
        low, high = self.sides
        squares = slopes.square()
        s = least = (self.radius / squares.sum(-1, keepdim=True).sqrt()).clamp(max=HUGE)
        for _ in range(ROUNDS):
            t = -s * slopes
            clipped = t.clamp(low, high)
            is_free = t == clipped
            room = self.radius**2 - clipped.square().masked_fill_(is_free, 0.0).sum(-1, keepdim=True)
            free = (squares * is_free).sum(-1, keepdim=True)
            s = torch.maximum((room.clamp_(min=0.0) / free.clamp_(min=1 / HUGE)).sqrt_().clamp_(max=HUGE), least)
        return slopes.clamp(-high / s, -low / s)

    def halves(self, influence: Tensor) -> "Boxes":
        """Those halves of the boxes that meet the ball.

        Each box is cut where that leaves the least room, in both halves together, to a function whose slopes are the
        influence ``(n,)`` of the coefficients; or, every few levels, across the longest side.
        """
        n = self.middle.shape[1]
        lower, upper = self[torch.arange(len(self)).repeat_interleave(n)]._cut(torch.arange(n).repeat(len(self)))
        room = lower.and_(upper)._room(influence).view(2, -1, n).sum(0)
        is_turn = (self.depth % LONGEST_EVERY == LONGEST_EVERY - 1)[:, None]
        lower, upper = self._cut(torch.where(is_turn, self.half, -room).argmax(1))
        both = lower.and_(upper)
        return both[both.meets_ball.nonzero()[:, 0]]

    def _cut(self, side: Tensor) -> tuple["Boxes", "Boxes"]:
        """The lower and upper halves of each box, cut across a side of it ``(b,)``."""
        side = side[:, None]
        quarter = self.half.gather(1, side) / 2
        half, shift = self.half.scatter(1, side, quarter), torch.zeros_like(self.half).scatter(1, side, quarter)
        lower = replace(self, middle=self.middle - shift, half=half, depth=self.depth + 1)
        return lower, replace(lower, middle=self.middle + shift)

    def _room(self, slopes: Tensor) -> Tensor:
        """How far a function with some slopes ``(n,)`` ranges on each box within the ball, ``(b,)``; 0 outside it."""
        linear = torch.cat([slopes.new_zeros(2, 1), torch.stack([slopes, -slopes])], 1)
        return torch.where(self.meets_ball, -self.least(linear).sum(1), 0.0)
