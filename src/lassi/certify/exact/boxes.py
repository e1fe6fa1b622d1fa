"""Boxes of coefficients within the ball, bounds on linear functions over them, and how they are halved."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

BITS = 24  # of a half side, so that the first 29 cuts across it are exact
ROUNDS = 2  # of finding the part of a function that the ball bounds better than the box
LONGEST_EVERY = 24  # levels; ensures that every side is cut eventually
HUGE = 1e300  # instead of ∞, as ∞ · 0 is not a number


@dataclass(frozen=True, eq=False)
class Boxes:
    """Parts of the box around the ball ‖t‖ ≤ R.

    Args:
        middle, half: their middles and half sides, ``(b, n)``.
        depth: how often they have been cut, ``(b,)``.
        bound: a bound on a function on them, or on the boxes they were cut from, ``(b,)``.
        radius: R.
    """

    middle: Tensor
    half: Tensor
    depth: Tensor
    bound: Tensor
    radius: float

    @staticmethod
    def around_ball(n: int, radius: float) -> "Boxes":
        """The whole box, barely larger than the ball."""
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
        """Whether each box contains a point of the ball, with room for rounding, ``(b,)``."""
        nearest = (self.middle.abs() - self.half).clamp(min=0).norm(dim=1)
        return nearest <= self.radius * (1 + 1e-9)

    def least(self, linear: Tensor) -> Tensor:
        """Lower bounds on linear functions on each box within the ball.

        ``(b, m, 1 + n)`` or ``(m, 1 + n)`` to ``(b, m)``. The boxes meet the ball.

        For every μ, k·t = (k − μ)·t + μ·t is at least the minimum of the first part on the box plus that of the second
        on the ball.
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

        s is found by alternating: which numbers are clipped at s, and which s makes the others long enough. As every μ
        is valid, s need not be exact. It is at least R/‖k‖, so that no μᵢ exceeds ‖k‖, as the rounding bound requires.
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
        """The halves of the boxes that meet the ball.

        Each box is cut so that a function whose slopes are the coefficients' influence ``(n,)`` has the smallest total
        range over both halves; or, every ``LONGEST_EVERY`` levels, across the longest side.
        """
        n = self.middle.shape[1]
        lower, upper = self[torch.arange(len(self)).repeat_interleave(n)]._cut(torch.arange(n).repeat(len(self)))
        room = lower.and_(upper)._room(influence).view(2, -1, n).sum(0)
        is_turn = (self.depth % LONGEST_EVERY == LONGEST_EVERY - 1)[:, None]
        lower, upper = self._cut(torch.where(is_turn, self.half, -room).argmax(1))
        both = lower.and_(upper)
        return both[both.meets_ball.nonzero()[:, 0]]

    def _cut(self, side: Tensor) -> tuple["Boxes", "Boxes"]:
        """The lower and upper halves of each box, cut across one of its sides ``(b,)``."""
        side = side[:, None]
        quarter = self.half.gather(1, side) / 2
        half, shift = self.half.scatter(1, side, quarter), torch.zeros_like(self.half).scatter(1, side, quarter)
        lower = replace(self, middle=self.middle - shift, half=half, depth=self.depth + 1)
        return lower, replace(lower, middle=self.middle + shift)

    def _room(self, slopes: Tensor) -> Tensor:
        """The range of a function with slopes ``(n,)`` on each box within the ball, ``(b,)``; 0 outside it."""
        linear = torch.cat([slopes.new_zeros(2, 1), torch.stack([slopes, -slopes])], 1)
        return torch.where(self.meets_ball, -self.least(linear).sum(1), 0.0)
