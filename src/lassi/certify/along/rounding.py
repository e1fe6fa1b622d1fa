r"""How far computed numbers are from exact ones: bounds that are computed, never constants.

Every number in a layer is a sum over paths through the network. With N roundings on a path and S the sum of the paths'
absolute values, its error is at most γ_N S in any order of summation, where γ_N = N u / (1 − N u). This module counts N
and computes S; ``docs/mathematics.md#rounding`` has the proofs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.certify.along.tiles import in_tiles
from lassi.representation.network import Folded

UNIT = 2.0**-53
"""u, the largest relative error of one rounding in float64."""

FLOOR = 1e-100
"""Added to every neuron's path sum, to cover underflow.

A product that underflows loses at most 2^−1075 in absolute terms. A layer of fan-in m therefore loses at most
m 2^−1075, far less than the γ_m FLOOR ≈ m 10^−116 that this adds. [docs/mathematics.md#rounding]
"""

ROOM = 20
"""Roundings per layer, or per dot product, beyond those of its fan-in.

On one path: 7 for folding BatchNorm, 1 for the bias, 2 for c + b t, and one of: 9 for the output of a polyline
(interpolated 6, moved from t = 0 and back 2, compared 1), 7 for the chord of a relaxation, 5 for the value at a kink.
That is 19 at most. [docs/mathematics.md#rounding]
"""

NORM_ROUND_UP = 1 + 1e-10
"""Factor that makes a product of two computed norms of q numbers a bound on the exact product.

It needs 2 γ_{q+3} ≤ 10^−10, which holds for q ≤ 450,000. [docs/mathematics.md#rounding]
"""

ROUND_UP = 1 + 1e-12
ROUND_DOWN = 1 - 1e-12
"""Factors that make a computed norm of k numbers, or a quotient of two, a bound on the exact one.

They need γ_{k+3} ≤ 10^−12, which holds for k ≤ 9,000. [docs/mathematics.md#rounding]
"""

SWEEP = 4
"""Path sums that a running sum over the knots can add up, besides the value it starts with.

Along [−r, r] a neuron's slope bᵢ enters the sum at most twice, once when it is added and once when it is removed, over
a distance of at most 2r: Σᵢ |wᵢ| 2|bᵢ| 2r ≤ 4 S. With the start this is 5 S. With fan-ins Σm and P additions the loss
is at most (3Σm + 7P) u S, below the 4 (Σm + 8P) u S that ``Errors.of_layer`` allows from the second layer on.
[docs/mathematics.md#rounding]
"""

EDGE_ROUNDINGS = 24
"""Roundings in an edge of a box of coefficients.

A half side starts with 24 bits, so the first 53 − 24 = 29 cuts across it are exact. After 24 more it is no larger than
a rounding error of R. [docs/mathematics.md#box-and-ball]
"""


def gamma(terms: int) -> float:
    """γ_N: the relative error of a sum of N products, in any order. [docs/mathematics.md#rounding]"""
    return terms * UNIT / (1 - terms * UNIT)


def gamma_of_product(terms: int) -> float:
    """The relative error of a dot product of this many terms, with room for a few operations before and after it."""
    return gamma(terms + ROOM)


def paths_in_bound(layer: int) -> float:
    """The most path sums S that a linear bound on a neuron of this layer, counted from 1, can add up.

    A bound on layer l adds up the paths themselves (a line's slope in [0, 1] only shrinks them) and the
    intercepts of every earlier layer j, which are at most the bounds on layer j. So p_l = 1 + Σ_{j<l} p_j = 2^(l−1).
    The result is twice that, for the products with t, of which there are fewer than with z. A forward pass adds up S
    once; there 2^l covers the sums of a reduced network over the features of all earlier layers, at most l Σ fan-ins.
    [docs/mathematics.md#linear-bounds-on-a-ball]
    """
    return 2.0**layer


def roundings_along_t(n: int) -> int:
    """Roundings in the least value of k·t over a box that meets the ball ‖t‖ ≤ R, counted on paths of size ‖k‖ R.

    Σ|kᵢ − μᵢ| R + ‖μ‖ R with |μᵢ| ≤ ‖k‖ replaces ‖k‖ R. As Σ|kᵢ| ≤ n‖k‖, Σ|μᵢ| ≤ n‖k‖ and ‖μ‖ ≤ n‖k‖, it is
    at most 3n‖k‖R, each with n + 4 roundings. The edges of the box move Σ|kᵢ| R ≤ n‖k‖R by ``EDGE_ROUNDINGS`` more.
    [docs/mathematics.md#box-and-ball]
    """
    return 3 * n * (n + 4) + EDGE_ROUNDINGS * n


@dataclass(frozen=True, eq=False)
class Paths:
    """What each layer of a folded network sums up, in absolute values.

    This is more than the folded weights and biases where these are themselves sums: after folding BatchNorm, or after
    joining two layers.

    Args:
        weights, biases: of each layer, ``(h′, h)`` and ``(h′,)``.
        fan_ins: how many products each layer sums up.
    """

    weights: list[Tensor]
    biases: list[Tensor]
    fan_ins: list[int]

    @staticmethod
    def of(maps: Folded) -> "Paths":
        """The paths of a network whose weights and biases are exact."""
        return Paths(
            [weight.abs() for weight in maps.weights],
            [bias.abs() for bias in maps.biases],
            [weight.shape[1] for weight in maps.weights],
        )

    def then(self, weight: Tensor, bias: Tensor) -> "Paths":
        """The same with a linear map merged into the last layer."""
        joined = weight.abs() @ self.weights[-1]
        offset = weight.abs() @ self.biases[-1] + bias.abs()
        fan_in = self.fan_ins[-1] + weight.shape[1]
        return Paths([*self.weights[:-1], joined], [*self.biases[:-1], offset], [*self.fan_ins[:-1], fan_in])

    def followed_by(self, weight: Tensor, bias: Tensor) -> "Paths":
        """The same with one more layer."""
        return Paths([*self.weights, weight.abs()], [*self.biases, bias.abs()], [*self.fan_ins, weight.shape[1]])


class Errors:
    """Bounds on the rounding errors in a folded network, in float64."""

    def __init__(self, paths: Paths) -> None:
        assert paths.weights[0].dtype == torch.float64, "exact certificates are computed in float64"
        self.absolute: Sequence[Tensor] = paths.weights[1:]
        self._first_norms = paths.weights[0].norm(dim=1) * NORM_ROUND_UP
        self._biases, self._fan_ins = paths.biases, paths.fan_ins

    def path_sums(self, lengths: Tensor) -> list[Tensor]:
        """S of every neuron: for each layer, the sum of absolute values over all paths, ``(B, h)``.

        Args:
            lengths: bounds on ‖z‖ + ‖A t‖, ``(B,)``; by Cauchy–Schwarz they bound the first layer's sums.
        """
        paths = [lengths[:, None] * self._first_norms + self._biases[0] + FLOOR]
        for weight, bias in zip(self.absolute, self._biases[1:], strict=True):
            paths.append(in_tiles(paths[-1], weight.T) + bias + FLOOR)
        return paths

    def carried(self, length: float) -> Tensor:
        """How far outputs can move when a latent moves by at most this length, ``(k,)``.

        The basis of a similarity set leaves out directions that are rounding errors; this bounds what they could do.
        """
        moved = length * self._first_norms
        for weight in self.absolute:
            moved = weight @ moved
        return moved

    def of_layer(self, layer: int, path_sums: Tensor, *, additions: int = 0, directions: int = 1) -> Tensor:
        """The largest error of a layer's numbers, and of linear bounds on them, shaped like ``path_sums``.

        2^l γ_N S, where N counts the roundings on a path: fan-ins, ``ROOM`` per layer, running sums, and t.

        Args:
            layer: counted from 1.
            path_sums: S of this layer.
            additions: how many additions follow one another in running sums along a polyline.
            directions: n.
        """
        layers = sum(self._fan_ins[:layer]) + ROOM * layer
        roundings = layers + SWEEP * additions + roundings_along_t(directions)
        return paths_in_bound(layer) * gamma(roundings) * path_sums
