"""Is S(x) true? How much of the difference between truly similar people the similarity set covers.

A certificate is relative to the flow, the directions and the radius. Where pairs of truly similar people are known,
these figures show how far that is from the truth; they accompany every certified share.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.streams import Stream
from lassi.data.dataset import Integers
from lassi.similarity.sets import SimilaritySet

RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A mean over pairs, with a 95% interval over their units: all pictures of one scene form one unit."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Coverage:
    """How much of the true displacements z′ − z the similarity set reaches.

    Args:
        of_set: 1 − mean of the least ‖z′ − z − A t‖ / ‖z′ − z‖ over ‖t‖ ≤ ε.
        of_span: the same with t of any length.
        energy: 1 − Σ‖residual‖² / Σ‖z′ − z‖², of the set.
        reach: share of pairs whose best t, of any length, lies within the radius.
        by_chance: what the span of the same number of random directions would cover.
        pairs: the number of pairs.
    """

    of_set: Estimate
    of_span: Estimate
    energy: float
    reach: Estimate
    by_chance: float
    pairs: int


def coverage(similar: SimilaritySet, z: Tensor, others: Tensor, units: Integers, *, stream: Stream) -> Coverage:
    """Judge a set by held-out pairs of truly similar people, z and others ``(pairs, q)``.

    Args:
        units: the unit of each pair, such as its scene, ``(pairs,)``.
        stream: for the bootstrap over units.
    """
    displacements = others.double() - z.double()
    lengths = displacements.norm(dim=1)
    t, span_residual = similar.coefficients_of(displacements)
    set_residual = nearest_in_set(similar, displacements)[1]
    q, rank = displacements.shape[1], similar.rank

    def estimate(values: Tensor) -> Estimate:
        return mean_by_unit(values.numpy(), units, stream=stream)

    return Coverage(
        estimate(1 - set_residual / lengths),
        estimate(1 - span_residual / lengths),
        1 - (set_residual.square().sum() / lengths.square().sum()).item(),
        estimate((t.norm(dim=1) <= similar.radius).double()),
        1 - math.sqrt(1 - rank / q),
        len(lengths),
    )


def nearest_in_set(similar: SimilaritySet, displacements: Tensor) -> tuple[Tensor, Tensor]:
    """The point of {basis · v : ‖v‖ ≤ ε} nearest to displacements ``(B, q)``.

    With basis = U S Vᵀ and y = Uᵀd it is v = S y / (S² + μ), in V's coordinates, where μ ≥ 0 is 0 or makes ‖v‖ = ε.

    Returns:
        v ``(B, rank)`` and the distances ``(B,)``, in float64.
    """
    assert similar.is_shared, "pairs are judged against shared directions"
    u, s, vt = torch.linalg.svd(similar.basis64, full_matrices=False)
    d = displacements.double()
    y = d @ u  # (B, r)

    def v_of(mu: Tensor) -> Tensor:
        return s * y / (s**2 + mu[:, None])

    low = torch.zeros(len(d), dtype=torch.float64)
    high = (s * y).norm(dim=1) / similar.radius  # there ‖v‖ ≤ ε, because ‖v‖ ≤ ‖S y‖ / μ
    inside = v_of(low).norm(dim=1) <= similar.radius
    for _ in range(100):
        middle = (low + high) / 2
        too_long = v_of(middle).norm(dim=1) > similar.radius
        low, high = torch.where(too_long, middle, low), torch.where(too_long, high, middle)
    v = torch.where(inside[:, None], y / s, v_of(high))
    off_span = (d - y @ u.T).norm(dim=1)
    return v @ vt, (off_span.square() + (s * v - y).square().sum(1)).sqrt()


def step_errors(decode: Callable[[Tensor], Tensor], z: Tensor, steps: Tensor, x: Tensor, truth: Tensor) -> Tensor:
    """MSE(D(z + a), x′) / MSE(x, x′) of each pair, ``(B,)``: below 1, the step ends closer to the truth than x is.

    Args:
        steps: a, the direction from the value of x to that of x′, ``(B, q)``.
        x: pictures ``(B, C, H, W)``.
        truth: x′, the same people with the other value.
    """
    stayed = (x - truth).square().mean((1, 2, 3))
    return (decode(z + steps) - truth).square().mean((1, 2, 3)) / stayed


def pixel_step_errors(steps: Tensor, x: Tensor, truth: Tensor) -> Tensor:
    """The same for a step in pixel space, ``(B, C, H, W)``: what a mean difference of pictures would achieve."""
    return (x + steps - truth).square().mean((1, 2, 3)) / (x - truth).square().mean((1, 2, 3))


def mean_by_unit(values: NDArray[np.floating], units: Integers, *, stream: Stream) -> Estimate:
    """The mean of values, with an interval from a bootstrap over units; values within a unit are not independent."""
    names, which = np.unique(units, return_inverse=True)
    sums, counts = np.bincount(which, values), np.bincount(which)
    drawn = stream.numpy().integers(0, len(names), (RESAMPLES, len(names)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(values.mean()), float(low), float(high))
