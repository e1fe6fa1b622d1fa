"""A network along a segment is a polyline: its kinks, and its values there. For one direction, n = 1.

Kinks are found layer by layer. Those of the first layer are where c + b t changes sign. Between two neighbouring knots
the next layer is affine, so each of its neurons changes sign at most once, where linear interpolation says; and so on,
for any depth. Then every question about a person (samples, quantiles, margins, distances) is one about the polyline.

Nothing is assumed about the knots: what a kink that is missed or displaced could do to the outputs is bounded by the
*slack*. On a piece, fix for each neuron whether it is on. With this pattern the network is affine, and what a neuron's
input has of the wrong sign is largest at an end. Carried through the absolute values of the later weights these wrong
amounts bound how far the network is from the affine one; rounding errors are added to them.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lassi.certify.along.rounding import Errors, Paths
from lassi.certify.along.tiles import along_in_tiles, in_tiles
from lassi.representation.network import Folded


@dataclass(frozen=True, eq=False)
class Polyline:
    """Outputs along a segment.

    Args:
        t: the knots, rising; 0 is among them, ``(P,)``.
        base: the output at t = 0, ``(k,)``.
        moves: how the outputs at the knots differ from it, ``(P, k)``.
        slack: how far the polyline may be from the network anywhere on the segment, ``(k,)``.
    """

    t: Tensor
    base: Tensor
    moves: Tensor
    slack: Tensor

    @cached_property
    def lengths2(self) -> Tensor:
        """Squared lengths of the pieces in the space of outputs, ``(P − 1,)``."""
        return self.moves.diff(dim=0).square().sum(1)

    @cached_property
    def moves2(self) -> Tensor:
        """Squared lengths of the moves, ``(P,)``."""
        return self.moves.square().sum(1)

    @property
    def values(self) -> Tensor:
        """The outputs at the knots, ``(P, k)``."""
        return self.base + self.moves

    def at(self, t: Tensor) -> Tensor:
        """How the outputs differ from the base at any t of the segment, ``(N,)`` to ``(N, k)``."""
        piece = torch.searchsorted(self.t, t).clamp(1, len(self.t) - 1)
        left, right = self.t[piece - 1], self.t[piece]
        share = ((t - left) / (right - left)).nan_to_num(nan=0.0)[:, None]  # NaN: a piece without length
        return torch.lerp(self.moves.index_select(0, piece - 1), self.moves.index_select(0, piece), share)

    def then(self, rows: Tensor, bias: Tensor) -> "Polyline":
        """The polyline of linear functions rows · output + bias; rows are ``(m, k)``."""
        return Polyline(self.t, rows @ self.base + bias, self.moves @ rows.T, rows.abs() @ self.slack)


class Tracer:
    """Finds the polylines of people along one direction.

    Args:
        maps: the folded network, in float64.
        paths: what is summed up in its layers, where that is more than its weights and biases.
    """

    def __init__(self, maps: Folded, paths: Paths | None = None) -> None:
        self.errors = Errors(paths or Paths.of(maps))
        self.maps = maps
        self._columns = [weight.T.contiguous() for weight in maps.weights[1:]]  # (fan-in, fan-out)
        self._absolute_columns = [weight.T.contiguous() for weight in self.errors.absolute]

    def __call__(self, z: Tensor, directions: Tensor, reach: float | Tensor) -> list[Polyline]:
        """The polylines of people on [−reach, reach].

        Args:
            z: ``(B, q)``.
            directions: shared ``(q, 1)`` or a person's own ``(B, q, 1)``.
            reach: of everybody, or of each, ``(B,)``.
        """
        z, directions = z.double(), directions.double()
        along = along_in_tiles(self.maps, z, directions)
        b = along.b[..., 0].expand(len(z), -1)
        reaches = torch.as_tensor(reach, dtype=torch.float64).expand(len(z))
        paths = self.errors.path_sums(z.norm(dim=1) + reaches * directions.norm(dim=(-2, -1)))
        if not self._columns:
            return [self._line(along.c[i], b[i], reaches[i].item(), paths[0][i]) for i in range(len(z))]
        values, slopes = self._second_layer_at_start(along.c, b, reaches)
        return [
            self._trace(along.c[i], b[i], reaches[i].item(), values[i], slopes[i], [path[i] for path in paths])
            for i in range(len(z))
        ]

    def _line(self, c: Tensor, b: Tensor, reach: float, path: Tensor) -> Polyline:
        """The polyline of an affine network."""
        t = c.new_tensor([-reach, 0.0, reach])
        return Polyline(t, c, t[:, None] * b, self.errors.of_layer(1, path, knots=3))

    def _second_layer_at_start(self, c: Tensor, b: Tensor, reaches: Tensor) -> tuple[Tensor, Tensor]:
        """Value and slope of the second layer at −reach, ``(B, h₂)`` each, for everybody at once."""
        inputs = c - b * reaches[:, None]
        slopes = torch.where((inputs > 0) | ((inputs == 0) & (b > 0)), b, 0.0)
        weights = self._columns[0]
        return in_tiles(inputs.clamp(min=0), weights) + self.maps.biases[1], in_tiles(slopes, weights)

    def _trace(self, c: Tensor, b: Tensor, reach: float, value: Tensor, slope: Tensor, paths: list[Tensor]) -> Polyline:
        """Layer by layer: values at the knots, then the kinks that they show.

        ``wrong`` bounds how far a layer's outputs are from the affine ones of a piece, ``off`` how far its inputs as
        computed are from the true ones at the knots, rounding apart. Three parts come with each layer: from the affine
        ones to the true ones at the knots, between the knots, and back.
        """
        kinks, neurons = first_kinks(c, b, reach)
        t, order = torch.cat([c.new_tensor([-reach, 0.0, reach]), kinks]).sort()
        wrong = self._first_wrong(c, b, reach, kinks, neurons, paths[0])
        values = self._second_layer(t, order - 3, b, neurons, value, slope)  # (h, P)
        off = torch.zeros_like(c)
        for layer, columns in enumerate(self._absolute_columns, start=1):
            carried = _carry(wrong, columns)
            off = _carry(off, columns) + 3 * carried
            if layer == len(self._columns):
                break
            margin = carried + off + self.errors.of_layer(layer + 1, paths[layer], knots=2 * len(t))
            least, most = values.amin(1), values.amax(1)
            kept = (most >= -margin).nonzero()[:, 0]  # the others are off all along
            t, knots, own = with_kinks(t, values.index_select(0, kept))  # (P, kept)
            wrong = carried
            unsure = least[kept] <= margin[kept]  # a wrong sign is at most what the value is at its own kink
            wrong[kept] += torch.where(unsure, own + margin[kept], 0.0)
            outputs = knots.relu_() @ self._columns[layer].index_select(0, kept) + self.maps.biases[layer + 1]
            values = outputs.T.contiguous() if layer + 1 < len(self._columns) else outputs.T
        slack = off + self.errors.of_layer(len(self.maps.weights), paths[-1], knots=2 * len(t))
        base = values[:, int((t == 0).nonzero()[0, 0])].clone()
        return Polyline(t, base, values.T - base, slack)

    def _first_wrong(self, c: Tensor, b: Tensor, reach: float, kinks: Tensor, neurons: Tensor, path: Tensor) -> Tensor:
        """What the first layer's inputs have of the wrong sign on a piece: what they are at their own kinks."""
        error = self.errors.of_layer(1, path, knots=0)
        wrong = torch.where(c.abs() <= b.abs() * reach + error, 2 * error, 0.0)
        wrong[neurons] = (c[neurons] + b[neurons] * kinks).abs() + error[neurons]
        return wrong

    def _second_layer(
        self, t: Tensor, which: Tensor, b: Tensor, neurons: Tensor, value: Tensor, slope: Tensor
    ) -> Tensor:
        """The second layer's inputs at all first knots, ``(h₂, P)``, by adding up: at a kink one neuron changes.

        Args:
            which: of each knot, the kink that it is, or a negative number for the ends and 0.
        """
        change = t.new_zeros(len(t), len(value))
        knots = (which >= 0).nonzero()[:, 0]
        of = neurons[which[knots]]
        change[knots] = self._columns[0].index_select(0, of) * b[of].abs()[:, None]  # on adds b, off takes b < 0 away
        change[0] += slope
        steps = change.T.contiguous().cumsum_(1)  # the slopes; adding up is quick where numbers are side by side
        steps[:, 1:] = steps[:, :-1] * t.diff()
        steps[:, 0] = value
        return steps.cumsum_(1)


def first_kinks(c: Tensor, b: Tensor, reach: float) -> tuple[Tensor, Tensor]:
    """Where c + b t changes sign within the segment, and of which neurons."""
    neurons = (c.abs() < b.abs() * reach).nonzero()[:, 0]
    return -c[neurons] / b[neurons], neurons


def with_kinks(t: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Knots, and values ``(h, P)`` at them, with those added at which a value changes sign between two knots.

    Returns:
        knots ``(P′,)``, values ``(P′, h)``, and the largest value that each has at a kink of its own, ``(h,)``: 0 but
        for rounding.
    """
    crossing = ((values.amin(1) < 0) & (values.amax(1) > 0)).nonzero()[:, 0]
    some = values.index_select(0, crossing)
    is_on = some > 0
    changes = (is_on[:, :-1] & (some[:, 1:] < 0)) | ((some[:, :-1] < 0) & is_on[:, 1:])  # a product might underflow
    neuron, piece = changes.nonzero(as_tuple=True)
    left, right = some[neuron, piece], some[neuron, piece + 1]
    neuron, share = crossing[neuron], left / (left - right)
    rows = values.T.contiguous()
    added = torch.lerp(rows.index_select(0, piece), rows.index_select(0, piece + 1), share[:, None])
    own = torch.zeros_like(values[:, 0])
    own.scatter_reduce_(0, neuron, added.gather(1, neuron[:, None])[:, 0].abs(), "amax")
    knots, order = torch.cat([t, torch.lerp(t[piece], t[piece + 1], share)]).sort(stable=True)
    return knots, torch.cat([rows, added]).index_select(0, order), own


def _carry(amounts: Tensor, absolute: Tensor) -> Tensor:
    """Amounts ``(h,)`` through the absolute values of the next layer's weights ``(h, h′)``; most are 0."""
    some = amounts.nonzero()[:, 0]
    return amounts[some] @ absolute.index_select(0, some)
