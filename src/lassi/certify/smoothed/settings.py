"""Settings of smoothed certificates: noise, samples, and failure probability."""

from dataclasses import dataclass

from lassi.base.errors import UserError
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


@dataclass(frozen=True)
class CentreSmoothing:
    """Centre smoothing of R along S(x); the defaults are the paper's, except for the bound on the quantile.

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
    """

    sigma: float
    samples: int = 10_000
    samples0: int = 10_000
    candidates: int | None = 64
    delta: float = 0.05
    alpha: float = 0.01
    quantile: str = "binomial"
    centre: str = "ball"
    quadrature: bool = False

    def __post_init__(self) -> None:
        _refuse_impossible_noise(self.sigma, self.alpha, self.samples, self.samples0)
        if self.quantile not in QUANTILES:
            raise UserError(f"There is no quantile '{self.quantile}'.", hint=f"Choose {' or '.join(QUANTILES)}.")
        if self.centre not in CENTRES:
            raise UserError(f"There is no centre '{self.centre}'.", hint=f"Choose {' or '.join(CENTRES)}.")
        if not 0 < self.delta < 0.5:
            raise UserError(f"Δ is {self.delta}.", hint="Choose a value between 0 and ½.")
        if self.candidates is not None and not 1 <= self.candidates <= self.samples0:
            raise UserError(
                f"There cannot be {self.candidates} candidates among {self.samples0} samples.",
                hint=f"Choose from 1 to {self.samples0}.",
            )
        if self.quadrature and self.centre == "median":
            raise UserError(
                "Quadrature works only with centre 'ball', not 'median'.", hint="Change quadrature or the centre."
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
        missed = (0.5 - self.tolerance) ** self.num_candidates if self.centre == "ball" else 0.0
        return missed if self.quadrature else self.alpha / 2 + missed

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
                hint=f"Use at least {self._least_samples0():,}; near that number many people abstain.",
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
                hint=f"Use at least {self._least_samples(p)}, or more noise.",
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

    def _least_samples0(self) -> int:
        fits = (n for n in range(2, 10**7) if check_index(n, self.alpha / 2, self.delta, self.quantile) is not None)
        first = next(fits)
        # By the binomial law feasibility comes and goes at first; the number needed is where it settles.
        if self.quantile == "binomial":
            while any(
                check_index(n, self.alpha / 2, self.delta, self.quantile) is None for n in range(first, first + 50)
            ):
                first += 1
        return first

    def _least_samples(self, p: float) -> str:
        low, high = 1, 10**9
        if quantile_index(high, p, self.alpha / 2, self.quantile) is None:
            return "more than a billion"
        while low < high:
            middle = (low + high) // 2
            if quantile_index(middle, p, self.alpha / 2, self.quantile) is None:
                low = middle + 1
            else:
                high = middle
        return f"{low:,}"


@dataclass(frozen=True)
class ClassSmoothing:
    """Randomised smoothing of classes; the defaults are the paper's.

    Args:
        sigma: of the noise: σ_rs on representations, or σ on coefficients.
        samples0: draws that choose the class.
        samples: fresh draws that bound its probability.
        alpha: α.
    """

    sigma: float
    samples0: int = 2_000
    samples: int = 100_000
    alpha: float = 0.001

    def __post_init__(self) -> None:
        _refuse_impossible_noise(self.sigma, self.alpha, self.samples, self.samples0)

    def refuse_infeasible(self, radius: float) -> None:
        """Refuse, before any sampling, a radius that these samples cannot certify."""
        least = least_samples_for_class(radius, self.sigma, self.alpha)
        if self.samples < least:
            raise UserError(
                f"{self.samples:,} samples cannot certify the radius {radius:g} with noise {self.sigma:g}.",
                hint=f"Use at least {least:,}, or more noise.",
            )


def _refuse_impossible_noise(sigma: float, alpha: float, *samples: int) -> None:
    if not 0 < sigma < float("inf"):
        raise UserError(f"The noise is {sigma}.", hint="Choose a value above 0.")
    if not 0 < alpha < 1:
        raise UserError(f"The failure probability is {alpha}.", hint="Choose a value between 0 and 1.")
    if min(samples) < 2:
        raise UserError(f"The number of samples is {min(samples)}.", hint="Choose at least 2.")
