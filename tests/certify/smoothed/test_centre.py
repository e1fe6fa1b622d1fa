"""Smoothed centres: closed forms, a plain loop on the same draws, rates of failure, and mutants that must fail."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import binom, norm
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.smoothed import centre as centre_module
from lassi.certify.smoothed.centre import draw_noise, smoothed_centre
from lassi.certify.smoothed.producer import walks
from lassi.certify.smoothed.settings import CentreSmoothing
from lassi.certify.smoothed.statistics import level, quantile_index
from networks import random_model, random_people, random_set
from walks import AFFINE, QUICK, Function


def test_an_affine_map_has_its_closed_form() -> None:
    settings = CentreSmoothing(0.65)
    centre = smoothed_centre(AFFINE, draw_noise(settings, 1, stream=Stream(0, "t")), settings, 1.0)
    assert centre.move.norm() < 5 * 0.65 * 0.1, "the centre is near the middle"
    sure = 3 * 5 * 0.65 * norm.ppf((1 + 0.951956) / 2)
    assert sure < centre.radius < 1.1 * sure


def plain_loop(walk, draws, settings: CentreSmoothing, radius: float) -> float | None:
    """Algorithm 1 as it is printed, one candidate at a time."""

    def distances(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
        return np.sort(np.sqrt(((points - centre) ** 2).sum(1)))

    first = walk.moves(draws.centre.whole).double().numpy()
    check, last = (walk.moves(part.whole).double().numpy() for part in (draws.check, draws.quantile))
    best, ball = None, math.inf
    for candidate in first:
        median = distances(first, candidate)[len(first) // 2]
        if median < ball:
            best, ball = candidate, median
    alpha = settings.alpha / 2
    deviation = math.sqrt(math.log(2 / alpha) / (2 * len(first)))
    inside = (distances(check, best) <= ball).mean()
    if deviation > settings.delta or inside < 0.5 - settings.delta + deviation:
        return None
    p = norm.cdf(norm.ppf(0.5 + settings.delta) + radius / settings.sigma)
    index = math.ceil(len(last) * (p + math.sqrt(math.log(1 / alpha) / (2 * len(last)))))
    return 3 * float(distances(last, best)[index - 1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_with_the_papers_constants_it_is_the_plain_loop(n: int) -> None:
    model, z, similar = random_model(n), random_people(n, 12), random_set(n, n, length=2.0)
    settings = CentreSmoothing(
        0.65, samples=1300, samples0=1300, candidates=None, quantile="hoeffding", fresh_check=True
    )
    draws = [draw_noise(settings, n, stream=Stream(3, "t").at(i)) for i in range(12)]
    expected = []
    for walk, drawn in zip(walks(model, z, similar, draws, settings), draws, strict=True):
        found = smoothed_centre(walk, drawn, settings, 1.0)
        expected.append(plain_loop(walk, drawn, settings, 1.0))
        if expected[-1] is None:
            assert found is None
        else:
            assert found.radius == pytest.approx(expected[-1], rel=1e-4)
    assert 0 < expected.count(None) < 12, "some abstain, some do not"


def test_fewer_candidates_give_nearly_the_same_centre() -> None:
    few, all_of_them = CentreSmoothing(0.65, **QUICK), CentreSmoothing(0.65, candidates=None, **QUICK)
    walk = Function(lambda t: torch.cat([t, t**2], 1), 2)
    draws = draw_noise(few, 1, stream=Stream(1, "t"))
    radii = [smoothed_centre(walk, draws, settings, 1.0).radius for settings in (few, all_of_them)]
    assert radii[0] == pytest.approx(radii[1], rel=0.1)


@pytest.mark.parametrize("at_once", [1, 7, 2000])
def test_a_centre_does_not_depend_on_how_many_candidates_are_compared_at_once(at_once: int) -> None:
    settings = CentreSmoothing(0.65, candidates=None, **QUICK)
    draws = draw_noise(settings, 1, stream=Stream(1, "t"))
    found, usual = (
        smoothed_centre(Function(lambda t: torch.cat([t, t**2], 1), 2, **how), draws, settings, 1.0)
        for how in ({"at_once": at_once}, {})
    )
    assert torch.equal(found.move, usual.move)
    assert found.radius == usual.radius


def test_the_bound_at_x_is_rounded_up() -> None:
    settings = CentreSmoothing(0.65, **QUICK)
    draws = draw_noise(settings, 1, stream=Stream(0, "t"))
    centre = smoothed_centre(AFFINE, draws, settings, 1.0)
    distances = (AFFINE.moves(draws.quantile.whole) - centre.move).norm(dim=1).sort().values
    exact = 3 * distances[settings.order(1.0) - 1].item()
    assert exact < centre.radius < exact * (1 + 1e-8)


def centres_moved(settings: CentreSmoothing, function: Function, radius: float, seed: int) -> tuple[bool, float, float]:
    """Whether the centre at x abstains; the bound at x; how far the centre of a similar person is from that at x."""
    here = draw_noise(settings, 1, stream=Stream(seed, "here"))
    found = smoothed_centre(function, here, settings, radius)
    there = Function(lambda t: function.moves(t + radius), len(function.base))
    other = smoothed_centre(there, draw_noise(settings, 1, stream=Stream(seed, "there")), settings, None)
    if found is None or other is None:
        return True, 0.0, 0.0
    return False, found.radius, (found.move - other.move).norm().item()


STEP = Function(lambda t: (t > 0.55).double(), 1)  # at x mostly 0, half a radius on mostly 1


@pytest.mark.slow
@pytest.mark.parametrize("centre", ["ball", "median"])
def test_wrong_bounds_are_as_rare_as_promised(centre: str) -> None:
    """Over many repetitions the centre of a similar person is farther than the bound no more often than alpha says."""
    settings = CentreSmoothing(0.65, samples=1000, samples0=1000, candidates=16, alpha=0.1, centre=centre)
    for function in (AFFINE, STEP):
        wrong = answered = 0
        for seed in range(2000):
            abstains, bound, distance = centres_moved(settings, function, 1.0, seed)
            answered += not abstains
            wrong += (not abstains) and distance > bound
        assert answered > 1000, "not by abstaining"
        allowed = settings.alpha_at_x + settings.alpha_elsewhere
        assert binom.sf(wrong - 1, 2000, allowed) > 1e-6


def quantile_failures(settings: CentreSmoothing, repetitions: int = 2000) -> int:
    """How often the bound on the quantile, without the factor 3, is below the true one; g is affine, c fixed at 0."""
    p = norm.cdf(norm.ppf(0.5 + settings.delta) + 1 / settings.sigma)
    true = settings.sigma * norm.ppf((1 + p) / 2)
    failures = 0
    for seed in range(repetitions):
        t = draw_noise(settings, 1, stream=Stream(seed, "quantile")).quantile.whole
        bound = t[:, 0].abs().sort().values[settings.order(1.0) - 1]
        failures += bound < true
    return failures


@pytest.mark.slow
def test_the_quantiles_bound_fails_as_rarely_as_promised_and_is_not_absurdly_careful() -> None:
    exact = CentreSmoothing(0.65, samples=1500, samples0=2000, alpha=0.1)
    failures = quantile_failures(exact)
    assert binom.sf(failures - 1, 2000, 0.05) > 1e-6
    assert failures > 2000 * 0.05 / 4, "an order statistic later would be wasted"
    loose = CentreSmoothing(0.65, samples=1500, samples0=2000, alpha=0.1, quantile="hoeffding")
    assert loose.order(1.0) > exact.order(1.0)


def test_the_empirical_quantile_in_its_place_would_fail_half_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = CentreSmoothing(0.65, samples=1500, samples0=2000, alpha=0.1)
    p = norm.cdf(norm.ppf(0.55) + 1 / 0.65)
    monkeypatch.setattr(CentreSmoothing, "order", lambda self, _: math.ceil(p * self.samples))
    failures = quantile_failures(settings, 400)
    assert binom.sf(failures - 1, 400, 0.05) < 1e-6


LINE = Function(lambda t: t)


def conditional_failures(*, fresh_check: bool, repetitions: int = 2000) -> tuple[int, int]:
    """How many centres are accepted, and for how many of these the ball of radius R̂ holds less than p(Δ); g(t) = t.

    With so few samples most centres abstain, and p(Δ) is not far from the share that the check asks for.
    """
    settings = CentreSmoothing(5.0, samples=275, samples0=275, alpha=0.2, fresh_check=fresh_check)
    accepted = failures = 0
    for seed in range(repetitions):
        draws = draw_noise(settings, 1, stream=Stream(seed, "conditional"))
        found = smoothed_centre(LINE, draws, settings, 1.0)
        if found is not None:
            middle, reach = found.move.item() / 5.0, found.radius / 3 / 5.0
            accepted += 1
            failures += norm.cdf(middle + reach) - norm.cdf(middle - reach) < level(0.05, 1.0, 5.0)
    return accepted, failures


def test_given_an_accepted_centre_the_bound_fails_as_rarely_as_promised_only_if_the_check_is_fresh() -> None:
    """α₂ is 0.1: with shared draws it bounds failures among all people, not among those who do not abstain."""
    accepted, failures = conditional_failures(fresh_check=True)
    assert 300 < accepted < 1000, "both happen"
    assert binom.sf(failures - 1, accepted, 0.1) > 1e-6
    assert failures > accepted * 0.1 / 4
    accepted, failures = conditional_failures(fresh_check=False)
    assert binom.sf(failures - 1, accepted, 0.1) < 1e-6
    assert binom.sf(failures - 1, 2000, 0.1) > 1e-6


def test_a_fresh_check_has_draws_of_its_own_and_leaves_the_others_as_they_are() -> None:
    shared, fresh = (
        draw_noise(CentreSmoothing(0.65, **QUICK, fresh_check=own), 2, stream=Stream(0, "t")) for own in (False, True)
    )
    assert torch.equal(shared.centre.whole, fresh.centre.whole)
    assert torch.equal(shared.quantile.whole, fresh.quantile.whole)
    assert torch.equal(shared.check.whole, shared.quantile.whole)
    used = torch.cat([fresh.centre.whole, fresh.quantile.whole]).flatten()
    assert not torch.isin(fresh.check.whole.flatten(), used).any()
    assert fresh.reach >= fresh.check.whole.norm(dim=1).max()


def test_a_fresh_check_decides_who_abstains() -> None:
    abstains = [
        [
            smoothed_centre(LINE, draw_noise(settings, 1, stream=Stream(seed, "t")), settings, radius) is None
            for seed in range(60)
        ]
        for settings in (
            CentreSmoothing(5.0, samples=275, samples0=275, alpha=0.2, fresh_check=own) for own in (False, True)
        )
        for radius in (1.0, None)
    ]
    assert abstains[0] == abstains[1], "with and without a radius"
    assert abstains[2] == abstains[3]
    assert abstains[0] != abstains[2]


@pytest.mark.parametrize(
    ("settings", "what"), [({"centre": "median"}, "centre 'median'"), ({"quadrature": True}, "quadrature")]
)
def test_where_nothing_is_checked_a_fresh_check_is_refused(settings: dict, what: str) -> None:
    with pytest.raises(UserError, match=f"With {what} there is no check of the centre that could have fresh samples"):
        CentreSmoothing(0.65, **settings, fresh_check=True)


def wrong_bounds(settings: CentreSmoothing, function: Function, repetitions: int) -> int:
    """How often the centre of a person one radius on is farther than the bound."""
    moved = [centres_moved(settings, function, 1.0, seed) for seed in range(repetitions)]
    return sum(not abstains and distance > bound for abstains, bound, distance in moved)


def stripes(t: Tensor, one: float, other: float) -> Tensor:
    return torch.where((t * 1000).floor() % 2 == 0, one, other).double()


# At x mostly 0, −1 and 1, so that a ball of radius 1 around 0 holds all but 4%; one radius on 60% are −1 or 1, the
# others 3 or 5, and 3 is as good a centre as 1: two away from more than half. It is three radii away from 0.
CLUSTERS = Function(
    lambda t: torch.where(t < -1.0, 0.0, torch.where(t < 1.165, stripes(t, -1.0, 1.0), stripes(t, 3.0, 5.0))), 1
)

# At x all but 5.9% are 0; one radius on hardly more than half are, the others 100.
TOSS_UP = Function(lambda t: torch.where(t < 1.0163, 0.0, 100.0).double(), 1)


def test_the_factor_three_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = CentreSmoothing(0.65, samples0=1000, alpha=0.02)
    assert wrong_bounds(settings, CLUSTERS, 200) == 0
    monkeypatch.setattr(centre_module, "ONE_PLUS_BETA", 1)
    assert binom.sf(wrong_bounds(settings, CLUSTERS, 200) - 1, 200, 0.02) < 1e-6


def test_delta_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it a ball may have to hold just half one radius on, and a sample there has half in it by luck alone."""
    settings = CentreSmoothing(0.65, samples=400_000, samples0=1000, alpha=0.02)
    assert wrong_bounds(settings, TOSS_UP, 60) == 0
    index = quantile_index(400_000, level(0.0, 1.0, 0.65), 0.01)
    monkeypatch.setattr(CentreSmoothing, "order", lambda *_: index)
    assert binom.sf(wrong_bounds(settings, TOSS_UP, 60) - 1, 60, 0.02) < 1e-6
