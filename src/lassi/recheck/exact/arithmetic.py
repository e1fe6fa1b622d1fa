"""Ball arithmetic: numbers with a radius, which contain the true result of every operation.

A comparison of balls is True only if it holds for all of their points, so whatever these modules conclude is proven. A
higher precision makes more of it provable and nothing wrong.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lassi.base.errors import UserError

try:
    from flint import arb, arb_mat, ctx
except ImportError:
    raise UserError(
        "Checking certificates in ball arithmetic needs the package python-flint, which is not installed.",
        hint="Run: pip install 'lassi-fair[check]'",
    ) from None

__all__ = [
    "ZERO", "Array", "Row", "absolute", "arb", "arb_mat", "column", "down", "exact", "floats", "least", "norm",
    "precisely", "up",
]  # fmt: skip

PRECISION = 128  # bits of a ball's middle

Array = NDArray[np.float64]
Row = list[arb]

ZERO = arb(0)


def precisely() -> AbstractContextManager[None]:
    """Compute with ``PRECISION`` bits in this block; flint's own default is 53."""
    manager: AbstractContextManager[None] = ctx.workprec(PRECISION)
    return manager


def exact(numbers: NDArray[Any]) -> arb_mat:
    """A matrix of floats as balls without a radius."""
    values = np.asarray(numbers, np.float64)  # float32 is exact in it
    rows, columns = values.shape
    return arb_mat(rows, columns, values.ravel().tolist())


def column(numbers: Sequence[arb]) -> arb_mat:
    return arb_mat(len(numbers), 1, numbers)


def absolute(matrix: arb_mat) -> arb_mat:
    return arb_mat(matrix.nrows(), matrix.ncols(), [abs(entry) for entry in matrix.entries()])


def floats(matrix: arb_mat) -> Array:
    """The middles, rounded: for hints, never for proofs."""
    return np.array([float(entry) for entry in matrix.entries()]).reshape(matrix.nrows(), matrix.ncols())


def norm(numbers: Iterable[arb]) -> arb:
    """The Euclidean norm."""
    return sum((number * number for number in numbers), ZERO).nonnegative_part().sqrt()


def least(numbers: Sequence[arb]) -> arb:
    """The least of exact numbers; not a number if one of them is not, which Python's ``min`` may overlook."""
    return min(numbers) if all(number.is_finite() for number in numbers) else arb("nan")


def down(number: arb) -> float:
    """A float that is no larger than any point of the ball."""
    return math.nextafter(float(number.lower()), -math.inf) if number.is_finite() else -math.inf


def up(number: arb) -> float:
    """A float that is no smaller than any point of the ball."""
    return math.nextafter(float(number.upper()), math.inf) if number.is_finite() else math.inf
