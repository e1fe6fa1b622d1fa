"""Networks as balls: BatchNorm folded, and the network on z + A t as a function of t.

The input is what is stored: weights as arrays. A float is an exact rational number, so only roots and quotients of
BatchNorm have a radius. Nothing here is taken from the code that made the certificates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lassi.base.errors import UserError
from lassi.recheck.exact.arithmetic import (
    ZERO,
    Array,
    Row,
    absolute,
    arb,
    arb_mat,
    column,
    exact,
    floats,
    norm,
    precisely,
)


@dataclass(frozen=True, eq=False)
class Norm:
    """A BatchNorm as stored, ``(h,)`` each; scale and shift are None where it has none."""

    mean: NDArray[Any]
    var: NDArray[Any]
    eps: float
    scale: NDArray[Any] | None = None
    shift: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class Layer:
    """A linear layer as stored, weights ``(h, m)`` and bias ``(h,)``, and the BatchNorm after it."""

    weight: NDArray[Any]
    bias: NDArray[Any]
    norm: Norm | None = None


@dataclass(frozen=True, eq=False)
class Affine:
    """x ↦ W x + b, with b as a column."""

    weight: arb_mat
    bias: arb_mat

    @staticmethod
    def of(layer: Layer) -> "Affine":
        weight, bias = exact(layer.weight), exact(layer.bias[:, None])
        if layer.norm is None:
            return Affine(weight, bias)
        own, width = layer.norm, weight.nrows()
        ones, zeros = np.ones(width), np.zeros(width)
        scales = [
            arb(scale) / (arb(var) + arb(own.eps)).sqrt()
            for scale, var in zip(_or(own.scale, ones), own.var.tolist(), strict=True)
        ]
        rows = [[scale * entry for entry in row] for scale, row in zip(scales, weight.tolist(), strict=True)]
        biases = [
            (entry - arb(mean)) * scale + arb(shift)
            for entry, mean, scale, shift in zip(
                bias.entries(), own.mean.tolist(), scales, _or(own.shift, zeros), strict=True
            )
        ]
        return Affine(arb_mat(rows), column(biases))

    def then(self, other: "Affine") -> "Affine":
        return Affine(other.weight * self.weight, other.weight * self.bias + other.bias)

    @cached_property
    def absolute(self) -> arb_mat:
        """|W|."""
        return absolute(self.weight)

    @cached_property
    def columns(self) -> list[Row]:
        """W, column by column."""
        return self.weight.transpose().tolist()

    @cached_property
    def rounded(self) -> tuple[Array, Array]:
        """W and b as floats, for hints."""
        return floats(self.weight), floats(self.bias)


def _or(values: NDArray[Any] | None, default: Array) -> list[float]:
    return list((default if values is None else values).tolist())


class BallModel:
    """R followed by C, made once for all certificates of a model.

    Args:
        representation: R's layers, with a ReLU between two of them.
        classifier: C's layers, likewise.
    """

    def __init__(self, representation: Sequence[Layer], classifier: Sequence[Layer]) -> None:
        with precisely():
            self.representation = [Affine.of(layer) for layer in representation]
            self.classifier = [Affine.of(layer) for layer in classifier]
            for affine in (*self.representation, *self.classifier):
                if not all(entry.is_finite() for entry in (*affine.weight.entries(), *affine.bias.entries())):
                    raise UserError(
                        "A weight of the model to check is not finite, or a variance is negative.",
                        hint="Train the model again.",
                    )
            first, *later = self.classifier
            self._logits = [*self.representation[:-1], self.representation[-1].then(first), *later]
        self.num_classes = self.classifier[-1].weight.nrows()
        self._margins: dict[int, list[Affine]] = {}

    def margins(self, predicted: int) -> list[Affine]:
        """C∘R as affine maps with ReLUs between them, up to the leads of a class over the others, in their order."""
        if predicted not in self._margins:
            others = [label for label in range(self.num_classes) if label != predicted]
            identity = np.eye(self.num_classes)
            lead = Affine(exact(identity[predicted] - identity[others]), arb_mat(len(others), 1))
            self._margins[predicted] = [*self._logits[:-1], self._logits[-1].then(lead)]
        return self._margins[predicted]


@dataclass(frozen=True, eq=False)
class Along:
    """A network on z + A t, ‖t‖ ≤ ε, as a function of coefficients v, ‖v‖ ≤ ε.

    Without a span v is t. With one, V, of any numbers, let s ≥ ‖V‖ and v = Vᵀt / s. Then A t = A V v + A(I − V Vᵀ/s)t,
    and the network on z + A t differs from that on z + A V v by at most ``rest`` · ε, as the ReLU is 1-Lipschitz.
    Conversely, to every v belongs t = V v / s with ‖t‖ ≤ ε, which ``rest`` covers too.

    Args:
        maps: the network.
        slopes: W₁A, or W₁A V, ``(h, r)``.
        rest: of each output, per unit of ε.
    """

    maps: list[Affine]
    slopes: arb_mat
    rest: Row

    @staticmethod
    def of(maps: list[Affine], moved: arb_mat, span: arb_mat | None) -> "Along":
        """From W₁A ``(h, n)`` and V ``(n, r)``."""
        if span is None:
            return Along(maps, moved, [ZERO] * maps[-1].weight.nrows())
        gram = span.transpose() * span - exact(np.eye(span.ncols()))
        longest = (1 + norm(gram.entries())).sqrt().upper()  # ‖V‖² ≤ 1 + ‖VᵀV − I‖
        slopes = moved * span
        left = moved - slopes * span.transpose() * (1 / longest)
        rest = column(
            [norm(off) + (1 - 1 / longest) * norm(own) for off, own in zip(left.tolist(), slopes.tolist(), strict=True)]
        )
        for later in maps[1:]:
            rest = later.absolute * rest
        return Along(maps, slopes, [entry.upper() for entry in rest.entries()])

    @property
    def dim(self) -> int:
        """r."""
        return self.slopes.ncols()

    def start(self, z: NDArray[Any]) -> arb_mat:
        """The first layer's inputs to its ReLUs at z, a column."""
        first = self.maps[0]
        return first.weight * exact(z[:, None]) + first.bias

    def first(self, start: arb_mat, points: arb_mat) -> arb_mat:
        """The same at coefficients, one point per column, ``(h, P)``."""
        return start * _ones(points.ncols()) + self.slopes * points

    def at(self, start: arb_mat, points: Array) -> list[Row]:
        """The outputs at coefficients ``(r, P)``, as rows of P numbers."""
        values = self.first(start, exact(points))
        for later in self.maps[1:]:
            relu = [entry.nonnegative_part() for entry in values.entries()]
            values = later.weight * arb_mat(values.nrows(), values.ncols(), relu) + later.bias * _ones(values.ncols())
        return values.tolist()

    @cached_property
    def rounded_slopes(self) -> Array:
        return floats(self.slopes)

    def rounded(self, start: Array, points: Array, depth: int | None = None) -> Array:
        """The outputs at coefficients ``(r, P)``, or of the first maps, in floats, for hints, ``(k, P)``."""
        values = start + self.rounded_slopes @ points
        for later in self.maps[1:depth]:
            weight, bias = later.rounded
            values = weight @ np.maximum(values, 0) + bias
        return values


def _ones(count: int) -> arb_mat:
    return arb_mat(1, count, [1] * count)
