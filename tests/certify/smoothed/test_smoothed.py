"""Smoothed certificates: closed forms, a plain loop on the same draws, rates of failure, and mutants that must fail."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import binom, chi2_contingency, norm
from sklearn.ensemble import RandomForestClassifier
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.along.polyline import Polyline
from lassi.certify.certificate import Outcome
from lassi.certify.exact.modular import certify_exact_modular, farthest
from lassi.certify.exact.segments import certify_segments
from lassi.certify.method import People, Subject
from lassi.certify.smoothed import centre as centre_module
from lassi.certify.smoothed.centre import draw_noise, smoothed_centre
from lassi.certify.smoothed.classes import exact_radius, noisy_classes, predicted_class, smoothed_class
from lassi.certify.smoothed.joint import BlackBox, certify_black_box, certify_joint, predict_joint
from lassi.certify.smoothed.modular import ModularPlan, SmoothedModular, certify_modular, predict_modular
from lassi.certify.smoothed.producer import Producers, produced, walks
from lassi.certify.smoothed.quadrature import Masses, mass_radius
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.certify.smoothed.statistics import level, quantile_index
from lassi.certify.smoothed.walk import PolylineWalk
from lassi.consumer.classifier import Classifier, from_linear
from lassi.consumer.foreign import as_classifier
from lassi.similarity.sets import SimilaritySet
from networks import random_model, random_people, random_set

QUICK = {"samples": 2000, "samples0": 2000}


class Function:
    """Any function of t as a walk, in plain numbers."""

    def __init__(self, function, k: int = 1) -> None:
        self._function, self.base = function, torch.zeros(k, dtype=torch.float64)
        self.off, self.longest = 0.0, 0.0

    def moves(self, t: Tensor) -> Tensor:
        return self._function(t)

    def distances(self, t: Tensor, centres: Tensor, *, bounds: bool = False) -> Tensor:  # noqa: ARG002
        return (self._function(t)[None] - centres[:, None]).norm(dim=2)


AFFINE = Function(lambda t: t @ torch.tensor([[3.0, 4.0]], dtype=torch.float64), 2)  # |g(t) − g(0)| = 5|t|


def test_an_affine_map_has_its_closed_form() -> None:
    settings = CentreSmoothing(0.65)
    centre = smoothed_centre(AFFINE, draw_noise(settings, 1, stream=Stream(0, "t")), settings, 1.0)
    assert centre.move.norm() < 5 * 0.65 * 0.1, "the centre is near the middle"
    sure = 3 * 5 * 0.65 * norm.ppf((1 + 0.951956) / 2)
    assert sure < centre.radius < 1.1 * sure


def polyline_of(function: Function, reach: float = 3.9, knots: int = 2001) -> PolylineWalk:
    t = torch.linspace(-reach, reach, knots, dtype=torch.float64)
    moves = function.moves(t[:, None])
    return PolylineWalk(Polyline(t, function.base, moves, torch.zeros(moves.shape[1], dtype=torch.float64)))


def test_quadrature_of_an_affine_map_is_exact() -> None:
    walk = polyline_of(AFFINE, knots=5)
    for mass in (0.1, 0.5, 0.938, 0.99):
        found = mass_radius(walk, torch.zeros(2, dtype=torch.float64), 0.65, mass)
        assert found == pytest.approx(5 * 0.65 * norm.ppf((1 + mass) / 2), rel=1e-9)
    assert mass_radius(walk, torch.zeros(2, dtype=torch.float64), 0.65, 1 - 1e-12) == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_masses_are_those_of_a_fine_grid(seed: int) -> None:
    model, z, similar = random_model(seed), random_people(seed, 1), random_set(seed, length=3.0)
    (line,) = model.tracer(z, similar.basis, 3.9)
    walk = PolylineWalk(line)
    t = torch.from_numpy(norm.ppf((np.arange(400_000) + 0.5) / 400_000) * 0.65)
    t = t[t.abs() < 3.9]
    centres = line.moves[:: len(line.t) // 3]
    radii = torch.linspace(0.05, 2.0, len(centres), dtype=torch.float64)
    by_grid = (walk.distances(t[:, None], centres[:1])[0] <= radii[0]).double().mean()
    found = Masses(walk, walk.squares_at_knots(centres), 0.65)(radii)
    assert found[0] == pytest.approx(by_grid.item(), abs=1e-4)
    for row in range(len(centres)):
        distances = (line.at(t) - centres[row]).norm(dim=1)
        assert found[row] == pytest.approx((distances <= radii[row]).double().mean().item(), abs=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_walk_is_the_network(n: int) -> None:
    model, z, similar = random_model(n), random_people(n, 3), random_set(n, n, length=2.0)
    settings = CentreSmoothing(0.65, **QUICK)
    draws = [draw_noise(settings, n, stream=Stream(0, "t").at(i)) for i in range(3)]
    for i, walk in enumerate(walks(model, z, similar, draws, settings)):
        with torch.no_grad():
            r = model.representation.double()
            expected = r(z[i].double() + draws[i].centre.whole @ similar.basis.double().T)
            base = r(z[i].double()[None])[0]
        model.representation.float()
        torch.testing.assert_close(walk.moves(draws[i].centre.whole), expected - base, rtol=0, atol=1e-12)
        torch.testing.assert_close(walk.base, base, rtol=0, atol=1e-12)
        centres = (expected - base)[:5]
        found = walk.distances(draws[i].centre.whole, centres).sort().values
        by_hand = torch.cdist(centres, expected - base, compute_mode="donot_use_mm_for_euclid_dist").sort().values
        torch.testing.assert_close(found, by_hand, rtol=0, atol=1e-7)
        one = walk.distances(draws[i].centre.whole, centres[:1])[0].sort().values
        torch.testing.assert_close(one, by_hand[0], rtol=1e-9, atol=1e-6)
        assert (one >= by_hand[0] - 1e-12).all(), "rounded up"


def test_where_everybody_is_mapped_to_nearly_one_point_no_digit_is_lost() -> None:
    """Displacements of 1e-6 beside representations of size 1: an expanded product in float32 would see nothing."""
    for n in (1, 3):
        model, z = random_model(n), random_people(n, 2)
        tiny = SimilaritySet(random_set(n, n).directions * 1e-6, 1.0)
        settings = CentreSmoothing(0.65, samples=5000, samples0=5000)
        found = certify_modular(
            model, z, [0, 1], tiny, ModularPlan(settings, ClassSmoothing(0.1, samples=2000)), seed=0
        )
        large = SimilaritySet(random_set(n, n).directions * 1e-3, 1.0)
        scaled = certify_modular(
            model, z, [0, 1], large, ModularPlan(settings, ClassSmoothing(0.1, samples=2000)), seed=0
        )
        for one, other in zip(found, scaled, strict=True):
            assert one.figures["centre_radius"] is not None, "it does not abstain"
            ratio = other.figures["centre_radius"] / one.figures["centre_radius"]
            assert ratio == pytest.approx(1000, rel=0.02)


def plain_loop(walk, draws, settings: CentreSmoothing, radius: float) -> float | None:
    """Algorithm 1 as it is printed, one sample at a time."""
    first = walk.moves(draws.centre.whole).double().numpy()
    check, last = (walk.moves(part.whole).double().numpy() for part in (draws.check, draws.quantile))
    best, ball = None, math.inf
    for candidate in first:
        distances = sorted(float(np.sqrt(((other - candidate) ** 2).sum())) for other in first)
        if distances[len(first) // 2] < ball:
            best, ball = candidate, distances[len(first) // 2]
    alpha = settings.alpha / 2
    deviation = math.sqrt(math.log(2 / alpha) / (2 * len(first)))
    inside = sum(float(np.sqrt(((other - best) ** 2).sum())) <= ball for other in check)
    if deviation > settings.delta or inside / len(check) < 0.5 - settings.delta + deviation:
        return None
    p = norm.cdf(norm.ppf(0.5 + settings.delta) + radius / settings.sigma)
    index = math.ceil(len(last) * (p + math.sqrt(math.log(1 / alpha) / (2 * len(last)))))
    return 3 * sorted(float(np.sqrt(((other - best) ** 2).sum())) for other in last)[index - 1]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_with_the_papers_constants_it_is_the_plain_loop(n: int) -> None:
    model, z, similar = random_model(n), random_people(n, 2), random_set(n, n, length=2.0)
    settings = CentreSmoothing(0.65, samples=1300, samples0=1300, candidates=None, quantile="hoeffding")
    draws = [draw_noise(settings, n, stream=Stream(3, "t").at(i)) for i in range(2)]
    for walk, drawn in zip(walks(model, z, similar, draws, settings), draws, strict=True):
        found, expected = smoothed_centre(walk, drawn, settings, 1.0), plain_loop(walk, drawn, settings, 1.0)
        assert (found is None) == (expected is None)
        assert found is None or found.radius == pytest.approx(expected, rel=1e-4)


def test_fewer_candidates_give_nearly_the_same_centre() -> None:
    few, all_of_them = CentreSmoothing(0.65, **QUICK), CentreSmoothing(0.65, candidates=None, **QUICK)
    walk = Function(lambda t: torch.cat([t, t**2], 1), 2)
    draws = draw_noise(few, 1, stream=Stream(1, "t"))
    radii = [smoothed_centre(walk, draws, settings, 1.0).radius for settings in (few, all_of_them)]
    assert radii[0] == pytest.approx(radii[1], rel=0.1)


# --- how often certificates are wrong ---------------------------------------------------------------------------


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
        wrong = 0
        for seed in range(2000):
            abstains, bound, distance = centres_moved(settings, function, 1.0, seed)
            wrong += (not abstains) and distance > bound
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


def test_the_bound_at_x_is_rounded_up() -> None:
    settings = CentreSmoothing(0.65, **QUICK)
    draws = draw_noise(settings, 1, stream=Stream(0, "t"))
    centre = smoothed_centre(AFFINE, draws, settings, 1.0)
    distances = (AFFINE.moves(draws.quantile.whole) - centre.move).norm(dim=1).sort().values
    exact = 3 * distances[settings.order(1.0) - 1].item()
    assert exact < centre.radius < exact * (1 + 1e-8)


# --- classes ----------------------------------------------------------------------------------------------------


class Plain:
    """A linear classifier that does not say so: its noise is drawn in all dimensions."""

    def __init__(self, model: Classifier) -> None:
        self._model, self.num_classes, self.dim = model, model.num_classes, model.dim

    def predict(self, r: Tensor) -> Tensor:
        return self._model.predict(r)


def test_noise_on_logits_has_the_law_of_noise_on_representations() -> None:
    for classes in (2, 3, 10):
        model = random_model(classes, classes=classes)
        r = torch.randn(12, generator=Stream(classes, "r").torch(), dtype=torch.float64)
        few = noisy_classes(model.classifier, r, 2.0)(200_000, Stream(0, "few"))
        many = noisy_classes(Plain(model.classifier), r, 2.0)(200_000, Stream(1, "many"))
        seen = (few + many) > 10
        assert chi2_contingency(torch.stack([few, many])[:, seen].numpy()).pvalue > 1e-4


def test_a_linear_classifier_of_two_classes_has_its_closed_form() -> None:
    model = random_model(1)
    r = torch.randn(12, generator=Stream(4, "r").torch(), dtype=torch.float64)
    weight, bias = (x.double() for x in (model.classifier.linears[0].weight, model.classifier.linears[0].bias))
    margin = ((weight[1] - weight[0]) @ r + bias[1] - bias[0]).abs().item()
    radius, label = exact_radius(model.classifier, r)
    assert radius == pytest.approx(margin / (weight[1] - weight[0]).norm().item(), rel=1e-8)
    sigma = radius
    sampled = smoothed_class(noisy_classes(model.classifier, r, sigma), ClassSmoothing(sigma), stream=Stream(0, "c"))
    assert sampled.label == label
    assert 0.97 * radius < sampled.radius < radius


def test_for_three_classes_the_margin_is_no_radius_of_the_smoothed_classifier() -> None:
    """Logits (1, −r, r) with unit noise: the margin's radius is 1, but the smoothed class flips at .969."""
    weight = torch.tensor([[0.0], [-1.0], [1.0]])
    model = from_linear(weight, torch.tensor([1.0, 0.0, 0.0]))
    plain, label = exact_radius(model, torch.zeros(1, dtype=torch.float64))
    assert (label, plain) == (0, pytest.approx(1.0))
    at = {
        place: noisy_classes(model, torch.tensor([place], dtype=torch.float64), 1.0)(400_000, Stream(0, "k")).argmax()
        for place in (0.9, 1.02)
    }
    assert at[0.9] == 0
    assert at[1.02] == 2
    smoothed = smoothed_class(
        noisy_classes(model, torch.zeros(1, dtype=torch.float64), 1.0), ClassSmoothing(1.0), stream=Stream(0, "s")
    )
    assert smoothed.radius < 0.969


def test_for_three_classes_the_plain_and_the_smoothed_class_may_differ() -> None:
    model = from_linear(torch.tensor([[0.0], [-1.0], [1.0]]), torch.tensor([0.1, 0.0, 0.0]))
    r = torch.tensor([0.01], dtype=torch.float64)
    assert model.predict(r[None].float()).item() == 0
    assert noisy_classes(model, r, 1.0)(100_000, Stream(0, "k")).argmax() == 2


@pytest.mark.slow
def test_wrong_classes_are_certified_as_rarely_as_promised() -> None:
    """A class whose probability is just below ½ + what the radius needs: certified no more often than alpha."""
    settings = ClassSmoothing(1.0, samples0=50, samples=300, alpha=0.05)
    margin = 0.3  # the true radius
    wrong = empirical = 0
    model = from_linear(torch.tensor([[0.0], [1.0]]), torch.tensor([0.0, margin]))
    for seed in range(2000):
        sample = noisy_classes(model, torch.zeros(1, dtype=torch.float64), 1.0)
        found = smoothed_class(sample, settings, stream=Stream(seed, "c"))
        wrong += found.label == 1 and found.radius > margin
        count = sample(300, Stream(seed, "c").child("bound"))[1].item()
        empirical += norm.ppf(count / 300) > margin
    assert binom.sf(wrong - 1, 2000, 0.05) > 1e-6
    assert binom.sf(empirical - 1, 2000, 0.05) < 1e-6, "p_A without its bound would be wrong far more often"


def test_predictions_abstain_where_classes_are_even() -> None:
    even = from_linear(torch.tensor([[0.0], [1.0]]), torch.zeros(2))
    sample = noisy_classes(even, torch.zeros(1, dtype=torch.float64), 1.0)
    assert predicted_class(sample, 1000, 0.001, stream=Stream(0, "p")) is None
    sure = noisy_classes(even, torch.full((1,), 3.0, dtype=torch.float64), 1.0)
    assert predicted_class(sure, 1000, 0.001, stream=Stream(0, "p")) == 1


# --- certificates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("centre", ["ball", "median"])
def test_who_is_certified_gets_the_same_class_everywhere(n: int, centre: str) -> None:
    model, z, similar = random_model(20 + n), random_people(20 + n, 24), random_set(20 + n, n, length=0.15)
    centres = CentreSmoothing(0.65, centre=centre, samples=3000, samples0=3000)
    classes = ClassSmoothing(0.3, samples=5000)
    found = certify_modular(model, z, range(24), similar, ModularPlan(centres, classes), seed=0)
    certified = [c for c in found if c.is_certified]
    assert len(certified) >= 3
    assert any(not c.is_certified for c in found)
    t = similar.uniform(1, 5, stream=Stream(0, "t"))[0]
    moved = z[:, None] + t @ similar.basis.T
    for place in range(5):
        there = predict_modular(
            model, moved[:, place], range(100, 124), similar, ModularPlan(centres, classes), stream=Stream(1, "predict")
        )
        for certificate in certified:
            assert there[certificate.person] in (certificate.predicted, None)


def test_a_persons_certificate_does_not_depend_on_the_others() -> None:
    for n in (1, 2):
        model, z, similar = random_model(n), random_people(n, 20), random_set(n, n)
        settings = ModularPlan(CentreSmoothing(0.65, **QUICK), ClassSmoothing(1.0, samples=2000))
        people = list(range(50, 70))
        together = certify_modular(model, z, people, similar, settings, seed=0)
        alone = [certify_modular(model, z[i : i + 1], [people[i]], similar, settings, seed=0)[0] for i in range(20)]
        assert together == alone
        joint = certify_joint(model, z, people, similar, ClassSmoothing(0.65, samples=3000), seed=0)
        backwards = certify_joint(model, z.flip(0), people[::-1], similar, ClassSmoothing(0.65, samples=3000), seed=0)
        assert joint == backwards[::-1]
        other = certify_modular(model, z, people, similar, settings, seed=1)
        assert [c.figures["centre_radius"] for c in other] != [c.figures["centre_radius"] for c in together]


def test_quadrature_certifies_no_fewer_than_sampling_and_exact_joint_no_fewer_than_exact_modular() -> None:
    model, z, similar = random_model(30), random_people(30, 80), random_set(30, length=0.3)
    classes = ClassSmoothing(0.5, samples=10_000)
    counts = {}
    for name, settings in (
        ("sampled", CentreSmoothing(0.65, **QUICK)),
        ("computed", CentreSmoothing(0.65, quadrature=True)),
    ):
        found = certify_modular(model, z, range(80), similar, ModularPlan(settings, classes), seed=0)
        counts[name] = sum(c.is_certified for c in found)
        assert all(c.alpha == pytest.approx(0.0 if name == "computed" else 0.006) for c in found)
    exact = certify_segments(model, z, range(80), similar)
    modular = certify_exact_modular(model, z, range(80), similar)
    counts["joint"], counts["modular"] = (sum(c.is_certified for c in found) for found in (exact, modular))
    assert counts["computed"] >= counts["sampled"] > 0
    assert counts["joint"] >= counts["modular"] >= counts["computed"]
    assert all(one.is_certified or not other.is_certified for one, other in zip(exact, modular, strict=True))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_d_max_is_not_exceeded_by_any_sample_and_for_one_direction_it_is_reached(n: int) -> None:
    model, z, similar = random_model(40 + n), random_people(40 + n, 6), random_set(40 + n, n, length=2.0)
    t = similar.uniform(6, 4000, stream=Stream(0, "t")).double()
    t = torch.cat([t, similar.radius * t / t.norm(dim=2, keepdim=True)], 1)
    along = model.folded_representation.along(z.double(), similar.basis.double())
    moved = (along(t) - along(torch.zeros(6, 1, n, dtype=torch.float64))).norm(dim=2).amax(1)
    for (r, off, bound), most in zip(farthest(model, z, similar), moved.tolist(), strict=True):
        assert len(r) == len(off) == 12
        assert bound >= most
        assert n > 1 or bound == pytest.approx(most, rel=1e-3)


def test_joint_certificates_have_their_closed_form() -> None:
    """A model that is linear in t: p = Φ(margin/(σ|slope|)) and the radius is margin/|slope|."""
    model, z, similar = random_model(50, (12,)), random_people(50, 10), random_set(50)
    found = certify_joint(model, z, range(10), similar, ClassSmoothing(0.65), seed=0)
    along = model.networks.along(z.double(), similar.basis.double())
    for certificate, c in zip(found, along.c, strict=True):
        margin = (c[0] - c[1]).abs().item()
        slope = (along.b[0, 0] - along.b[1, 0]).abs().item()
        assert certificate.figures["class_radius"] <= margin / slope + 0.05
        assert certificate.is_certified == (certificate.figures["class_radius"] > 1)


@pytest.mark.parametrize("n", [1, 3])
def test_joint_sampling_is_the_networks(n: int) -> None:
    """Counts through the reduced network equal those of the whole one on the same draws."""
    model, z, similar = random_model(60 + n, classes=4), random_people(60 + n, 3), random_set(60 + n, n, length=2.0)
    from lassi.certify.smoothed.joint import _samplers

    along = model.networks.along(z.double(), similar.basis.double())
    for person, sample in enumerate(_samplers(model, z, similar, 0.65)):
        counts = sample(4096, Stream(7, "joint"))
        t = 0.65 * torch.from_numpy(Stream(7, "joint").numpy().standard_normal((4096, n)))
        expected = torch.bincount(along.of(person)(t[None])[0].argmax(1), minlength=4)
        assert (counts - expected).abs().max() <= 1


def test_any_classifier_of_images_is_certified_through_the_decoder() -> None:
    similar = random_set(70, 2, length=0.3)
    z = random_people(70, 4)
    w = torch.randn(20, 3, generator=Stream(70, "w").torch())

    def classify(images: Tensor) -> Tensor:
        return (images.flatten(1) @ w).argmax(1)

    def decode(latents: Tensor) -> Tensor:
        return latents.view(-1, 1, 4, 5)

    settings = ClassSmoothing(0.65, samples=3000)
    found = certify_black_box(BlackBox(classify, decode, 3), z, range(4), similar, settings, seed=0)
    again = certify_black_box(BlackBox(classify, decode, 3, chunk=7), z, range(4), similar, settings, seed=0)
    assert found == again, "memory is bounded without changing anything"
    assert any(c.is_certified for c in found)
    for certificate in found:
        moved = similar.move(
            z[certificate.person : certificate.person + 1], similar.uniform(1, 500, stream=Stream(0, "t"))
        )
        if certificate.is_certified:
            assert set(classify(moved[0]).tolist()) == {certificate.predicted}


def test_a_classifier_of_scikit_learn_is_certified_by_smoothing() -> None:
    model, z, similar = random_model(80), random_people(80, 200), random_set(80, length=0.05)
    with torch.no_grad():
        r = model.representation(z)
    labels = (r[:, 0] > r[:, 0].median()).long().numpy()
    forest = as_classifier(RandomForestClassifier(20, max_depth=3, random_state=0).fit(r.numpy(), labels))
    theirs = Model(model.representation, forest)
    classes = ClassSmoothing(0.5, samples0=200, samples=1000)
    plan = ModularPlan(CentreSmoothing(0.65, **QUICK), classes)
    found = certify_modular(theirs, z[:6], range(6), similar, plan, seed=0)
    assert any(c.is_certified for c in found)
    joint = certify_joint(theirs, z[:6], range(6), similar, ClassSmoothing(0.65, samples=2000), seed=0)
    assert any(c.is_certified for c in joint)
    assert len(predict_joint(theirs, z[:6], range(6), similar, ClassSmoothing(0.65), stream=Stream(0, "p"))) == 6
    with pytest.raises(UserError, match="no exact certificate"):
        certify_segments(theirs, z[:6], range(6), similar)
    with pytest.raises(UserError, match="need a linear classifier"):
        certify_exact_modular(theirs, z[:6], range(6), similar)


def test_own_directions_void_every_smoothed_certificate() -> None:
    model, z = random_model(90), random_people(90, 2)
    own = SimilaritySet(torch.stack([random_set(seed).directions for seed in range(2)]), 1.0)
    plan, stream = ModularPlan(CentreSmoothing(0.65), ClassSmoothing(1.0)), Stream(0, "p")
    for refused in (
        lambda: certify_modular(model, z, [0, 1], own, plan, seed=0),
        lambda: predict_modular(model, z, [0, 1], own, plan, stream=stream),
        lambda: certify_joint(model, z, [0, 1], own, plan.classes, seed=0),
        lambda: predict_joint(model, z, [0, 1], own, plan.classes, stream=stream),
    ):
        with pytest.raises(UserError, match="directions of their own"):
            refused()


def test_quadrature_is_along_one_direction() -> None:
    with pytest.raises(UserError, match="along one direction"):
        certify_modular(
            random_model(1), random_people(1, 1), [0], random_set(1, 2),
            ModularPlan(CentreSmoothing(0.65, quadrature=True), ClassSmoothing(1.0)), seed=0,
        )  # fmt: skip


def test_abstentions_are_told_as_such() -> None:
    """A centre that no ball holds half of: two clusters, far apart, whose shares waver."""
    model, z, similar = random_model(91), random_people(91, 8), random_set(91, length=2.0)
    settings = CentreSmoothing(0.65, samples=803, samples0=803)
    found = certify_modular(
        model, z, range(8), similar, ModularPlan(settings, ClassSmoothing(50.0, samples=500)), seed=0
    )
    abstained = [c for c in found if c.outcome is Outcome.ABSTAINED]
    assert abstained
    assert all(c.predicted is None for c in abstained)


@pytest.mark.parametrize(("p", "draws"), [(0.5, 200), (0.93, 20_000), (0.999, 20_000)])
def test_what_is_out_of_reach_costs_few_draws(p: float, draws: int) -> None:
    """The radius 1 at noise 0.65 needs p_A > 0.938: 200 draws of a class of 0.5 show that it has not."""
    asked = []

    def sample(count: int, stream: Stream) -> torch.Tensor:
        asked.append(count)
        hits = int(stream.numpy().binomial(count, p))
        return torch.tensor([hits, count - hits])

    settings = ClassSmoothing(0.65, samples0=200, samples=20_000)
    found = smoothed_class(sample, settings, stream=Stream(0, "few"), needed=1.0)
    assert asked == [200, draws]
    assert found.p_a < p or found.label == 1
    asked.clear()
    smoothed_class(sample, settings, stream=Stream(0, "few"))
    assert asked == [200, 20_000]


def test_the_producers_part_is_computed_once_for_all_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(model, z, people, *rest, **options):
        calls.append(list(people))
        return produced(model, z, people, *rest, **options)

    monkeypatch.setattr("lassi.certify.smoothed.modular.produced", counted)
    model, z, similar, known = random_model(1), random_people(1, 4), random_set(1, length=0.2), Producers(range(4), 12)
    centres = CentreSmoothing(0.65, **QUICK)
    narrow, wide = ModularPlan(centres, ClassSmoothing(0.5)), ModularPlan(centres, ClassSmoothing(2.0))
    subject, method = Subject(model, similar, known=known), SmoothedModular()
    first = method.certify(subject, People(z[:3], range(3)), narrow)
    again = method.certify(subject, People(z, range(4)), narrow)
    wider = method.certify(subject, People(z, range(4)), wide)
    assert calls == [[0, 1, 2], [3]]
    assert again[:3] == first
    assert again == certify_modular(model, z, range(4), similar, narrow, seed=0)
    assert wider != again
