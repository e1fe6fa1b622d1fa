"""Exact certificates along several directions, against dense sampling and those along one."""

import itertools

import pytest
import torch

from lassi.base.streams import Stream
from lassi.certify.along.model import margins_of
from lassi.certify.along.relaxation import least_on_ball, lower_bounds
from lassi.certify.certificate import Outcome
from lassi.certify.exact.balls import box_bounds, certify_balls, largest_radius
from lassi.certify.exact.boxes import Boxes
from lassi.certify.exact.segments import certify_segments
from lassi.similarity.sets import SimilaritySet
from networks import classes_at, in_ball, random_model, random_people, random_set

SHAPES = [(12,), (32, 24, 12), (24, 24, 24, 12)]


@pytest.mark.parametrize("widths", SHAPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_reduced_network_is_the_network_on_its_ball(n: int, widths: tuple[int, ...]) -> None:
    model, z, similar = random_model(n, widths), random_people(n), random_set(n, n)
    t = in_ball(n, 1.0, 500)
    along = model.folded_representation.along(z.double(), similar.basis.double())
    for person, reduced in enumerate(model.reducer(z, similar.basis, 1.0)):
        expected = along.of(person)(t[None])[0]
        torch.testing.assert_close(reduced(t), expected, rtol=0, atol=1e-12)
        moved = reduced.displacement
        torch.testing.assert_close(moved.base + moved(t), expected, rtol=0, atol=1e-12)
        unstable = sum(len(block.rows) for block in reduced.blocks)
        if len(widths) == 1:
            assert unstable == 0
        else:
            assert unstable < sum(widths[:-1]), "something is stable"


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("widths", SHAPES[1:], ids=str)
def test_linear_bounds_hold_at_every_sample(n: int, widths: tuple[int, ...]) -> None:
    model, z, similar = random_model(n, widths), random_people(n), random_set(n, n, length=2.0)
    t = in_ball(n, 1.0)
    for reduced in model.reducer(z, similar.basis, 1.0):
        phi = reduced.features(t)
        for block, inputs in zip(reduced.blocks, reduced.inputs(phi), strict=True):
            assert (inputs >= block.low - 1e-12).all()
            assert (inputs <= block.high + 1e-12).all()
        ranges = [(block.low, block.high) for block in reduced.blocks]
        linear = lower_bounds(reduced.out, reduced.blocks, ranges)
        below = linear[:, 0] + t @ linear[:, 1:].T
        assert (below <= reduced(t) + 1e-12).all()
        assert (least_on_ball(linear, 1.0) <= below.amin(0) + 1e-12).all()


def test_bounds_on_boxes_hold_and_close_in() -> None:
    model, z, similar = random_model(3), random_people(3, 3), random_set(3, 2, length=2.0)
    for logits in model.joint_reducer(z, similar.basis, 1.0):
        margins = logits.then(margins_of(0, 2, logits.out))
        gaps = []
        for sides in (1, 4, 16, 64):
            half = torch.full((sides * sides, 2), 1 / sides, dtype=torch.float64)
            axis = (2 * torch.arange(sides, dtype=torch.float64) + 1) / sides - 1
            middle = torch.cartesian_prod(axis, axis)
            depth, bound = torch.zeros(len(half), dtype=torch.int64), torch.zeros(len(half), dtype=torch.float64)
            bounds = box_bounds(margins, Boxes(middle, half, depth, bound, 1.0))
            within_box = torch.rand(len(half), 200, 2, generator=Stream(sides, "boxes").torch(), dtype=torch.float64)
            inside = middle[:, None] + half[:, None] * (2 * within_box - 1)
            within = inside.norm(dim=2) <= 1
            values = margins(inside.flatten(0, 1)).view(*inside.shape[:2])
            least = torch.where(within, values, torch.inf).amin(1)
            assert (bounds <= least).all()
            gaps.append((least - bounds)[within.all(1)].amax().item() if within.all(1).any() else torch.inf)
        assert gaps[-1] < gaps[1] / 4


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(("classes", "hidden"), [(2, ()), (4, ()), (3, (16,)), (10, ())])
def test_no_sample_contradicts_an_exact_certificate(n: int, classes: int, hidden: tuple[int, ...]) -> None:
    seed = 10 * n + classes
    model = random_model(seed, (32, 24, 12), classes, hidden)
    z, similar = random_people(seed, 24), random_set(seed, n, length=1.5)
    found = certify_balls(model, z, range(24), similar)
    sampled = classes_at(model, z, similar, in_ball(n, 1.0))
    outcomes = [certificate.outcome for certificate in found]
    for person, certificate in enumerate(found):
        if certificate.outcome is Outcome.CERTIFIED:
            assert set(sampled[person].tolist()) == {certificate.predicted}
        if certificate.outcome is Outcome.COUNTEREXAMPLE:
            t = torch.tensor(certificate.counterexample.t, dtype=torch.float64)
            assert t.norm() <= 1 + 1e-9
            there = classes_at(model, z[person : person + 1], similar, t[None])
            assert there.item() == certificate.counterexample.predicted != certificate.predicted
    assert outcomes.count(Outcome.UNDECIDED) == 0, "for so few directions nothing is left open"
    assert {Outcome.CERTIFIED, Outcome.COUNTEREXAMPLE} == set(outcomes)


def test_along_one_direction_both_ways_of_proving_agree() -> None:
    model, z, similar = random_model(8), random_people(8, 40), random_set(8, length=2.0)
    by_kinks, by_boxes = (f(model, z, range(40), similar) for f in (certify_segments, certify_balls))
    assert [c.outcome for c in by_kinks] == [c.outcome for c in by_boxes]
    assert [c.predicted for c in by_kinks] == [c.predicted for c in by_boxes]


def test_certified_for_two_is_certified_for_each() -> None:
    model, z, both = random_model(9), random_people(9, 40), random_set(9, 2, length=1.5)
    certified = {c.person for c in certify_balls(model, z, range(40), both) if c.is_certified}
    for column in range(2):
        single = certify_segments(model, z, range(40), SimilaritySet(both.directions[:, column : column + 1], 1.0))
        assert certified <= {c.person for c in single if c.is_certified}
    assert certified


def test_a_larger_radius_never_turns_a_no_into_a_yes_and_bisection_finds_the_limit() -> None:
    model, z = random_model(10), random_people(10, 12)
    certified = [
        {c.person for c in certify_balls(model, z, range(12), random_set(10, 2, radius=radius)) if c.is_certified}
        for radius in (0.3, 0.6, 1.2, 2.4)
    ]
    assert all(larger <= smaller for smaller, larger in itertools.pairwise(certified))
    assert len(certified[0]) > len(certified[-1])
    limits = largest_radius(model, z, random_set(10, 2), limit=2.4, steps=10)
    for person, limit in enumerate(limits):
        assert abs(limit - 0.6) > 0.01, "nobody is so near that the steps could decide"
        assert (limit >= 0.6) == (person in certified[1])
        if limit:
            (again,) = certify_balls(model, z[person : person + 1], [0], random_set(10, 2, radius=limit))
            assert again.is_certified


def test_duplicate_and_parallel_directions_change_nothing_but_the_length() -> None:
    model, z, single = random_model(11), random_people(11, 20), random_set(11, length=1.0)
    twice = SimilaritySet(single.directions.repeat(1, 2), 1.0)
    longer = SimilaritySet(single.directions * 2**0.5, 1.0)
    assert twice.rank == 1
    for pair, one in zip(
        certify_segments(model, z, range(20), twice), certify_segments(model, z, range(20), longer), strict=True
    ):
        assert pair.outcome == one.outcome
        assert pair.figures["margin"] == pytest.approx(one.figures["margin"], abs=1e-4)


def test_what_a_basis_of_lower_rank_leaves_out_is_in_the_slack() -> None:
    """Three directions of which one is nearly a sum of the others: the certificate covers all three nevertheless."""
    model, z, two = random_model(15), random_people(15, 12), random_set(15, 2)
    a = two.directions
    third = a.sum(1, keepdim=True) + 1e-6 * random_set(16).directions
    three = SimilaritySet(torch.cat([a, third], 1), 1.0)
    assert (three.rank, three.dropped > 1e-8) == (2, True)
    found = certify_balls(model, z, range(12), three)
    as_two = certify_balls(model, z, range(12), SimilaritySet(three.basis, 1.0))
    for one, other in zip(found, as_two, strict=True):
        assert one.figures["slack"] > other.figures["slack"] + three.dropped * 1e-3
    t = in_ball(3, 1.0)
    points = z.double()[:, None] + t @ three.directions.double().T
    with torch.no_grad():
        r, c = model.representation.double(), model.classifier.double()
        classes = c(r(points.flatten(0, 1))).argmax(1).view(12, -1)
    r.float(), c.float()
    certified = [certificate for certificate in found if certificate.is_certified]
    assert certified
    for certificate in certified:
        assert set(classes[certificate.person].tolist()) == {certificate.predicted}


def test_a_budget_of_few_boxes_is_undecided_and_never_wrong() -> None:
    model, z, similar = random_model(12, (32, 24, 12)), random_people(12, 40), random_set(12, 4, length=1.2)
    few, many = (certify_balls(model, z, range(40), similar, max_boxes=boxes) for boxes in (2, 4096))
    decided = [(short, long) for short, long in zip(few, many, strict=True) if short.outcome is not Outcome.UNDECIDED]
    assert 0 < len(decided) < 40, "both happen"
    assert all(short.outcome is long.outcome for short, long in decided)
    assert sum(long.outcome is Outcome.UNDECIDED for long in many) < 40 - len(decided), "more boxes decide more"


def test_without_a_relu_a_margin_of_zero_is_undecided() -> None:
    model, z, similar = random_model(1, (6,)), random_people(3, 8), random_set(5, 2)
    weight, bias = model.networks.weights[0], model.networks.biases[0]
    for person in range(8):
        logits = weight @ z[person].double() + bias
        first = int(logits.argmax())
        radius = (logits[first] - logits[1 - first]) / ((weight[first] - weight[1 - first]) @ similar.basis64).norm()
        ball = SimilaritySet(similar.directions, radius.item())
        (found,) = certify_balls(model, z[person : person + 1], [person], ball)
        assert found.outcome is Outcome.UNDECIDED


def test_many_directions_are_decided_by_cutting_those_that_matter() -> None:
    """Twelve, one of them longer: boxes or the ball alone, without what they have in common, would decide nobody."""
    model, z = random_model(18, (32, 24, 12)), random_people(18, 24)
    longer = torch.tensor([4.0] + [1.0] * 11)
    similar = SimilaritySet(random_set(18, 12, length=0.7).directions * longer, 1.0)
    root, boxes = (certify_balls(model, z, range(24), similar, max_boxes=budget) for budget in (1, 4096))
    assert sum(certificate.outcome is Outcome.UNDECIDED for certificate in root) >= 3
    sampled = classes_at(model, z, similar, in_ball(similar.rank, 1.0))
    for person, certificate in enumerate(boxes):
        assert certificate.outcome is not Outcome.UNDECIDED
        assert certificate.figures["boxes"] <= 4096
        if certificate.is_certified:
            assert set(sampled[person].tolist()) == {certificate.predicted}
    assert {certificate.is_certified for certificate in boxes} == {True, False}, "both happen"


def test_people_do_not_depend_on_who_is_beside_them() -> None:
    model, z, similar = random_model(13), random_people(13, 20), random_set(13, 3)
    together = certify_balls(model, z, range(20), similar)
    assert together == [certify_balls(model, z[i : i + 1], [i], similar)[0] for i in range(20)]


def test_own_directions_are_each_persons() -> None:
    model, z = random_model(14), random_people(14, 5)
    sets = [random_set(seed, 2) for seed in range(5)]
    own = SimilaritySet(torch.stack([s.directions for s in sets]), 1.0)
    found = certify_balls(model, z, range(5), own)
    alone = [certify_balls(model, z[i : i + 1], [i], sets[i])[0] for i in range(5)]
    assert [c.outcome for c in found] == [c.outcome for c in alone]
