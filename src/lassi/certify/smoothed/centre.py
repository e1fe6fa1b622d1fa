"""Centre smoothing: one point for where R maps everyone similar to a person, and how far that point can move.

``ball`` is the paper's: a ball that holds half of the samples. Its centre moves by at most three radii of a ball that
holds p(Δ) of them (Kumar and Goldstein, 2021). ``median`` takes the median of each coordinate, which stays between two
quantiles (Chiang et al., 2020). A centre is given as a displacement from R(z).
[docs/mathematics.md#centre-smoothing, docs/mathematics.md#coordinate-wise-medians]
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.smoothed.noise import Noise
from lassi.certify.smoothed.order import ordered
from lassi.certify.smoothed.quadrature import HALF_ROOM, half_mass_centre, mass_radius
from lassi.certify.smoothed.settings import TAIL, CentreSmoothing
from lassi.certify.smoothed.statistics import level
from lassi.certify.smoothed.walk import PolylineWalk, Walk, could_be_least, lost_by_products

ONE_PLUS_BETA = 3
"""Radii from the centre of z to the centre of any similar z′.

A ball of radius R̂ around c that holds p(Δ) of the mass at z holds ½ + Δ of it at z′. The centre c′ of z′ has a ball of
radius r′ ≤ β R̂, β = 2, that holds ½ − Δ. The two balls meet, so |c − c′| ≤ R̂ + r′ ≤ (1 + β) R̂.
[docs/mathematics.md#centre-smoothing, docs/mathematics.md#candidate-centres]
"""

DISTANCE_ROUND_UP = 1 + 1e-9
"""Factor that makes a computed distance of displacements a bound on their exact distance.

The root of a sum of k squares is off by at most the factor 1 + γ_{k+3}, so this suffices for any k ≤ 10⁶; the walk adds
what interpolation on a polyline loses. ``Walk.off`` bounds the error of the displacements themselves.
[docs/mathematics.md#rounding]
"""

ENDS_OFF = 3
"""Multiples of ``Walk.off`` between a computed distance of centres and the true one.

One for the samples at z and one for those at z′. The third allows ``off`` to be twice as large at z′ as at z, whose
latent is shorter by at most ε‖A‖, less than the length of the farthest draw. For several directions that is a proof.
Along a polyline it assumes that z′ does not have many more knots than z. [docs/mathematics.md#rounding]
"""

NEGLIGIBLE = 1e-10
"""Share of a squared median below which the loss from products does not matter.

The median, rounded up, then grows by at most the factor 1 + 10^−10 / 2, which ``DISTANCE_ROUND_UP`` covers.
[docs/mathematics.md#rounding]
"""


@dataclass(frozen=True, eq=False)
class Centre:
    """A centre, and how far away the centre of a similar person can be.

    Args:
        move: the centre as a displacement from R(z), ``(k,)``.
        radius: every similar person's centre lies within it; None where only the centre was requested.
    """

    move: Tensor
    radius: float | None


@dataclass(frozen=True)
class Draws:
    """The noise on one person's coefficients.

    Unless a fresh check is asked for, the check shares the quantile's draws: both concern a centre already chosen, and
    no proof uses the check at x. Only given that the check passes is α₂ then no bound on the quantile's failures.
    [docs/mathematics.md#the-check-and-the-quantile]
    """

    centre: Noise
    check: Noise
    quantile: Noise

    @property
    def reach(self) -> float:
        """The length of the longest draw."""
        return max(part.reach for part in {self.centre, self.check, self.quantile})


def draw_noise(settings: CentreSmoothing, n: int, *, stream: Stream) -> Draws:
    """One person's noise, from their stream."""
    within = TAIL * settings.sigma if settings.quadrature else math.inf
    centre = Noise(settings.samples0, n, settings.sigma, stream.child("centre"), within)
    quantile = Noise(settings.samples, n, settings.sigma, stream.child("fresh"))
    check = replace(quantile, stream=stream.child("check")) if settings.fresh_check else quantile
    return Draws(centre, check.first(settings.samples0), quantile)


def smoothed_centre(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre | None:
    """One person's centre and, for a radius ε, how far those of similar people can be; None where it abstains.

    It also abstains where numbers overflow.
    """
    if settings.centre == "median":
        found: Centre | None = _median(walk, draws, settings, radius)
    elif settings.quadrature:
        assert isinstance(walk, PolylineWalk), "quadrature works along one direction"
        found = _computed(walk, draws, settings, radius)
    else:
        found = _ball(walk, draws, settings, radius)
    if found is None or not found.move.isfinite().all() or math.isnan(found.radius or 0.0):
        return None
    return found


def _ball(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre | None:
    """Algorithm 1, lines 1–8: choose a centre, check it on fresh samples, bound a quantile around it. [Paper, Sec. 4.4]

    [docs/mathematics.md#centre-smoothing, docs/mathematics.md#candidate-centres]
    """
    chosen = _chosen_ball(walk, draws.centre, settings)
    if chosen is None:
        return None
    move, half_radius = chosen
    order = None if radius is None else settings.order(radius)
    in_one_pass = [order] if order is not None and draws.check == draws.quantile else []
    ranks = settings.needed_in_ball(), *in_one_pass
    check_radius, *bounds = _radii(walk, draws.check, move[None], *ranks)[:, 0].tolist()
    if not check_radius <= half_radius:  # the ball holds fewer of the fresh samples than it needs
        return None
    if order is None:
        return Centre(move, None)
    (bound,) = bounds or _radii(walk, draws.quantile, move[None], order)[0].tolist()
    return Centre(move, ONE_PLUS_BETA * _true_distance(bound, walk))


def _chosen_ball(walk: Walk, noise: Noise, settings: CentreSmoothing) -> tuple[Tensor, float] | None:
    """The candidate ``(k,)`` with the smallest ball that holds more than half of the samples, and that ball's radius.

    None where numbers overflow.
    """
    candidates = walk.moves(noise.first(settings.num_candidates).whole)
    if not candidates.isfinite().all():
        return None
    half = settings.samples0 // 2 + 1  # a strict majority
    medians = torch.cat([_radii(walk, noise, some, half)[0] for some in torch.split(candidates, walk.at_once)])
    if not (candidates.norm(dim=1) + medians).square().isfinite().all():
        return None
    return _least(walk, noise, half, candidates, medians)


def _least(walk: Walk, noise: Noise, half: int, candidates: Tensor, medians: Tensor) -> tuple[Tensor, float]:
    """The candidate with the least median distance, and an upper bound on that distance.

    The medians ``(m,)`` come from products. Where these may have lost too many digits, differences are used instead.
    """
    lost = lost_by_products(walk, medians, candidates)
    short = could_be_least(walk, medians, medians, candidates)
    first = int(medians.argmin())
    if len(short) == 1 and lost[first] <= NEGLIGIBLE * medians[first].square():
        return candidates[first], (medians[first].square() + lost[first]).sqrt().item()
    own = torch.cat([_radii(walk, noise, some[None], half)[0] for some in candidates[short]])
    return candidates[short[int(own.argmin())]], own.min().item()


def _radii(walk: Walk, noise: Noise, centres: Tensor, *ranks: int) -> Tensor:
    """The radii at which balls around centres ``(m, k)`` hold the given numbers of samples, ``(ranks, m)``."""
    return ordered(lambda: (walk.distances(t, centres) for t in noise.blocks()), (len(centres), noise.count), *ranks)


def _computed(walk: PolylineWalk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre:
    """The same with computed masses; only the candidates are drawn. [docs/mathematics.md#quadrature]"""
    candidates = walk.moves(draws.centre.first(settings.num_candidates).whole)
    move = candidates[half_mass_centre(walk, candidates, settings.sigma)]
    if radius is None:
        return Centre(move, None)
    bound = mass_radius(walk, move, settings.sigma, level(HALF_ROOM, radius, settings.sigma))
    return Centre(move, ONE_PLUS_BETA * _true_distance(bound, walk))


def _median(walk: Walk, draws: Draws, settings: CentreSmoothing, radius: float | None) -> Centre:
    """The median of each coordinate; with a radius, the middle of the box that holds the medians of all similar people.

    [docs/mathematics.md#coordinate-wise-medians]
    """
    if radius is None:
        return Centre(_coordinates(walk, draws.centre, settings.samples0 // 2 + 1)[0], None)
    low, high = settings.median_orders(radius, len(walk.base))
    lowest, highest = _coordinates(walk, draws.quantile, low, high)
    half_widths = (highest - lowest) / 2
    return Centre((lowest + highest) / 2, _true_distance(half_widths.norm().item(), walk))


def _coordinates(walk: Walk, noise: Noise, *ranks: int) -> Tensor:
    """The values with the given ranks in each coordinate of the samples, ``(ranks, k)``."""
    return ordered(
        lambda: (walk.moves(t).T.contiguous() for t in noise.blocks()), (len(walk.base), noise.count), *ranks
    )


def _true_distance(computed: float, walk: Walk) -> float:
    """A bound on a distance between representations, from the computed distance between their displacements."""
    return computed * DISTANCE_ROUND_UP + ENDS_OFF * walk.off
