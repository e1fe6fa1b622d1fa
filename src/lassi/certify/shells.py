"""Outputs of a network at Gaussian coefficients of one person, for several directions.

Draws are taken shell by shell: on a smaller ball more of the network is stable, and most draws are in small balls.
Those beyond the largest go through the whole network, as do all where hardly anything is stable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from scipy.stats import chi
from torch import Tensor

from lassi.base.engine import chunks
from lassi.certify.reduced import Displacement, Reduced, Reducer
from lassi.certify.tiles import along_in_tiles
from lassi.representation.network import Along

SHARES = (0.4, 0.75, 0.95, 0.999)  # of the draws that are in each ball
FARTHEST = 30.0  # σ beyond the root of twice the number of directions; no draw is farther
CHUNK = 1024  # draws at a time, such that they stay in the cache


@dataclass(frozen=True, eq=False)
class Shells:
    """One person's network on balls of rising radius.

    Args:
        radii: of the balls.
        networks: on each, as displacements; one more for what lies beyond.
        base: the output at t = 0, ``(k,)``.
        error: the largest rounding error of an output in float64, ``(k,)``.
    """

    radii: Sequence[float]
    networks: Sequence[Displacement]
    base: Tensor
    error: Tensor

    def moves(self, t: Tensor) -> Tensor:
        """How the outputs at coefficients ``(N, n)`` differ from the base, ``(N, k)``, float64 both."""
        out = torch.empty(len(t), len(self.base), dtype=torch.float64)
        which = torch.bucketize(t.norm(dim=1), torch.tensor(self.radii, dtype=torch.float64))
        for shell, network in enumerate(self.networks):
            rows = (which == shell).nonzero()[:, 0]
            for part in chunks(len(rows), CHUNK):
                some = rows[part.start : part.stop]
                out.index_copy_(0, some, network(t.index_select(0, some)))
        return out


def shells_of(reducer: Reducer, z: Tensor, directions: Tensor, sigma: float) -> list[Shells]:
    """The shells of people ``(B, q)`` for noise N(0, σ²) on coefficients along shared directions ``(q, n)``."""
    n = directions.shape[-1]
    radii = [sigma * float(chi.ppf(share, n)) for share in SHARES]
    whole = along_in_tiles(reducer.maps, z.double(), directions.double())
    farthest = sigma * (FARTHEST + math.sqrt(2 * n))
    paths = reducer.errors.path_sums(z.double().norm(dim=1) + farthest * directions.double().norm())
    errors = reducer.errors.of_layer(len(reducer.maps.weights), paths[-1], directions=n)
    return [_shells(radii, own, whole.of(i), errors[i]) for i, own in enumerate(reducer(z, directions, *radii))]


def _shells(radii: Sequence[float], own: Sequence[Reduced], whole: Along, error: Tensor) -> Shells:
    """Those shells of one person on which the reduced network is smaller; beyond them, the network itself."""
    plain = Displacement.whole(whole)
    kept = [
        (radius, network.displacement)
        for radius, network in zip(radii, own, strict=True)
        if network.displacement.cost < plain.cost
    ]
    return Shells([radius for radius, _ in kept], [*(network for _, network in kept), plain], plain.base, error)
