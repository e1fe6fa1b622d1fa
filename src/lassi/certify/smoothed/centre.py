"""Centre smoothing: a point that stands for where R maps the people similar to one, and how far it can move.

``ball`` is the paper's: a ball that holds half of the samples, whose centre moves by at most three radii of one that
holds p(Δ) of them. (Kumar and Goldstein, 2021.) ``median`` takes the median of each coordinate, which stays between two
quantiles. (Chiang et al., 2020.) A centre is a displacement from R(z).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.smoothed.noise import Noise
from lassi.certify.smoothed.order import ordered
from lassi.certify.smoothed.quadrature import half_mass_centre, mass_radius
from lassi.certify.smoothed.settings import TAIL, CentreSmoothing
from lassi.certify.smoothed.statistics import level
from lassi.certify.smoothed.walk import PolylineWalk, Walk, could_be_least, lost_by_products

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


@dataclass(frozen=True)
class Draws:
    """The noise on one person's coefficients.

    The check and the quantile share theirs: both are about a centre chosen before, and at x the check is in no proof.
    """

    centre: Noise
    check: Noise
    quantile: Noise

    @property
    def reach(self) -> float:
        """The length of the longest."""
        return max(part.reach for part in {self.centre, self.check, self.quantile})


def draw_noise(settings: CentreSmoothing, n: int, *, stream: Stream) -> Draws:
    """The noise of one person, whose stream it is."""
    within = TAIL * settings.sigma if settings.quadrature else math.inf
    fresh = Noise(settings.samples, n, settings.sigma, stream.child("fresh"))
    centre = Noise(settings.samples0, n, settings.sigma, stream.child("centre"), within)
    return Draws(centre, fresh.first(settings.samples0), fresh)


def smoothed_centre(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre | None:
    """The centre of one person, and for a radius ε how far those of similar people are; None where it abstains.

    It abstains, too, where numbers overflow: what comes of them says nothing.
    """
    if settings.centre == "median":
        found: Centre | None = _median(walk, draws, settings, radius)
    elif settings.quadrature:
        assert isinstance(walk, PolylineWalk), "quadrature is along one direction"
        found = _computed(walk, draws, settings, radius)
    else:
        found = _ball(walk, draws, settings, radius)
    if found is None or not found.move.isfinite().all() or math.isnan(found.radius or 0.0):
        return None
    return found


def _ball(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre | None:
    """Algorithm 1, lines 1–8. [Paper, Sec. 4.4]"""
    candidates = walk.moves(draws.centre.first(settings.num_candidates).whole)
    if not candidates.isfinite().all():
        return None
    half = settings.samples0 // 2 + 1  # a strict majority
    medians = torch.cat([_radii(walk, draws.centre, some, half)[0] for some in torch.split(candidates, 64)])
    if not (candidates.norm(dim=1) + medians).square().isfinite().all():
        return None
    move, median = _least(walk, draws.centre, half, candidates, medians)
    order = None if radius is None else settings.order(radius)
    at_once = [order] if order is not None and draws.check == draws.quantile else []
    holding, *bounds = _radii(walk, draws.check, move[None], settings.needed_in_ball(), *at_once)[:, 0].tolist()
    if not holding <= median:  # fewer than are needed are in the ball
        return None
    if order is None:
        return Centre(move, None)
    (bound,) = bounds or _radii(walk, draws.quantile, move[None], order)[0].tolist()
    return Centre(move, FACTOR * (bound * ROUND_UP + OFF * walk.off))


def _radii(walk: Walk, noise: Noise, centres: Tensor, *ranks: int) -> Tensor:
    """How large balls around centres ``(m, k)`` must be to hold so many of the samples, ``(ranks, m)``."""
    return ordered(lambda: (walk.distances(t, centres) for t in noise.blocks()), (len(centres), noise.count), *ranks)


def _least(walk: Walk, noise: Noise, half: int, candidates: Tensor, medians: Tensor) -> tuple[Tensor, float]:
    """The candidate with the least median, and that from above; where products may have lost it, by differences."""
    lost = lost_by_products(medians, candidates)
    short = could_be_least(medians, medians, candidates)
    first = int(medians.argmin())
    if len(short) == 1 and lost[first] <= 1e-12 * medians[first].square():
        return candidates[first], (medians[first].square() + lost[first]).sqrt().item()
    own = torch.cat([_radii(walk, noise, some[None], half)[0] for some in candidates[short]])
    return candidates[short[int(own.argmin())]], own.min().item()


def _computed(walk: PolylineWalk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre:
    """The same with masses that are computed; only the candidates are drawn."""
    candidates = walk.moves(draws.centre.first(settings.num_candidates).whole)
    move = candidates[half_mass_centre(walk, candidates, settings.sigma)]
    if radius is None:
        return Centre(move, None)
    bound = mass_radius(walk, move, settings.sigma, level(0.0, radius, settings.sigma))
    return Centre(move, FACTOR * (bound * ROUND_UP + OFF * walk.off))


def _median(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre:
    """The median of each coordinate; with a radius, the middle of the box in which those of all similar people lie."""
    if radius is None:
        return Centre(_coordinates(walk, draws.centre, settings.samples0 // 2 + 1)[0], None)
    low, high = settings.median_orders(radius, len(walk.base))
    lowest, highest = _coordinates(walk, draws.quantile, low, high)
    half_widths = (highest - lowest) / 2
    return Centre((lowest + highest) / 2, half_widths.norm().item() * ROUND_UP + OFF * walk.off)


def _coordinates(walk: Walk, noise: Noise, *ranks: int) -> Tensor:
    """The values of some ranks in each coordinate of the samples, ``(ranks, k)``."""
    return ordered(
        lambda: (walk.moves(t).T.contiguous() for t in noise.blocks()), (len(walk.base), noise.count), *ranks
    )
