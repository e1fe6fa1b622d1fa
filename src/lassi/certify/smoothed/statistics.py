"""The statistics behind smoothed certificates, independent of networks. Everything is rounded to the safe side.

Notation: ε the radius, σ the noise, Δ the tolerance of the centre, p(Δ) = Φ(Φ⁻¹(½ + Δ) + ε/σ).
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln
from scipy.stats import beta, binom, norm

from lassi.base.errors import UserError

QUANTILES = ("binomial", "hoeffding")
ROUND_UP = 1 + 1e-13  # covers the error of Φ and its inverse


def lower_bound(successes: int, trials: int, alpha: float) -> float:
    """The Clopper–Pearson lower bound on a probability, which fails with probability at most alpha."""
    return 0.0 if successes == 0 else float(beta.ppf(alpha, successes, trials - successes + 1))


def upper_bound(successes: int, trials: int, alpha: float) -> float:
    """The Clopper–Pearson upper bound on a probability, which fails with probability at most alpha."""
    return 1.0 if successes == trials else float(beta.ppf(1 - alpha, successes + 1, trials - successes))


def level(delta: float, radius: float, sigma: float) -> float:
    """p(Δ): a set with this share of the noise at z has ½ + Δ of it at every similar z′. (Cohen et al., 2019.)"""
    return min(1.0, float(norm.cdf(norm.ppf(0.5 + delta) + radius / sigma)) * ROUND_UP)


@cache
def quantile_index(samples: int, p: float, alpha: float, method: str = "binomial") -> int | None:
    """The order statistic, counted from 1, that bounds the p-quantile from above except with probability alpha.

    By the binomial law: the least m with P(Bin(N, p) ≥ m) ≤ α. By Hoeffding: ⌈N(p + √(ln(1/α) / 2N))⌉. None if more
    samples are needed.
    """
    if method == "hoeffding":
        index = math.ceil(samples * (p + math.sqrt(math.log(1 / alpha) / (2 * samples))))
    else:
        index = int(binom.ppf(1 - alpha, samples, p)) + 1
        while binom.sf(index - 1, samples, p) > alpha:  # ppf may be off by rounding; this is the definition
            index += 1
    return index if index <= samples else None


@cache
def check_index(samples: int, alpha: float, delta: float, method: str = "binomial") -> int | None:
    """How many of N₀ fresh samples in a ball show that it holds ½ − Δ of the noise, except with probability α/2.

    None where the check is meaningless: with so few samples, a ball that holds ½ + Δ may not get half of them.
    """
    if method == "hoeffding":
        deviation = math.sqrt(math.log(2 / alpha) / (2 * samples))
        return math.ceil(samples * (0.5 - delta + deviation)) if deviation <= delta else None
    if binom.cdf(samples // 2, samples, 0.5 + delta) > alpha / 2:
        return None
    index = int(binom.ppf(1 - alpha / 2, samples, 0.5 - delta)) + 1
    while binom.sf(index - 1, samples, 0.5 - delta) > alpha / 2:
        index += 1
    return index


def abstention_bound(samples: int, candidates: int, alpha: float, delta: float, method: str = "binomial") -> float:
    """A bound on how often the centre check fails merely because of its number of samples.

    The mass within the empirical median distance of a candidate is at least Beta(N₀/2, N₀/2 + 1) in law, so the fresh
    count is at least beta-binomial; then a union bound over the candidates.
    """
    needed = check_index(samples, alpha, delta, method)
    if needed is None:
        return 1.0
    counts = np.arange(needed)
    return min(1.0, candidates * float(np.exp(_log_beta_binomial(counts, samples)).sum()))


def _log_beta_binomial(counts: NDArray[np.int64], samples: int) -> NDArray[np.float64]:
    a, b = samples / 2, samples / 2 + 1
    choose = gammaln(samples + 1) - gammaln(counts + 1) - gammaln(samples - counts + 1)
    log_p: NDArray[np.float64] = choose + betaln(counts + a, samples - counts + b) - betaln(a, b)
    return log_p


@cache
def median_tolerance(samples: int, alpha: float) -> float:
    """The least Δ for which a sample median is below the (½ + Δ)-quantile except with probability at most alpha."""
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        if binom.cdf(samples // 2, samples, 0.5 + middle) <= alpha:
            high = middle
        else:
            low = middle
    return high


def class_radius(p_a: float, sigma: float, p_b: float | None = None) -> float:
    """The radius within which a smoothed class cannot change.

    σΦ⁻¹(p_A), or σ/2 (Φ⁻¹(p_A) − Φ⁻¹(p_B)) where p_B is given. Zero or less where the class is not certain even at
    the centre.
    """
    if p_b is None:
        return sigma * float(norm.ppf(p_a)) / ROUND_UP
    a, b = float(norm.ppf(p_a)), float(norm.ppf(p_b))
    return sigma / 2 * (a - b - (ROUND_UP - 1) * (abs(a) + abs(b)))


def least_samples_for_class(radius: float, sigma: float, alpha: float) -> int:
    """The least N that can certify a smoothed class at this radius: if all agree, p_A = α^(1/N)."""
    p = float(norm.cdf(radius / sigma))
    if p >= 1:
        raise UserError(
            f"The radius {radius:g} is {radius / sigma:.3g} times the noise, which no number of samples can certify.",
            hint="Use more noise.",
        )
    return math.floor(math.log(alpha) / math.log(p)) + 1
