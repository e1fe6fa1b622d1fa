"""Shares of people, their intervals, and what they imply for the population. Everything counts units.

A *unit* is what counts as one independent draw: a scene, an identity. Several pictures of one person are one unit, so
every interval and bound takes one picture per unit, drawn with a seed. [docs/mathematics.md#units]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from lassi.base.errors import UserError
from lassi.base.ranges import Number, OneOf, Whole, refuse_unfit
from lassi.base.streams import Stream
from lassi.certify.certificate import Certificate
from lassi.certify.smoothed.statistics import lower_bound, upper_bound

CONFIDENCE = 0.95
Family = Annotated[str, OneOf("each", "all")]


@dataclass(frozen=True)
class Interval:
    """A share of units with its two-sided Clopper–Pearson interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class CertifiedShare:
    """How many are certified, with one picture per unit, and what that implies for the population.

    Args:
        certified: units whose picture is certified.
        units: the number of units.
        interval: of the share in the sample, at 95% confidence.
        population_at_least: at least this share of the population is treated alike, with 95% confidence.
    """

    certified: int
    units: int
    interval: Interval
    population_at_least: float

    def __str__(self) -> str:
        return (
            f"{self.certified} of {self.units} certified ({self.interval.share:.1%}); "
            f"at least {self.population_at_least:.1%} of the population, with {CONFIDENCE:.0%} confidence"
        )


def share_of(successes: int, units: int, *, confidence: float = CONFIDENCE) -> Interval:
    """A share with its two-sided Clopper–Pearson interval."""
    if units < 1:
        raise UserError("There is nobody to count.", hint="Choose a split that is not empty.")
    half = (1 - confidence) / 2
    return Interval(successes / units, lower_bound(successes, units, half), upper_bound(successes, units, half))


def share_by_unit(holds: ArrayLike, units: ArrayLike, *, seed: int) -> Interval:
    """The share of units whose chosen picture satisfies a condition, with its interval.

    Args:
        holds: whether it holds for each picture, ``(people,)``.
        units: the unit of each picture, ``(people,)``.
    """
    values = np.asarray(holds, bool)
    _refuse_other_lengths(len(values), units)
    chosen = values[one_per_unit(units, seed=seed)]
    return share_of(int(chosen.sum()), len(chosen))


def _refuse_other_lengths(people: int, units: ArrayLike) -> None:
    if np.asarray(units).shape != (people,):
        raise UserError(
            f"There are {people} pictures, but units of shape {np.asarray(units).shape}.",
            hint="Give one unit per picture.",
        )


def one_per_unit(units: ArrayLike, *, seed: int) -> NDArray[np.int64]:
    """One row per unit, drawn at random, in increasing order.

    >>> one_per_unit([3, 5, 7], seed=0).tolist()
    [0, 1, 2]
    """
    of = np.asarray(units)
    order = Stream(seed, "units").numpy().permutation(len(of))
    _, first = np.unique(of[order], return_index=True)
    return np.sort(order[first])


def certified_share(certificates: Sequence[Certificate], units: ArrayLike, *, seed: int) -> CertifiedShare:
    """The share of units that are certified, and the bound for the population they were sampled from."""
    if not certificates:
        raise UserError("There are no certificates to count.", hint="Certify somebody first.")
    _refuse_other_lengths(len(certificates), units)
    rows = one_per_unit(units, seed=seed)
    certified = sum(certificates[row].is_certified for row in rows)
    alpha = max(certificate.alpha for certificate in certificates)
    bound = population_bound(certified, len(rows), alpha)
    return CertifiedShare(certified, len(rows), share_of(certified, len(rows)), bound)


def population_bound(certified: int, units: int, alpha: float, *, confidence: float = CONFIDENCE) -> float:
    """At least this share of the population is treated alike, with the given confidence.

    A certificate is wrong with probability at most α, so P(certified) ≤ θ + α(1 − θ) for the share θ that is truly
    fair, and θ ≥ (L − α)/(1 − α) with L the one-sided lower bound on the certified share.
    [docs/mathematics.md#families-and-populations]
    """
    low = lower_bound(certified, units, 1 - confidence)
    return max(0.0, (low - alpha) / (1 - alpha))


@dataclass(frozen=True)
class Budget:
    """How often a certificate may be wrong.

    Args:
        alpha: P(certified and wrong).
        family: ``each``: alpha applies to every certificate separately; ``all``: to all together, split equally.
        people: how many are certified.
    """

    alpha: Annotated[float, Number(0, 1, below=True)]
    family: Family = "each"
    people: Annotated[int, Whole(1, 1_000_000_000)] = 1

    def __post_init__(self) -> None:
        refuse_unfit(self)

    @property
    def of_one(self) -> float:
        """What one certificate may spend."""
        return self.alpha / self.people if self.family == "all" else self.alpha

    def false_at_most(self, confidence: float = CONFIDENCE) -> int:
        """The most certificates that are wrong, with the given confidence: binomial, as the streams are independent."""
        return int(binom.ppf(confidence, self.people, self.of_one))
