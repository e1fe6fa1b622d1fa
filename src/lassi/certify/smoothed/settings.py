"""Settings of smoothed certificates: noise, samples, and failure probability."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from lassi.base.errors import UserError
from lassi.base.ranges import Number, OneOf, Whole, refuse_unfit
from lassi.certify.smoothed.statistics import (
    QUANTILES,
    abstention_bound,
    check_index,
    least_samples_for_class,
    level,
    median_tolerance,
    quantile_index,
)

CENTRES = ("ball", "median")
TAIL = 5.0  # σ; where quadrature truncates the noise
MOST_SAMPLES = 1_000_000_000

Noise = Annotated[float, Number(0, 1e12, above=True)]  # σ_cs times a radius, each at most a million
Alpha = Annotated[float, Number(1e-100, 1, below=True)]  # far below, its inverse is no longer a number
Delta = Annotated[float, Number(0, 0.5, above=True, below=True)]
KeptSamples = Annotated[int, Whole(2, 10_000_000)]  # all distances of one person are in memory at once
CountedSamples = Annotated[int, Whole(2, MOST_SAMPLES)]
Quantile = Annotated[str, OneOf(*QUANTILES)]
Centre = Annotated[str, OneOf(*CENTRES)]


@dataclass(frozen=True)
class CentreSmoothing:
    """Centre smoothing of R along S(x); the defaults are the paper's, except for candidates, quantile and check.

    Args:
        sigma: σ_cs, in multiples of a direction, like the radius.
        samples: N, for the quantile.
        samples0: N₀, for the centre and again for its check.
        candidates: how many of the first samples may become the centre; None means all.
        delta: Δ.
        alpha: α_cs, half for the check, half for the quantile.
        quantile: ``binomial``, or ``hoeffding`` as in the paper, for the quantile and the check.
        centre: ``ball``, the paper's, or ``median``, the median of each coordinate.
        quadrature: compute the masses instead of estimating them; for one direction, Δ is then 0.
        fresh_check: check the centre on samples of its own, as the paper does, instead of the quantile's first.
    """

    sigma: Noise
    samples: KeptSamples = 10_000
    samples0: KeptSamples = 10_000
    candidates: Annotated[int, Whole(1, 10_000_000)] | None = 64
    delta: Delta = 0.05
    alpha: Alpha = 0.01
    quantile: Quantile = "binomial"
    centre: Centre = "ball"
    quadrature: bool = False
    fresh_check: bool = False

    def __post_init__(self) -> None:
        refuse_unfit(self)
        if self.candidates is not None and self.candidates > self.samples0:
            raise UserError(
                f"There cannot be {self.candidates} candidates among {self.samples0} samples.",
                hint=f"Choose from 1 to {self.samples0}.",
            )
        if self.quadrature and self.centre == "median":
            raise UserError(
                "Quadrature works only with centre 'ball', not 'median'.", hint="Change quadrature or the centre."
            )
        if self.fresh_check and (self.quadrature or self.centre == "median"):
            what = "quadrature" if self.quadrature else "centre 'median'"
            raise UserError(
                f"With {what} there is no check of the centre that could have fresh samples.",
                hint="Set certify.fresh_check = false.",
            )

    @property
    def num_candidates(self) -> int:
        return self.samples0 if self.candidates is None else self.candidates

    @property
    def alpha_at_x(self) -> float:
        """The failure probability spent at x, by the quantile's bound; 0 where the masses are computed."""
        return 0.0 if self.quadrature else self.alpha / 2

    @property
    def alpha_elsewhere(self) -> float:
        """How often the sampled model at one similar person may have a centre outside those covered."""
        return self.missed if self.quadrature else self.alpha / 2 + self.missed

    @property
    def missed(self) -> float:
        """How often no candidate is near enough to be the centre at a similar person."""
        return (0.5 - self.tolerance) ** self.num_candidates if self.centre == "ball" else 0.0

    @property
    def tolerance(self) -> float:
        """The Δ in effect."""
        return 0.0 if self.quadrature else self.delta

    def needed_in_ball(self) -> int:
        """How many fresh samples must be in the centre's ball."""
        needed = check_index(self.samples0, self.alpha / 2, self.delta, self.quantile)
        if needed is None:
            raise UserError(
                f"With {self.samples0:,} samples the centre check cannot pass at α = {self.alpha / 2:g}.",
                hint=f"Use {self._least_samples0()}; near that number many people abstain.",
            )
        return needed

    def order(self, radius: float) -> int:
        """The rank, counted from 1, of the distance that bounds the quantile."""
        p = level(self.delta, radius, self.sigma)
        index = quantile_index(self.samples, p, self.alpha / 2, self.quantile)
        if index is None:
            raise UserError(
                f"{self.samples:,} samples cannot bound the {p:.4%} quantile at α = {self.alpha / 2:g} (ε/σ = "
                f"{radius / self.sigma:.3g}).",
                hint=f"Use {self._least_samples(p)}, or more noise.",
            )
        return index

    def median_orders(self, radius: float, dim: int) -> tuple[int, int]:
        """The two ranks, counted from 1, whose values in each coordinate bound its median everywhere: low and high."""
        tolerance = median_tolerance(self.samples0, self.alpha / 2 / (2 * dim))
        p = level(tolerance, radius, self.sigma)
        high = quantile_index(self.samples, p, self.alpha / 2 / (2 * dim), "binomial")
        if high is None:
            raise UserError(
                f"{self.samples:,} samples cannot bound the {p:.4%} quantile of each of {dim} coordinates.",
                hint="Use more samples, or more noise.",
            )
        return self.samples + 1 - high, high

    def refuse_infeasible(self, radius: float, dim: int) -> None:
        """Refuse, before any sampling, settings that cannot yield a certificate."""
        if self.quadrature:
            return
        if self.centre == "median":
            self.median_orders(radius, dim)
        else:
            self.needed_in_ball()
            self.order(radius)

    def expected_abstention(self, candidates: int = 1) -> float:
        """Roughly the share of people who abstain merely because of N₀; an upper bound if all candidates are given."""
        if self.quadrature or self.centre == "median":
            return 0.0
        return abstention_bound(self.samples0, candidates, self.alpha / 2, self.delta, self.quantile)

    def _least_samples0(self) -> str:
        # By the binomial law an odd number suffices before an even one does; the number needed is where both do.
        return _least(
            lambda n: all(check_index(m, self.alpha / 2, self.delta, self.quantile) is not None for m in (n, n + 1))
        )

    def _least_samples(self, p: float) -> str:
        return _least(lambda n: quantile_index(n, p, self.alpha / 2, self.quantile) is not None)


@dataclass(frozen=True)
class ClassSmoothing:
    """Randomised smoothing of classes; the defaults are the paper's.

    Args:
        sigma: of the noise: σ_rs on representations, or σ on coefficients.
        samples0: draws that choose the class.
        samples: fresh draws that bound its probability.
        alpha: α.
    """

    sigma: Noise
    samples0: CountedSamples = 2_000
    samples: CountedSamples = 100_000
    alpha: Alpha = 0.001

    def __post_init__(self) -> None:
        refuse_unfit(self)

    def refuse_infeasible(self, radius: float) -> None:
        """Refuse, before any sampling, a radius that these samples cannot certify."""
        least = least_samples_for_class(radius, self.sigma, self.alpha)
        if self.samples < least:
            raise UserError(
                f"{self.samples:,} samples cannot certify the radius {radius:g} with noise {self.sigma:g}.",
                hint=f"Use at least {least:,}, or more noise.",
            )


def _least(suffices: Callable[[int], bool]) -> str:
    """How many samples suffice, in words; every number above one that suffices does too."""
    low, high = 2, MOST_SAMPLES
    if not suffices(high):
        return "more than a billion"
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return f"at least {low:,}"
