"""Outputs of a network at one person's Gaussian coefficients, for several directions.

Draws are evaluated shell by shell: on a smaller ball more of the network is stable, and most draws fall in small balls.
Draws beyond the largest ball go through the whole network, as do all draws where little is stable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from scipy.stats import chi
from torch import Tensor

from lassi.base.workers import chunks
from lassi.certify.along.reduced import Displacement, Reducer, Sets

SHARES = (0.4, 0.75, 0.95, 0.999)  # of the draws that fall in each ball
WORTH = 0.8  # at most this share of the whole network's multiplications; otherwise reducing costs more than it saves
CHUNK = 1024  # draws at a time, so that they stay in the cache

FARTHEST = 30.0
"""σ (√(2n) + 30) is longer than any draw of N(0, σ² I_n) that will ever occur.

P(‖t‖ > σ (√n + s)) ≤ exp(−s²/2), which at s = 30 is below 10^−195. [docs/mathematics.md#rounding]
"""


@dataclass(frozen=True, eq=False)
class Shells:
    """One person's network on balls of increasing radius.

    Args:
        radii: of the balls.
        networks: one per ball, as displacements, and one for everything beyond.
        base: the output at t = 0, ``(k,)``.
        error: the largest rounding error of an output in float64, ``(k,)``.
    """

    radii: Sequence[float]
    networks: Sequence[Displacement]
    base: Tensor
    error: Tensor

    def moves(self, t: Tensor) -> Tensor:
        """How the outputs at coefficients ``(N, n)`` differ from the base, ``(N, k)``; both float64."""
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
    sets = reducer.sets(z, directions)
    plain = [Displacement.whole(sets.along.of(i)) for i in range(len(z))]
    radii = [sigma * float(chi.ppf(share, n)) for share in SHARES]
    reduced = _worthwhile(reducer, sets, radii, [network.cost for network in plain])
    sums = reducer.errors.path_sums(sets.farthest(farthest_draw(n, sigma)))
    errors = reducer.errors.of_layer(len(reducer.maps.weights), sums[-1], directions=n)
    return [
        Shells(radii[: len(own)], [*own, whole], whole.base, error)
        for own, whole, error in zip(reduced, plain, errors, strict=True)
    ]


def farthest_draw(n: int, sigma: float) -> float:
    """A length that no draw of n coefficients exceeds; see ``FARTHEST``."""
    return sigma * (FARTHEST + math.sqrt(2 * n))


def _worthwhile(reducer: Reducer, sets: Sets, radii: Sequence[float], costs: Sequence[int]) -> list[list[Displacement]]:
    """Everybody's reduced networks on balls of increasing radius, while much smaller than the whole network."""
    found: list[list[Displacement]] = [[] for _ in costs]
    people = list(range(len(costs)))
    for radius in radii:
        if not people:
            break
        networks = dict(zip(people, reducer.on_ball(sets.of(people), radius), strict=True))
        people = [person for person, network in networks.items() if network.cost < WORTH * costs[person]]
        for person in people:
            found[person].append(networks[person].displacement)
    return found
