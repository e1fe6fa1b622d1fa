"""Where a network bends along a segment, and its values there. For one direction, n = 1.

Kinks are found layer by layer. Those of the first layer are where c + b t changes sign. Between two neighbouring knots
the next layer is affine, so each of its neurons changes sign at most once, where linear interpolation says; and so on,
for any depth. [docs/mathematics.md#the-network-along-a-segment]

Nothing here is exact, and nothing needs to be: ``slack.py`` bounds what a missing or displaced kink can do.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Start:
    """One person's segment, as known before finding any kink.

    Args:
        c, b: the first layer's inputs are c + b t, ``(h,)`` each.
        reach: r; the segment is [−r, r].
        value, slope: of the second layer's inputs at −r, ``(h₂,)`` each.
    """

    c: Tensor
    b: Tensor
    reach: float
    value: Tensor
    slope: Tensor


class Kinks(NamedTuple):
    """Positions of the first layer's kinks, and the neurons whose kinks they are, ``(p,)`` each."""

    t: Tensor
    neurons: Tensor


class Knots(NamedTuple):
    """A layer's inputs y at the knots.

    Args:
    t: the knots, increasing, ``(P,)``.
        values: y, ``(h, P)``.
    """

    t: Tensor
    values: Tensor


class Refined(NamedTuple):
    """A layer's inputs y after the layer's own kinks have become knots.

    Args:
    t: the knots, increasing, ``(P′,)``.
        values: y, ``(P′, h)``.
        residual: the largest |y| of each neuron at one of its own kinks, ``(h,)``: 0 apart from rounding.
    """

    t: Tensor
    values: Tensor
    residual: Tensor


def first_kinks(c: Tensor, b: Tensor, reach: float) -> Kinks:
    """Where c + b t changes sign within the segment, and for which neurons."""
    neurons = (c.abs() < b.abs() * reach).nonzero()[:, 0]
    return Kinks(-c[neurons] / b[neurons], neurons)


def outputs_at_start(c: Tensor, b: Tensor, reaches: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs of the first layer at −r, and their slopes to the right of it, ``(B, h)`` each.

    The sign of c − b r as rounded agrees with the comparison in ``first_kinks``, so every kink found there changes the
    on/off state found here.
    """
    inputs = c - b * reaches[:, None]
    slopes = torch.where((inputs > 0) | ((inputs == 0) & (b > 0)), b, 0.0)
    return inputs.clamp(min=0), slopes


def second_layer(start: Start, kinks: Kinks, columns: Tensor) -> Knots:
    """The second layer's inputs at the ends, at 0 and at the first layer's kinks, by two running sums.

    At a kink one neuron changes, so the slopes are a running sum over the knots. The values are another, of slopes
    times distances.

    Args:
        columns: the second layer's weights, ``(h, h₂)``.
    """
    ends = start.c.new_tensor([-start.reach, 0.0, start.reach])
    t, order = torch.cat([ends, kinks.t]).sort()
    changes = _changes_of_slope(start, kinks, order - len(ends), columns)
    changes[0] += start.slope
    steps = changes.T.contiguous().cumsum_(1)  # the slopes; summing contiguous numbers is fast
    steps[:, 1:] = steps[:, :-1] * t.diff()
    steps[:, 0] = start.value
    return Knots(t, steps.cumsum_(1))


def _changes_of_slope(start: Start, kinks: Kinks, which: Tensor, columns: Tensor) -> Tensor:
    """The changes in the second layer's slopes at each knot, ``(P, h₂)``.

    Args:
        which: the kink at each knot, or a negative number for the ends and 0, ``(P,)``.
    """
    changes = columns.new_zeros(len(which), columns.shape[1])
    knots = (which >= 0).nonzero()[:, 0]
    neurons = kinks.neurons[which[knots]]
    weights = columns.index_select(0, neurons)
    changes[knots] = weights * start.b[neurons].abs()[:, None]  # turning on adds b > 0, turning off removes b < 0
    return changes


def with_kinks(t: Tensor, values: Tensor) -> Refined:
    """The knots ``(P,)`` and values ``(h, P)``, with a knot added wherever a value changes sign between two of them."""
    neuron, piece, share = _sign_changes(values)
    rows = values.T.contiguous()
    added = torch.lerp(rows.index_select(0, piece), rows.index_select(0, piece + 1), share[:, None])
    residual = torch.zeros_like(values[:, 0])
    residual.scatter_reduce_(0, neuron, added.gather(1, neuron[:, None])[:, 0].abs(), "amax")
    knots, order = torch.cat([t, torch.lerp(t[piece], t[piece + 1], share)]).sort(stable=True)
    return Refined(knots, torch.cat([rows, added]).index_select(0, order), residual)


def _sign_changes(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which neurons change sign, on which piece, and at what share of it, for values ``(h, P)`` at the knots."""
    crossing = ((values.amin(1) < 0) & (values.amax(1) > 0)).nonzero()[:, 0]
    some = values.index_select(0, crossing)
    is_on = some > 0
    changes = (is_on[:, :-1] & (some[:, 1:] < 0)) | ((some[:, :-1] < 0) & is_on[:, 1:])  # a product could underflow
    row, piece = changes.nonzero(as_tuple=True)
    left, right = some[row, piece], some[row, piece + 1]
    return crossing[row], piece, left / (left - right)
