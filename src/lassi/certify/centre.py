"""Centre smoothing: a point that stands for where R maps the people similar to one, and how far it can move.

``ball`` is the paper's: a ball that holds half of the samples, whose centre moves by at most three radii of one that
holds p(Δ) of them. (Kumar and Goldstein, 2021.) ``median`` takes the median of each coordinate, which stays between two
quantiles. (Chiang et al., 2020.) A centre is a displacement from R(z).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.quadrature import half_mass_centre, mass_radius
from lassi.certify.settings import TAIL, CentreSmoothing
from lassi.certify.stats import level
from lassi.certify.walk import PolylineWalk, Walk, could_be_least, lost_by_products

ROUND_UP = 1 + 1e-9  # of a distance between displacements; what these may be off by is the walk's own
OFF = 3  # twice that, and once more since at z′, which is longer than z, it is a little larger
FACTOR = 3  # from a radius that holds p(Δ) at z to where any centre of z′ can be: 1 + β, β = 2


@dataclass(frozen=True, eq=False)
class Centre:
    """A centre, as a displacement from R(z) ``(k,)``, and the radius within which that of every similar person lies.

    ``radius`` is None where only the centre was asked for.
    """

    move: Tensor
    radius: float | None


@dataclass(frozen=True, eq=False)
class Draws:
    """The noise on one person's coefficients, ``(N, n)`` each.

    The check and the quantile share theirs: both are about a centre chosen before, and at x the check is in no proof.
    """

    centre: Tensor
    check: Tensor
    quantile: Tensor

    @property
    def reach(self) -> float:
        """The length of the longest."""
        return max(part.norm(dim=1).max().item() for part in (self.centre, self.check, self.quantile))


def draw_noise(settings: CentreSmoothing, n: int, *, stream: Stream) -> Draws:
    """The noise of one person, whose stream it is."""

    def normal(count: int, purpose: str) -> Tensor:
        return settings.sigma * torch.from_numpy(stream.child(purpose).numpy().standard_normal((count, n)))

    if settings.quadrature:
        nothing = torch.zeros(1, n, dtype=torch.float64)
        inside = normal(settings.num_candidates, "centre").clamp(-TAIL * settings.sigma, TAIL * settings.sigma)
        return Draws(inside, nothing, nothing)
    fresh = normal(max(settings.samples0, settings.samples), "fresh")
    return Draws(normal(settings.samples0, "centre"), fresh[: settings.samples0], fresh[: settings.samples])


def smoothed_centre(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre | None:
    """The centre of one person, and for a radius ε how far those of similar people are; None where it abstains."""
    if settings.centre == "median":
        return _median(walk, draws, settings, radius)
    if settings.quadrature:
        assert isinstance(walk, PolylineWalk), "quadrature is along one direction"
        return _computed(walk, draws, settings, radius)
    return _ball(walk, draws, settings, radius)


def _ball(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre | None:
    """Algorithm 1, lines 1–8. [Paper, Sec. 4.4]"""
    candidates = walk.moves(draws.centre[: settings.num_candidates])
    half = settings.samples0 // 2 + 1  # a strict majority
    medians = torch.cat([ordered(walk.distances(draws.centre, some), half) for some in torch.split(candidates, 64)])
    move, median = _least(walk, draws.centre, half, candidates, medians)
    checked = walk.distances(draws.check, move[None])
    if int((checked[0] <= median).sum()) < settings.needed_in_ball():
        return None
    if radius is None:
        return Centre(move, None)
    same = len(draws.quantile) == len(draws.check)
    distances = checked if same else walk.distances(draws.quantile, move[None])
    bound = ordered(distances, settings.order(radius)).item()
    return Centre(move, FACTOR * (bound * ROUND_UP + OFF * walk.off))


def _least(walk: Walk, draws: Tensor, half: int, candidates: Tensor, medians: Tensor) -> tuple[Tensor, float]:
    """The candidate with the least median, and that from above; where products may have lost it, by differences."""
    lost = lost_by_products(medians, candidates)
    short = could_be_least(medians, medians, candidates)
    first = int(medians.argmin())
    if len(short) == 1 and lost[first] <= 1e-12 * medians[first].square():
        return candidates[first], (medians[first].square() + lost[first]).sqrt().item()
    own = torch.cat([ordered(walk.distances(draws, some[None]), half) for some in candidates[short]])
    return candidates[short[int(own.argmin())]], own.min().item()


def _computed(walk: PolylineWalk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre:
    """The same with masses that are computed; only the candidates are drawn."""
    candidates = walk.moves(draws.centre)
    move = candidates[half_mass_centre(walk, candidates, settings.sigma)]
    if radius is None:
        return Centre(move, None)
    bound = mass_radius(walk, move, settings.sigma, level(0.0, radius, settings.sigma))
    return Centre(move, FACTOR * (bound * ROUND_UP + OFF * walk.off))


def _median(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre:
    """The median of each coordinate; with a radius, the middle of the box in which those of all similar people lie."""
    if radius is None:
        half = settings.samples0 // 2 + 1
        return Centre(ordered(walk.moves(draws.centre).T, half), None)
    moves = walk.moves(draws.quantile)
    low, high = settings.median_orders(radius, moves.shape[1])
    lowest, highest = ordered(moves.T, low), ordered(moves.T, high)
    half_widths = (highest - lowest).double() / 2
    return Centre((lowest + highest) / 2, half_widths.norm().item() * ROUND_UP + OFF * walk.off)


def ordered(values: Tensor, index: int) -> Tensor:
    """The order statistic of each row ``(m, N)``, counted from 1; never interpolated."""
    found = np.partition(values.numpy(), index - 1, axis=1)[:, index - 1]
    return torch.from_numpy(found.copy())
