"""Several directions: linear functions of v that are below the margins over a region.

A ReLU that keeps its sign on the ball is linear there and disappears; the others are *unstable*. What is left is a
network on features: 1, v, and the outputs of the unstable ReLUs, layer by layer. From the last layer to the first, an
unstable ReLU with inputs in [a, b] is replaced by a line: by the chord b/(b − a) · (x − a) above it where its weight is
negative, by x or 0 below it where positive. [docs/mathematics.md#linear-bounds-on-a-ball]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lassi.recheck.exact.arithmetic import ZERO, Array, Row, arb, arb_mat
from lassi.recheck.exact.network import Along
from lassi.recheck.exact.regions import Ball, Region

ONE = arb(1)
TIE = 1e-9  # the share of b − a within which b and −a are so close that rounding may decide between the lines below


@dataclass(frozen=True)
class Range:
    """Inputs of a ReLU: exact numbers a ≤ x ≤ b."""

    low: arb
    high: arb

    @property
    def is_on(self) -> bool:
        return self.low >= 0

    @property
    def is_off(self) -> bool:
        return self.high <= 0

    def within(self, other: "Range") -> "Range":
        """The intersection; both are true, so it is too."""
        return Range(max(self.low, other.low), min(self.high, other.high))

    @property
    def is_tie(self) -> bool:
        both, width = float(self.high + self.low), float(self.high - self.low)
        return not (self.is_on or self.is_off) and abs(both) <= TIE * width

    @cached_property
    def lines(self) -> tuple[arb, arb, arb]:
        """The chord's slope, its value at x = 0, and the slope of the line below, which is 0 at x = 0."""
        if self.is_on:
            return ONE, ZERO, ONE
        if self.is_off:
            return ZERO, ZERO, ZERO
        chord = self.high / (self.high - self.low)
        return chord, -chord * self.low, ONE if self.high > -self.low else ZERO


@dataclass(frozen=True, eq=False)
class Block:
    """The unstable ReLUs of a layer: their inputs as functions of the features before them, and as ranges."""

    rows: list[Row]
    ranges: list[Range]

    @cached_property
    def maps(self) -> arb_mat:
        return arb_mat(self.rows)

    @cached_property
    def both_signs(self) -> list[Row]:
        """The inputs and their negatives: lower bounds on both are bounds on both sides."""
        return [*self.rows, *([-entry for entry in row] for row in self.rows)]


@dataclass(frozen=True, eq=False)
class Reduced:
    """A network on the ball: its blocks, and its outputs as rows on all features."""

    blocks: list[Block]
    outputs: list[Row]
    dim: int

    @staticmethod
    def of(along: Along, start: arb_mat, radius: float) -> "Reduced":
        ball, blocks = Ball(radius), list[Block]()
        slopes = along.slopes.tolist()
        rows = [[c, *row] for c, row in zip(start.entries(), slopes, strict=True)]
        for later in along.maps[1:]:
            ranges = _ranges(Block(rows, []), blocks, [block.ranges for block in blocks], ball)
            unstable = [i for i, own in enumerate(ranges) if not (own.is_on or own.is_off)]
            nothing = [ZERO] * len(rows[0])
            stable = arb_mat([row if own.is_on else nothing for row, own in zip(rows, ranges, strict=True)])
            if unstable:
                blocks.append(Block([rows[i] for i in unstable], [ranges[i] for i in unstable]))
            chosen = (
                zip(*(later.columns[i] for i in unstable), strict=True) if unstable else [()] * later.weight.nrows()
            )
            linear = (later.weight * stable).tolist()
            rows = [
                [row[0] + bias, *row[1:], *own]
                for row, bias, own in zip(linear, later.bias.entries(), chosen, strict=True)
            ]
        return Reduced(blocks, rows, along.dim)

    def least(self, region: Region) -> tuple[Row, bool]:
        """Lower bounds on the outputs over a region, and whether rounding may have decided between two lines."""
        ranges = [block.ranges for block in self.blocks]
        if not isinstance(region, Ball):
            ranges = self._ranges_on(region)
        has_tie = any(own.is_tie for of_block in ranges for own in of_block)
        return region.least(below(self.outputs, self.blocks, ranges)), has_tie

    def _ranges_on(self, region: Region) -> list[list[Range]]:
        found: list[list[Range]] = []
        for number, block in enumerate(self.blocks):
            own = _ranges(block, self.blocks[:number], found, region)
            found.append([here.within(there) for here, there in zip(own, block.ranges, strict=True)])
        return found

    @cached_property
    def has_tie(self) -> bool:
        """Whether rounding may have decided between two lines on the ball."""
        return any(own.is_tie for block in self.blocks for own in block.ranges)

    @cached_property
    def influence(self) -> Array:
        """How much each coefficient moves the inputs of unstable ReLUs, roughly, ``(r,)``."""
        slopes = [[abs(float(entry)) for entry in row[1 : 1 + self.dim]] for block in self.blocks for row in block.rows]
        slopes += [[abs(float(entry)) for entry in row[1 : 1 + self.dim]] for row in self.outputs]
        return np.array(slopes).sum(0)


def _ranges(block: Block, before: Sequence[Block], ranges: Sequence[list[Range]], region: Region) -> list[Range]:
    """The inputs of ReLUs over a region."""
    bounds = region.least(below(block.both_signs, before, ranges))
    count = len(block.rows)
    return [Range(low, -minus_high) for low, minus_high in zip(bounds[:count], bounds[count:], strict=True)]


def below(rows: Sequence[Row], blocks: Sequence[Block], ranges: Sequence[list[Range]]) -> list[Row]:
    """Linear functions of v below linear functions of features, given as rows on 1, v and the blocks' outputs."""
    found = list(rows)
    for block, own in zip(reversed(blocks), reversed(ranges), strict=True):
        width = len(block.rows[0])
        lines = [one.lines for one in own]
        weights, constants = [], []
        for row in found:
            scaled, constant = _replaced(row[width:], lines)
            weights.append(scaled)
            constants.append(constant)
        added = (arb_mat(weights) * block.maps).tolist()
        found = [
            [row[0] + more[0] + constant, *(a + b for a, b in zip(row[1:width], more[1:], strict=True))]
            for row, more, constant in zip(found, added, constants, strict=True)
        ]
    return found


def _replaced(weights: Row, lines: Sequence[tuple[arb, arb, arb]]) -> tuple[Row, arb]:
    """Weights of the inputs in place of weights of the outputs of ReLUs, and the constant that comes with them."""
    scaled, constant = [], ZERO
    for weight, (chord, lift, slope) in zip(weights, lines, strict=True):
        if weight >= 0:
            scaled.append(weight * slope)
        elif weight <= 0:
            scaled.append(weight * chord)
            constant += weight * lift
        else:  # its sign is within rounding: weight = up + down
            up, down = weight.nonnegative_part(), -((-weight).nonnegative_part())
            scaled.append(up * slope + down * chord)
            constant += down * lift
    return scaled, constant
