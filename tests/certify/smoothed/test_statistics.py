"""The statistics, against statsmodels, SciPy and simulation."""

import math
import re

import numpy as np
import pytest
from scipy.stats import betabinom, binom, norm
from statsmodels.stats.proportion import proportion_confint

from lassi.base.errors import UserError
from lassi.certify.intervals import Budget, population_bound, share_of
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.certify.smoothed.statistics import (
    abstention_bound,
    check_index,
    class_radius,
    least_samples_for_class,
    level,
    lower_bound,
    median_tolerance,
    quantile_index,
    upper_bound,
)


@pytest.mark.parametrize("trials", [1, 7, 100, 10_000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.93, 1.0])
def test_clopper_pearson_is_statsmodels(trials: int, share: float) -> None:
    successes = round(share * trials)
    low, high = proportion_confint(successes, trials, alpha=0.02, method="beta")
    assert lower_bound(successes, trials, 0.01) == pytest.approx(low, abs=1e-12)
    assert upper_bound(successes, trials, 0.01) == pytest.approx(high, abs=1e-12)
    interval = share_of(successes, trials, confidence=0.98)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


def test_shares_of_nobody_are_refused() -> None:
    with pytest.raises(UserError, match="nobody"):
        share_of(0, 0)


def test_the_published_constants() -> None:
    """Figures that are derived by hand for the paper's settings."""
    p = level(0.05, 1.0, 0.65)
    assert p == pytest.approx(0.951956, abs=5e-7)
    assert quantile_index(10_000, p, 0.005) == 9575
    assert quantile_index(10_000, p, 0.005, "hoeffding") == 9683
    assert quantile_index(10_000, level(0.02, 1.0, 0.65), 0.005) == 9499
    assert quantile_index(10_000, level(0.0, 1.0, 0.65), 0.005, "hoeffding") == 9544
    assert check_index(10_000, 0.005, 0.05) == 4641
    assert check_index(10_000, 0.005, 0.05, "hoeffding") == 4674
    assert median_tolerance(10_000, 0.005 / 1024) == pytest.approx(0.022, abs=5e-4)


@pytest.mark.parametrize("samples", [108, 500, 10_000])
@pytest.mark.parametrize("p", [0.5, 0.95])
def test_the_order_statistic_is_the_least_that_is_safe(samples: int, p: float) -> None:
    index = quantile_index(samples, p, 0.005)
    assert index is not None
    assert 1 - binom.cdf(index - 1, samples, p) <= 0.005 < 1 - binom.cdf(index - 2, samples, p)


def test_hoeffding_never_beats_the_binomial_law() -> None:
    out_of_reach = set()
    for samples in (1200, 5000, 20_000):
        for p in (0.6, 0.9, 0.95, 0.97):
            exact, loose = quantile_index(samples, p, 0.005), quantile_index(samples, p, 0.005, "hoeffding")
            assert exact is not None
            if p + math.sqrt(math.log(1 / 0.005) / (2 * samples)) > 1:
                assert loose is None
                out_of_reach.add((samples, p))
            else:
                assert exact < loose <= samples
    assert out_of_reach == {(1200, 0.97)}


def test_least_numbers_of_samples() -> None:
    p = level(0.05, 1.0, 0.65)
    for method, least, least0 in (("binomial", 108, 803), ("hoeffding", 1148, 1199)):
        assert quantile_index(least, p, 0.005, method) is not None
        assert quantile_index(least - 1, p, 0.005, method) is None
        assert check_index(least0, 0.005, 0.05, method) is not None
        assert check_index(least0 - 1, 0.005, 0.05, method) is None
    assert all(check_index(n, 0.005, 0.05) is not None for n in range(803, 2000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples0": 500}, "Use at least 803"),
        ({"samples0": 1000, "quantile": "hoeffding"}, "Use at least 1,199"),
        ({"samples": 100}, "Use at least 108"),
        ({"samples": 1000, "quantile": "hoeffding"}, "Use at least 1,148"),
        ({"sigma": 0.1, "samples": 5000}, "more than a billion"),
    ],
)
def test_what_cannot_work_is_refused_with_the_least_that_can(settings: dict, message: str) -> None:
    smoothing = CentreSmoothing(**({"sigma": 0.65, "candidates": 64} | settings))
    with pytest.raises(UserError) as error:
        smoothing.refuse_infeasible(1.0, 128)
    assert message in error.value.hint


def test_expected_abstention_is_what_simulation_shows() -> None:
    """A candidate whose ball holds, by the first batch, half of it: does the second batch agree?"""
    rng = np.random.default_rng(0)
    mass = np.quantile(rng.random((4000, 2000)), 0.5, axis=1)
    for method, expected in (("binomial", 0.127), ("hoeffding", 0.243)):
        needed = check_index(2000, 0.005, 0.05, method)
        share = (rng.binomial(2000, mass) < needed).mean()
        message = CentreSmoothing(0.65, samples0=2000, quantile=method).expected_abstention()
        assert message == pytest.approx(expected, abs=1e-3)
        assert share == pytest.approx(message, abs=0.03)
    by_scipy = betabinom.cdf(check_index(2000, 0.005, 0.05) - 1, 2000, 1000, 1001)
    assert abstention_bound(2000, 1, 0.005, 0.05) == pytest.approx(by_scipy, rel=1e-6)
    assert abstention_bound(10_000, 64, 0.005, 0.05, "hoeffding") < 1.3e-4
    assert CentreSmoothing(0.65, quadrature=True).expected_abstention() == 0


def test_radii_of_smoothed_classes() -> None:
    assert class_radius(0.9, 2.0) == pytest.approx(2 * norm.ppf(0.9))
    assert class_radius(0.9, 2.0, 0.1) == pytest.approx(2 * norm.ppf(0.9))
    assert class_radius(0.6, 1.0, 0.3) == pytest.approx((norm.ppf(0.6) - norm.ppf(0.3)) / 2)
    least = least_samples_for_class(1.0, 0.65, 0.001)
    assert class_radius(0.001 ** (1 / least), 0.65) > 1.0
    assert class_radius(0.001 ** (1 / (least - 1)), 0.65) <= 1.0
    with pytest.raises(UserError, match="cannot certify the radius 1"):
        ClassSmoothing(0.3, samples=1000).refuse_infeasible(1.0)
    with pytest.raises(UserError, match="no number of samples"):
        ClassSmoothing(0.01).refuse_infeasible(1.0)


def test_families_of_certificates() -> None:
    each, together = Budget(0.011, "each", 312), Budget(0.011, "all", 312)
    assert each.of_one == 0.011
    assert together.of_one == pytest.approx(0.011 / 312)
    assert (each.false_at_most(), each.false_at_most(0.99)) == (7, 8)
    assert Budget(0.011, people=19_962).false_at_most() == 244
    with pytest.raises(UserError, match="no family"):
        Budget(0.01, "some")


def test_the_population_statement_holds_in_the_worst_case() -> None:
    """Every unfair person is certified with probability alpha; the bound fails no more often than it may."""
    rng = np.random.default_rng(0)
    for fair in (0.0, 0.5, 0.9):
        certified = rng.binomial(300, fair + 0.05 * (1 - fair), 2000)
        bounds = np.array([population_bound(int(count), 300, 0.05) for count in certified])
        misses = int((bounds > fair).sum())
        assert binom.sf(misses - 1, 2000, 0.05) > 1e-6
    assert population_bound(300, 300, 0.0) == pytest.approx(0.05 ** (1 / 300))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sigma": 0.0}, "'sigma' is 0.0, but must be a number above 0"),
        ({"sigma": math.nan}, "'sigma' is nan"),
        ({"alpha": 0.0}, "'alpha' is 0.0, but must be a number of at least 1e-100 and below 1"),
        ({"samples": 1}, "'samples' is 1, but must be a whole number from 2 to 10,000,000"),
        ({"samples0": 10**400}, "'samples0' is 10+…0+, but must be"),
        ({"quantile": "normal"}, "no quantile"),
        ({"centre": "mean"}, "no centre"),
        ({"delta": 0.5}, "'delta' is 0.5, but must be a number above 0 and below 0.5"),
        ({"candidates": 0}, "'candidates' is 0, but must be"),
        ({"candidates": 11_000}, "There cannot be 11000 candidates among 10000 samples"),
        ({"quadrature": True, "centre": "median"}, "Quadrature works only with"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        CentreSmoothing(**({"sigma": 0.65} | settings))


@pytest.mark.parametrize("quantile", ["binomial", "hoeffding"])
def test_samples_that_nobody_can_draw_are_reported_at_once(quantile: str) -> None:
    hopeless = CentreSmoothing(0.65, alpha=1e-100, delta=1e-9, quantile=quantile)
    with pytest.raises(UserError, match=r"the centre check cannot pass at α = 5e-101\. Use more than a billion;"):
        hopeless.needed_in_ball()
    with pytest.raises(UserError, match=r"samples cannot bound the .* quantile .* Use more than a billion, or more"):
        CentreSmoothing(0.65, samples=2, alpha=1e-100, quantile=quantile).order(5.0)


@pytest.mark.parametrize("quantile", ["binomial", "hoeffding"])
def test_the_samples_that_are_recommended_suffice_and_fewer_do_not(quantile: str) -> None:
    with pytest.raises(UserError) as error:
        CentreSmoothing(0.65, samples0=100, quantile=quantile).needed_in_ball()
    least = int(re.search(r"at least ([\d,]+)", error.value.hint)[1].replace(",", ""))
    for samples in range(least, least + 100):
        assert CentreSmoothing(0.65, samples0=samples, quantile=quantile).needed_in_ball() > 0
    with pytest.raises(UserError, match="check cannot pass"):
        CentreSmoothing(0.65, samples0=least - 1, quantile=quantile).needed_in_ball()
