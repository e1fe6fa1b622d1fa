"""Linear bounds on a ReLU network: every unstable ReLU lies between two lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Block:
    """The unstable ReLUs of a layer.

    Args:
        rows: which neurons of the layer they are, ``(u,)``.
        maps: their inputs as a map of the features before them, ``(u, f)``.
        low, high: bounds on the inputs over the ball, ``(u,)``.
        error: how much the bounds on the inputs are widened for rounding, ``(u,)``.
    """

    rows: Tensor
    maps: Tensor
    low: Tensor
    high: Tensor
    error: Tensor

    @cached_property
    def inputs_and_negatives(self) -> Tensor:
        """The maps and their negatives, ``(2u, f)``: lower bounds on both bound the inputs from both sides."""
        return torch.cat([self.maps, -self.maps])


def lower_bounds(rows: Tensor, blocks: Sequence[Block], ranges: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Linear functions of (1, t) below linear functions of features.

    From the last block to the first, a ReLU whose input x lies in [l, u] is replaced by a line: where its coefficient
    is negative, by the chord u/(u − l) · (x − l) above it; where positive, by x or 0 below it.

    Args:
        rows: the functions, ``(m, f)``, with f the features up to and including the last block.
        ranges: l and u of each block, ``(u,)``, or ``(b, u)`` on each of b regions.
    Returns:
        ``(m, 1 + n)``, or ``(b, m, 1 + n)``.
    """
    for block, (low, high) in zip(reversed(blocks), reversed(ranges), strict=True):
        before = block.maps.shape[1]
        weights, rows = rows[..., before:], rows[..., :before]
        chord, slope = lines(low, high)
        down, up = weights.clamp(max=0), weights.clamp(min=0)
        rows = rows + _scaled_product(down, chord, block.maps) + _scaled_product(up, slope, block.maps)
        rows[..., :1] += _scaled_product(down, chord * -low.clamp(max=0), block.maps.new_ones(len(block.maps), 1))
    return rows


def _scaled_product(weights: Tensor, factors: Tensor, maps: Tensor) -> Tensor:
    """weights · diag(factors) · maps for weights ``(…, m, u)``, factors ``(…, u)`` and maps ``(u, f)``.

    Weights shared by many regions are not copied for each of them where the maps are the smaller of the two.
    """
    if weights.ndim == 2 and factors.ndim == 2 and weights.shape[0] > maps.shape[1]:
        scaled = maps.T.contiguous() * factors[:, None, :]  # (b, f, u), contiguous in this order: one large product
        return (scaled @ weights.T).transpose(1, 2)
    return (weights * factors[..., None, :]) @ maps


def lines(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """The slope of the chord above a ReLU on [l, u], and of the line through 0 below it.

    Where the sign is fixed, both are the ReLU itself. The lower line is the one with the smaller area in between.
    """
    is_on, is_off = low >= 0, high <= 0
    chord = high / (high - low).clamp(min=torch.finfo(low.dtype).tiny)
    chord = torch.where((high - low).isfinite(), chord.clamp(0, 1), 1.0)  # x − l is also above it
    chord = torch.where(is_on, 1.0, torch.where(is_off, 0.0, chord))
    slope = torch.where(is_on, 1.0, torch.where(is_off, 0.0, (high > -low).to(low.dtype)))
    return chord, slope


def least_on_ball(linear: Tensor, radius: float) -> Tensor:
    """The least value on ‖t‖ ≤ R of linear functions of (1, t), ``(…, 1 + n)`` to ``(…)``."""
    return linear[..., 0] - radius * linear[..., 1:].norm(dim=-1)
