"""Counting by unit, against simulation; truth, strictly."""

import math

import numpy as np
import pytest

from lassi.base.errors import UserError
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.certificates import Certificates
from lassi.certify.intervals import certified_share, one_per_unit, population_bound, share_by_unit
from lassi.results.counting import counted, scene_counts
from lassi.results.summary import Spread


def person(predicted: int | None = 1, *, certified: bool = True, number: int = 0) -> Certificate:
    outcome = Outcome.CERTIFIED if certified else Outcome.NOT_CERTIFIED
    return Certificate(number, "smoothed-modular", outcome, predicted, 1.0)


def test_one_picture_per_unit_is_drawn_at_random_and_always_the_same() -> None:
    units = np.repeat(np.arange(400), 5)
    rows = one_per_unit(units, seed=0)
    assert sorted(units[rows]) == list(range(400))
    assert np.array_equal(rows, one_per_unit(units, seed=0))
    assert not np.array_equal(rows, one_per_unit(units, seed=1))
    places = np.bincount(rows % 5, minlength=5)
    assert places.min() > 50, "every picture of a unit has its chance"


def test_a_bound_over_units_fails_as_rarely_as_promised_and_one_over_pictures_does_not() -> None:
    """15 pictures of each person that agree: a nominal 95% bound over pictures fails in more than a third of runs."""
    rng, truth, people = np.random.default_rng(0), 0.9, 150
    missed_by_unit = missed_by_picture = 0
    for run in range(400):
        fair = rng.random(people) < truth
        units = np.repeat(np.arange(people), 15)
        certificates = [person(certified=bool(fair[unit])) for unit in units]
        missed_by_unit += certified_share(certificates, units, seed=run).population_at_least > truth
        missed_by_picture += population_bound(15 * int(fair.sum()), len(units), 0.0) > truth
    assert missed_by_unit / 400 <= 0.08
    assert missed_by_picture / 400 > 1 / 3


def test_counts_are_of_pictures_and_intervals_of_units() -> None:
    units = np.repeat(np.arange(20), 10)
    certificates = [person(certified=unit < 15, number=n) for n, unit in enumerate(units)]
    found = counted(certificates, np.ones(200, np.int64), units, seed=3)
    assert (found.people, found.outcomes.certified) == (200, 150)
    assert (found.share.certified, found.share.units) == (15, 20)
    by_picture = counted(certificates, np.ones(200, np.int64), np.arange(200), seed=3)
    assert found.share.interval.low < by_picture.share.interval.low, "fewer draws say less"
    assert found.share.population_at_least < by_picture.share.population_at_least
    assert share_by_unit([True] * 200, units, seed=0).low == pytest.approx(0.025 ** (1 / 20))


def test_a_sequence_of_certificates_counts_by_unit_too() -> None:
    found = Certificates([person(certified=n < 30, number=n) for n in range(40)])
    assert (found.share().certified, found.share().units) == (30, 40)
    grouped = found.share(np.arange(40) // 10)
    assert (grouped.certified, grouped.units) == (3, 4)
    assert grouped.interval.low < found.share().interval.low
    assert found.share().population_at_least == population_bound(30, 40, 0.0)
    assert str(found.share()).startswith("30 of 40 certified (75.0%)")


def test_certified_but_unfair_is_counted_strictly() -> None:
    alike = [person(1)] * 15
    abstains = [person(1)] * 14 + [person(None, certified=False)]
    differs = [person(1, certified=False)] * 14 + [person(2, certified=False)]
    found = scene_counts([*alike, *abstains, *differs])
    assert (found.scenes, found.unfair, found.certified_but_unfair) == (3, 2, 1)


def test_means_and_deviations_over_seeds() -> None:
    assert Spread.of([1.0, 2.0, 6.0]) == Spread(3.0, math.sqrt(7))
    assert Spread.of([1.0]) == Spread(1.0, None)


@pytest.mark.parametrize("units", [[0, 1], range(50), [[0] * 40]])
def test_units_of_another_length_are_refused(units) -> None:
    found = Certificates([person(number=n) for n in range(40)])
    with pytest.raises(UserError, match="There are 40 pictures, but units of shape"):
        found.share(units)
    with pytest.raises(UserError, match="Give one unit per picture"):
        share_by_unit([True] * 40, units, seed=0)
