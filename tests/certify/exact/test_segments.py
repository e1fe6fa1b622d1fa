"""Exact certificates along one direction, against a fine grid and networks of every depth."""

import itertools
import math

import pytest
import torch

from lassi.certify.along.kinks import Kinks, first_kinks
from lassi.certify.along.polyline import Tracer
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.segments import certify_segments
from lassi.representation.network import Folded
from networks import classes_at, random_model, random_people, random_set

SHAPES = [(12,), (32, 12), (32, 24, 12), (24, 24, 24, 12), (16, 16, 16, 16, 8)]


@pytest.mark.parametrize("widths", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_polyline_is_the_network(seed: int, widths: tuple[int, ...]) -> None:
    model, z, similar = random_model(seed, widths), random_people(seed), random_set(seed, length=4.0)
    t = torch.linspace(-1.5, 1.5, 2001, dtype=torch.float64)
    for person, line in enumerate(model.tracer(z, similar.basis, 1.5)):
        with torch.no_grad():
            expected = model.representation.double()(z[person].double() + t[:, None] * similar.basis[:, 0].double())
        model.representation.float()
        difference = (line.base + line.at(t) - expected).abs().amax(0)
        assert (difference <= line.slack).all()
        assert line.slack.max() < 1e-9 * 6 ** len(widths)
        assert (line.t.diff() >= 0).all()


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("hidden", [(), (16,), (16, 8)], ids=str)
@pytest.mark.parametrize("widths", SHAPES[1:], ids=str)
def test_no_point_of_a_grid_contradicts_an_exact_certificate(widths, hidden, classes: int) -> None:
    seed = 7 * classes + len(hidden)
    model = random_model(seed, widths, classes, hidden)
    z, similar = random_people(seed, 24), random_set(seed, length=2.0)
    found = certify_segments(model, z, range(24), similar, limit=2.0)
    t = torch.linspace(-1, 1, 20_001, dtype=torch.float64)[:, None]
    grid = classes_at(model, z, similar, t)
    for person, certificate in enumerate(found):
        if certificate.outcome is Outcome.CERTIFIED:
            assert set(grid[person].tolist()) == {certificate.predicted}
        else:
            assert certificate.outcome is Outcome.COUNTEREXAMPLE, "nothing is left open"
            (worst,) = certificate.counterexample.t
            assert abs(worst) <= 1
            there = classes_at(model, z[person : person + 1], similar, torch.tensor([[worst]]))
            assert there.item() == certificate.counterexample.predicted != certificate.predicted
    assert {Outcome.CERTIFIED} < {certificate.outcome for certificate in found}, "both happen"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_grid_of_a_hundred_thousand_points_agrees(seed: int) -> None:
    model, z, similar = random_model(seed, (64, 48, 24)), random_people(seed, 12), random_set(seed, length=2.0)
    found = certify_segments(model, z, range(12), similar)
    t = torch.linspace(-1, 1, 100_001, dtype=torch.float64)[:, None]
    for person, certificate in enumerate(found):
        classes = set(classes_at(model, z[person : person + 1], similar, t)[0].tolist())
        assert (certificate.outcome is Outcome.CERTIFIED) == (len(classes) == 1)


@pytest.mark.parametrize("seed", range(5))
def test_flip_is_where_the_class_changes_first(seed: int) -> None:
    model, z, similar = random_model(seed), random_people(seed, 16), random_set(seed, length=2.0)
    found = certify_segments(model, z, range(16), similar, limit=3.0)
    t = torch.linspace(-3, 3, 60_001, dtype=torch.float64)
    grid = classes_at(model, z, similar, t[:, None])
    for person, certificate in enumerate(found):
        other = t[grid[person] != certificate.predicted].abs()
        if certificate.flip is None:
            assert not len(other)
        else:
            assert other.min().item() == pytest.approx(certificate.flip, abs=1.1e-4)
            assert certificate.flip <= other.min().item(), "rounded to the safe side"
        first = math.inf if certificate.flip is None else certificate.flip
        assert certificate.is_certified == (first > similar.radius)
    assert {certificate.is_certified for certificate in found} == {True, False}, "both happen"


def test_a_larger_radius_never_turns_a_no_into_a_yes() -> None:
    model, z = random_model(1), random_people(1, 32)
    certified = [
        {c.person for c in certify_segments(model, z, range(32), random_set(1, radius=radius)) if c.is_certified}
        for radius in (0.25, 0.5, 1.0, 2.0, 4.0)
    ]
    assert all(larger <= smaller for smaller, larger in itertools.pairwise(certified))
    assert len(certified[0]) > len(certified[-1])


def test_people_do_not_depend_on_who_is_beside_them() -> None:
    model, z, similar = random_model(2), random_people(2, 40), random_set(2)
    together = certify_segments(model, z, range(40), similar)
    alone = [certify_segments(model, z[i : i + 1], [i], similar)[0] for i in range(40)]
    backwards = certify_segments(model, z.flip(0), range(39, -1, -1), similar)[::-1]
    assert together == alone == backwards


def test_own_directions_are_each_persons() -> None:
    model, z = random_model(3), random_people(3, 6)
    shared = [random_set(seed) for seed in range(6)]
    own = type(shared[0])(torch.stack([s.directions for s in shared]), 1.0)
    for person, found in enumerate(certify_segments(model, z, range(6), own)):
        (alone,) = certify_segments(model, z[person : person + 1], [person], shared[person])
        assert found.outcome is alone.outcome
        assert found.figures["margin"] == pytest.approx(alone.figures["margin"], abs=1e-12)


def displaced(by: float):
    def kinks(c, b, reach):
        t, neurons = first_kinks(c, b, reach)
        return Kinks((t + by).clamp(-reach, reach), neurons)

    return kinks


@pytest.mark.parametrize("by", [1e-6, 1e-4, 1e-2])
def test_the_slack_covers_displaced_kinks_and_is_needed(by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With knots in wrong places the polyline is wrong, by less than the slack says; without slack it would lie."""
    import lassi.certify.along.polyline as polyline

    model, z, similar = random_model(4), random_people(4), random_set(4, length=4.0)
    monkeypatch.setattr(polyline, "first_kinks", displaced(by))
    t = torch.linspace(-1, 1, 4001, dtype=torch.float64)
    worst = 0.0
    for person, line in enumerate(model.tracer(z, similar.basis, 1.0)):
        with torch.no_grad():
            expected = model.representation.double()(z[person].double() + t[:, None] * similar.basis[:, 0].double())
        model.representation.float()
        difference = (line.base + line.at(t) - expected).abs().amax(0)
        assert (difference <= line.slack).all()
        worst = max(worst, difference.max().item())
    assert worst > 1e-3 * by, "the displacement shows"


def test_a_displaced_kink_without_slack_would_certify_a_wrong_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """A margin that is negative near its kink alone: a knot beside it sees nothing, and only the slack tells."""
    import lassi.certify.along.polyline as polyline

    network = Folded(
        [torch.tensor([[1.0], [-1.0]], dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64)],
        [torch.zeros(2, dtype=torch.float64), torch.full((1,), -1e-4, dtype=torch.float64)],
    )  # |z + t| − 1e-4
    z, a = torch.full((1, 1), 0.3, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    (line,) = Tracer(network)(z, a, 1.0)
    assert line.values.min() < -line.slack, "the kink at t = −0.3 is found"
    monkeypatch.setattr(polyline, "first_kinks", displaced(-1e-3))
    (line,) = Tracer(network)(z, a, 1.0)
    assert line.values.min() > 0, "this alone would be a certificate, and wrong"
    assert line.values.min() <= line.slack, "but it is within the slack"


def test_a_margin_of_zero_is_undecided() -> None:
    model, z, similar = random_model(5), random_people(5, 1), random_set(5)
    model.classifier.linears[0].weight.data[1] = model.classifier.linears[0].weight.data[0]
    model.classifier.linears[0].bias.data[1] = model.classifier.linears[0].bias.data[0]
    (certificate,) = certify_segments(model, z, [0], similar)
    assert certificate.outcome is Outcome.UNDECIDED


def test_a_certificate_is_one_line_and_comes_back() -> None:
    model, z, similar = random_model(6), random_people(6, 30), random_set(6, length=3.0)
    for certificate in certify_segments(model, z, range(30), similar):
        full = certificate.about({"flow": "f", "representation": "r"})
        assert full.line().count(b"\n") == 1
        assert Certificate.from_line(full.line(), called="a line") == full
