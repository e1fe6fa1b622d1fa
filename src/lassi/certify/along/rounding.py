"""How far computed numbers are from exact ones: bounds that are computed, never constants.

A number of a layer is a sum over paths through the network. Its error is at most γ_N times the sum of the paths'
absolute values, whatever the order of summation, N being the number of roundings on a path: the fan-ins, and some more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.certify.along.tiles import in_tiles
from lassi.representation.network import Folded

UNIT = 2.0**-53  # the largest relative error of a rounding in float64
FLOOR = 1e-100  # added to every sum of paths: an error that is absolute, of what underflows, is far below its rounding
ROOM = 20  # further roundings a layer: folding of BatchNorm, products, the lines of a relaxation


def gamma(terms: int) -> float:
    """The relative error of a sum of so many products, in any order."""
    return terms * UNIT / (1 - terms * UNIT)


@dataclass(frozen=True, eq=False)
class Paths:
    """What is summed up in each layer of a folded network, in absolute values.

    More than the folded weights and biases where these are themselves sums: BatchNorm's, or of two layers joined.

    Args:
        weights, biases: of each layer.
        fan_ins: how many products are summed up in each.
    """

    weights: list[Tensor]
    biases: list[Tensor]
    fan_ins: list[int]

    @staticmethod
    def of(maps: Folded) -> "Paths":
        """Of a network whose weights and biases are what they are."""
        return Paths(
            [weight.abs() for weight in maps.weights],
            [bias.abs() for bias in maps.biases],
            [weight.shape[1] for weight in maps.weights],
        )

    def then(self, weight: Tensor, bias: Tensor) -> "Paths":
        """The same with a linear map joined to the last layer."""
        joined = weight.abs() @ self.weights[-1]
        offset = weight.abs() @ self.biases[-1] + bias.abs()
        fan_in = self.fan_ins[-1] + weight.shape[1]
        return Paths([*self.weights[:-1], joined], [*self.biases[:-1], offset], [*self.fan_ins[:-1], fan_in])

    def followed_by(self, weight: Tensor, bias: Tensor) -> "Paths":
        """The same with one more layer."""
        return Paths([*self.weights, weight.abs()], [*self.biases, bias.abs()], [*self.fan_ins, weight.shape[1]])


class Errors:
    """Bounds of the rounding errors in a folded network, in float64."""

    def __init__(self, paths: Paths) -> None:
        assert paths.weights[0].dtype == torch.float64, "exact certificates are computed in float64"
        self.absolute: Sequence[Tensor] = paths.weights[1:]
        self._first_norms = paths.weights[0].norm(dim=1) * (1 + 1e-10)
        self._biases, self._fan_ins = paths.biases, paths.fan_ins

    def path_sums(self, lengths: Tensor) -> list[Tensor]:
        """For each layer the sum of absolute values over all paths, ``(B, h)``.

        Args:
            lengths: bounds of ‖z‖ + ‖A t‖, ``(B,)``; by Cauchy and Schwarz they bound the first layer's sums.
        """
        paths = [lengths[:, None] * self._first_norms + self._biases[0] + FLOOR]
        for weight, bias in zip(self.absolute, self._biases[1:], strict=True):
            paths.append(in_tiles(paths[-1], weight.T) + bias + FLOOR)
        return paths

    def carried(self, length: float) -> Tensor:
        """How far outputs can move where a latent moves by at most this length, ``(k,)``.

        Directions of numerical rank 0 are left out of a similarity set's basis; what they could do is bounded by this.
        """
        moved = length * self._first_norms
        for weight in self.absolute:
            moved = weight @ moved
        return moved

    def of_layer(self, layer: int, path_sums: Tensor, *, knots: int = 0, directions: int = 1) -> Tensor:
        """The largest error of the numbers of a layer, counted from 1, and of linear bounds of them.

        A bound adds up the paths, of which a line's slope in [0, 1] takes nothing but away, and each earlier layer's
        intercepts. Those are at most the bounds of that layer, so with b_l paths in a bound of layer l, b_l = 1 + Σ b_j
        over the layers before: 2^(l − 1). Twice that leaves room for the products with t, which are fewer than with z.

        Args:
            knots: over how many pieces of a polyline numbers were added up.
            directions: n. On boxes that meet the ball Σ|kᵢ − μᵢ| R + ‖μ‖ R is summed up in place of ‖k‖ R, with μᵢ up
                to ‖k‖: at most 3n times as much. And their edges may be off by 24 roundings, which moves Σ|kᵢ| R.
        """
        of_t = 3 * directions * (directions + 4) + 24 * directions
        terms = sum(self._fan_ins[:layer]) + ROOM * layer + 4 * knots + of_t
        return 2.0**layer * gamma(terms) * path_sums
