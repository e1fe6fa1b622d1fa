"""A network along a segment is a polyline: its knots, its values there, and how far it can be from the network.

For one direction, n = 1. ``kinks.py`` finds the knots and the values, ``slack.py`` bounds how far off they can be; here
they come together. Every question about a person (samples, quantiles, margins, distances) then becomes one about
the polyline. [docs/mathematics.md#the-network-along-a-segment, docs/mathematics.md#polylines-and-slack]
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lassi.certify.along.kinks import (
    Knots,
    Refined,
    Start,
    first_kinks,
    outputs_at_start,
    second_layer,
    with_kinks,
)
from lassi.certify.along.rounding import Errors, Paths
from lassi.certify.along.slack import Drift, Slack, wrong_signs
from lassi.certify.along.tiles import along_in_tiles, in_tiles
from lassi.representation.network import Folded


@dataclass(frozen=True, eq=False)
class Polyline:
    """Outputs along a segment.

    Args:
        t: the knots, increasing, including 0, ``(P,)``.
        base: the output at t = 0, ``(k,)``.
        moves: how the outputs at the knots differ from it, ``(P, k)``.
        slack: how far the polyline can be from the network anywhere on the segment, ``(k,)``.
    """

    t: Tensor
    base: Tensor
    moves: Tensor
    slack: Tensor

    def to(self, device: torch.device) -> "Polyline":
        """The same on another device."""
        return Polyline(*(part.to(device) for part in (self.t, self.base, self.moves, self.slack)))

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
        share = ((t - left) / (right - left)).nan_to_num(nan=0.0)[:, None]  # NaN: a piece of length 0
        return torch.lerp(self.moves.index_select(0, piece - 1), self.moves.index_select(0, piece), share)

    def then(self, rows: Tensor, bias: Tensor) -> "Polyline":
        """The polyline of linear functions rows · output + bias; rows are ``(m, k)``."""
        return Polyline(self.t, rows @ self.base + bias, self.moves @ rows.T, rows.abs() @ self.slack)


class Tracer:
    """Finds the polylines of people along one direction.

    Args:
        maps: the folded network, in float64.
        paths: what its layers sum up, where that is more than its weights and biases.
    """

    def __init__(self, maps: Folded, paths: Paths | None = None) -> None:
        self.errors = Errors(paths or Paths.of(maps))
        self.maps = maps
        self._depth = len(maps.weights)
        # By layer, counted from 1: the weights into layer l + 1, (fan-in, fan-out); layer 1 is given as c + b t.
        self._columns = dict(enumerate((weight.T.contiguous() for weight in maps.weights[1:]), start=1))
        self._absolute = dict(enumerate((weight.T.contiguous() for weight in self.errors.absolute), start=1))

    def __call__(self, z: Tensor, directions: Tensor, reach: float | Tensor) -> list[Polyline]:
        """The polylines of people on [−reach, reach].

        Args:
            z: ``(B, q)``.
            directions: shared ``(q, 1)`` or per person ``(B, q, 1)``.
            reach: one for everybody, or one per person ``(B,)``.
        """
        z, directions = z.double(), directions.double()
        along = along_in_tiles(self.maps, z, directions)
        c, b = along.c, along.b[..., 0].expand(len(z), -1)
        reaches = torch.as_tensor(reach, dtype=torch.float64).expand(len(z))
        sums = self.errors.path_sums(z.norm(dim=1) + reaches * directions.norm(dim=(-2, -1)))
        if self._depth == 1:
            return [self._line(c[i], b[i], reaches[i].item(), sums[0][i]) for i in range(len(z))]
        return [
            self._trace(start, Slack(self.errors, [of_layer[i] for of_layer in sums]))
            for i, start in enumerate(self._starts(c, b, reaches))
        ]

    def _line(self, c: Tensor, b: Tensor, reach: float, path_sums: Tensor) -> Polyline:
        """The polyline of an affine network: no kinks, three knots."""
        t = c.new_tensor([-reach, 0.0, reach])
        return Polyline(t, c, t[:, None] * b, self.errors.of_layer(1, path_sums, additions=len(t)))

    def _starts(self, c: Tensor, b: Tensor, reaches: Tensor) -> list[Start]:
        """The start of everybody's segment; the products are computed for all people at once."""
        outputs, slopes = outputs_at_start(c, b, reaches)
        values = in_tiles(outputs, self._columns[1]) + self.maps.biases[1]
        slopes = in_tiles(slopes, self._columns[1])
        return [Start(c[i], b[i], reaches[i].item(), values[i], slopes[i]) for i in range(len(c))]

    def _trace(self, start: Start, slack: Slack) -> Polyline:
        """Layer by layer: the values at the knots, the kinks they reveal, and how wrong they can be."""
        kinks = first_kinks(start.c, start.b, start.reach)
        knots = second_layer(start, kinks, self._columns[1])
        drift = Drift.at_second_layer(slack.wrong_in_first_layer(start, kinks), self._absolute[1])
        for layer in range(2, self._depth):
            margin = slack.margin(layer, drift, knots)
            neurons = (knots.values.amax(1) >= -margin).nonzero()[:, 0]  # the others are off along the whole segment
            values = knots.values.index_select(0, neurons)
            refined = with_kinks(knots.t, values)
            wrong = drift.carried.index_add(0, neurons, wrong_signs(values, refined, margin[neurons]))
            knots = self._next_layer(layer, refined, neurons)
            drift = drift.through(wrong, self._absolute[layer])
        return _polyline(knots, slack.of_output(self._depth, drift, knots))

    def _next_layer(self, layer: int, refined: Refined, neurons: Tensor) -> Knots:
        """The next layer's inputs at the knots, from those of this layer's ``neurons``, which are overwritten."""
        outputs = refined.values.relu_() @ self._columns[layer].index_select(0, neurons) + self.maps.biases[layer]
        is_last = layer + 1 == self._depth
        return Knots(
            refined.t, outputs.T if is_last else outputs.T.contiguous()
        )  # (h, P); the search for kinks goes by row


def _polyline(outputs: Knots, slack: Tensor) -> Polyline:
    """The polyline through the outputs at the knots, as moves from t = 0."""
    base = outputs.values[:, int((outputs.t == 0).nonzero()[0, 0])].clone()
    return Polyline(outputs.t, base, outputs.values.T - base, slack)
