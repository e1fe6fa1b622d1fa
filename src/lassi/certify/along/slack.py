"""How far a polyline can be from the network, for any choice of knots. For one direction, n = 1.

On every piece, fix whether each neuron is on. With this pattern the network is affine there. At the inputs of a layer,
for t on a piece, let

    x(t)  be the network's own inputs,
    s(t)  those of the affine network of the piece,
    y(t)  those computed: values at the knots, interpolated between them.

Apart from rounding, three bounds per neuron are carried from layer to layer:

    wrong    ≥ |relu(x) − D s|, with D the pattern: how far the outputs are from the affine ones,
    carried  ≥ |x − s|,  namely |W| · wrong of the layer before,
    off      ≥ |y − x|.

As |relu(x) − D s| ≤ |x − s| + |relu(s) − D s|, ``wrong`` is ``carried`` plus the part of s with the wrong sign, which
is largest at an end of the piece, since s is affine. A displaced kink only makes ``wrong`` larger; the only assumption
about the knots is that there is one at every sign change of the computed values.
[docs/mathematics.md#polylines-and-slack]
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.certify.along.kinks import Kinks, Knots, Refined, Start
from lassi.certify.along.rounding import Errors

DETOURS = 3
"""Multiples of ``carried`` by which ``off`` grows per layer.

Between two knots y − x is at most |y − x| at the knots, |x − s| at the knots (both are kept by interpolation, as s is
affine) and |s − x| in between: off + 2 carried. The third covers the rounding of these sums themselves, whose relative
error γ is far below ½. [docs/mathematics.md#polylines-and-slack]
"""

UNSEEN = 2
"""The most, in rounding errors e, that a first-layer input without a kink can have of the wrong sign.

Its computed value has one sign on the segment, so the true one exceeds 0 by at most e on the other side; the second e
covers the comparison that found no kink. [docs/mathematics.md#polylines-and-slack]
"""

RUNNING_SUMS = 2
"""Running sums over the knots behind a value: P additions of slopes, then P of slopes times distances.

Only the second layer is computed this way; later layers inherit its errors along their paths.
[docs/mathematics.md#polylines-and-slack]
"""


@dataclass(frozen=True, eq=False)
class Drift:
    """``carried`` and ``off`` at the inputs of one layer, ``(h,)`` each."""

    carried: Tensor
    off: Tensor

    @staticmethod
    def at_second_layer(wrong: Tensor, absolute: Tensor) -> "Drift":
        """After the first layer, whose inputs are affine in t, so that ``off`` is only rounding."""
        return Drift(torch.zeros_like(wrong), torch.zeros_like(wrong)).through(wrong, absolute)

    def through(self, wrong: Tensor, absolute: Tensor) -> "Drift":
        """At the next layer, through the absolute values of its weights ``(h, h′)``."""
        carried = _carry(wrong, absolute)
        return Drift(carried, _carry(self.off, absolute) + DETOURS * carried)


class Slack:
    """The slack of one person's polyline.

    Args:
        errors: bounds on rounding errors in the network.
        path_sums: S of each layer, ``(h,)``.
    """

    def __init__(self, errors: Errors, path_sums: list[Tensor]) -> None:
        self._errors, self._path_sums = errors, path_sums

    def rounding(self, layer: int, knots: int) -> Tensor:
        """The largest rounding error of a layer's inputs, summed over this many knots, ``(h,)``."""
        return self._errors.of_layer(layer, self._path_sums[layer - 1], additions=RUNNING_SUMS * knots)

    def wrong_in_first_layer(self, start: Start, kinks: Kinks) -> Tensor:
        """How far the first layer's inputs have the wrong sign on a piece: their values at their own kinks, ``(h,)``.

        Neurons without a kink count only where c + b t comes within rounding of 0.
        """
        c, b = start.c, start.b
        error = self.rounding(1, knots=0)
        wrong = torch.where(c.abs() <= b.abs() * start.reach + error, UNSEEN * error, 0.0)
        at_kinks = c[kinks.neurons] + b[kinks.neurons] * kinks.t
        wrong[kinks.neurons] = at_kinks.abs() + error[kinks.neurons]
        return wrong

    def margin(self, layer: int, drift: Drift, knots: Knots) -> Tensor:
        """A bound on |y − s| at the knots: |y − x| + |x − s| + rounding, ``(h,)``.

        Where y is farther than this from 0, it has the sign of s.
        """
        return drift.carried + drift.off + self.rounding(layer, len(knots.t))

    def of_output(self, layer: int, drift: Drift, knots: Knots) -> Tensor:
        """How far the polyline can be from the network anywhere on the segment, ``(k,)``."""
        return drift.off + self.rounding(layer, len(knots.t))


def wrong_signs(values: Tensor, refined: Refined, margin: Tensor) -> Tensor:
    """How far s can have the wrong sign: 0 where y exceeds its margin, else |y| at its own kink + margin, ``(h,)``.

    Args:
        values: y at the knots before the layer's own kinks were added, ``(h, P)``.
        margin: a bound on |y − s|, ``(h,)``.
    """
    is_unsure = values.amin(1) <= margin
    return torch.where(is_unsure, refined.residual + margin, 0.0)


def _carry(amounts: Tensor, absolute: Tensor) -> Tensor:
    """Amounts ``(h,)`` through the absolute values of the next layer's weights ``(h, h′)``; most are 0."""
    some = amounts.nonzero()[:, 0]
    return amounts[some] @ absolute.index_select(0, some)
