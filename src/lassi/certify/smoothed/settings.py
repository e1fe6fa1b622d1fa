"""What a smoothed certificate is asked to be: noise, samples, and how often it may fail."""

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
TAIL = 5.0  # σ; where quadrature cuts the noise off


@dataclass(frozen=True)
class CentreSmoothing:
    """Centre smoothing of R along S(x); the defaults are the paper's, but for the bound on the quantile.

    Args:
        sigma: σ_cs, in multiples of a direction, as the radius is.
        samples: N, for the quantile.
        samples0: N₀, for the centre and again for its check.
        candidates: how many of the first samples may become the centre; None: all.
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
            raise UserError(f"Δ is {self.delta}.", hint="Choose one between 0 and ½.")
        if self.candidates is not None and not 1 <= self.candidates <= self.samples0:
            raise UserError(
                f"{self.candidates} of {self.samples0} samples are to be candidates.", hint="Choose from 1 to all."
            )
        if self.quadrature and self.centre == "median":
            raise UserError("Quadrature is there for the centre 'ball' alone.", hint="Choose one of the two.")

    @property
    def num_candidates(self) -> int:
        return self.samples0 if self.candidates is None else self.candidates

    @property
    def alpha_at_x(self) -> float:
        """What is spent at x: by the quantile's bound; nothing where it is computed."""
        return 0.0 if self.quadrature else self.alpha / 2

    @property
    def alpha_elsewhere(self) -> float:
        """How often the sampled model at one similar person may have another centre than those covered."""
        missed = (0.5 - self.tolerance) ** self.num_candidates if self.centre == "ball" else 0.0
        return missed if self.quadrature else self.alpha / 2 + missed

    @property
    def tolerance(self) -> float:
        """Δ as it is used."""
        return 0.0 if self.quadrature else self.delta

    def needed_in_ball(self) -> int:
        """How many fresh samples must be in the centre's ball."""
        needed = check_index(self.samples0, self.alpha / 2, self.delta, self.quantile)
        if needed is None:
            raise UserError(
                f"With {self.samples0:,} samples the centre's check cannot pass at α = {self.alpha / 2:g}.",
                hint=f"Take at least {self._least_samples0():,}; near that number many people abstain.",
            )
        return needed

    def order(self, radius: float) -> int:
        """Which of the ordered distances bounds the quantile, counted from 1."""
        p = level(self.delta, radius, self.sigma)
        index = quantile_index(self.samples, p, self.alpha / 2, self.quantile)
        if index is None:
            raise UserError(
                f"{self.samples:,} samples cannot bound the {p:.4%} quantile at α = {self.alpha / 2:g} (ε/σ = "
                f"{radius / self.sigma:.3g}).",
                hint=f"Take at least {self._least_samples(p)}, or more noise.",
            )
        return index

    def median_orders(self, radius: float, dim: int) -> tuple[int, int]:
        """Which of the ordered values of each coordinate bound its median everywhere, counted from 1: low and high."""
        tolerance = median_tolerance(self.samples0, self.alpha / 2 / (2 * dim))
        p = level(tolerance, radius, self.sigma)
        high = quantile_index(self.samples, p, self.alpha / 2 / (2 * dim), "binomial")
        if high is None:
            raise UserError(
                f"{self.samples:,} samples cannot bound the {p:.4%} quantile of each of {dim} coordinates.",
                hint="Take more samples, or more noise.",
            )
        return self.samples + 1 - high, high

    def refuse_infeasible(self, radius: float, dim: int) -> None:
        """Refuse, before any sampling, what cannot end in a certificate."""
        if self.quadrature:
            return
        if self.centre == "median":
            self.median_orders(radius, dim)
        else:
            self.needed_in_ball()
            self.order(radius)

    def expected_abstention(self, candidates: int = 1) -> float:
        """About this share of people abstains for no other reason than N₀; with all candidates, at most."""
        if self.quadrature or self.centre == "median":
            return 0.0
        return abstention_bound(self.samples0, candidates, self.alpha / 2, self.delta, self.quantile)

    def _least_samples0(self) -> int:
        fits = (n for n in range(2, 10**7) if check_index(n, self.alpha / 2, self.delta, self.quantile) is not None)
        first = next(fits)
        # By the binomial law feasibility comes and goes at first; from where it stays is what is needed.
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
                hint=f"Take at least {least:,}, or more noise.",
            )


def _refuse_impossible_noise(sigma: float, alpha: float, *samples: int) -> None:
    if not 0 < sigma < float("inf"):
        raise UserError(f"The noise is {sigma}.", hint="Choose one above 0.")
    if not 0 < alpha < 1:
        raise UserError(f"The failure probability is {alpha}.", hint="Choose one between 0 and 1.")
    if min(samples) < 2:
        raise UserError(f"{min(samples)} samples are asked for.", hint="Choose at least 2.")
