"""Linear bounds on a region: below the network at every point, and what they are where the answer is known."""

import numpy as np
import pytest

from lassi.recheck.exact.arithmetic import arb, precisely
from lassi.recheck.exact.case import Similar
from lassi.recheck.exact.regions import Ball, Box
from lassi.recheck.exact.relaxation import Range, Reduced
from lassi.recheck.exact.search import Place
from lassi.recheck.stored import ball_model
from networks import in_ball, random_model, random_people, random_set


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "hidden"), [(2, ()), (3, (8,)), (6, ())])
def test_no_point_of_a_region_is_below_its_bounds(seed: int, n: int, hidden: tuple[int, ...]) -> None:
    model, z, similar = random_model(seed, classes=3, hidden=hidden), random_people(seed, 1), random_set(seed, n)
    points = in_ball(n, 1.0, 300).numpy()
    rng = np.random.default_rng(seed)
    with precisely():
        balls = ball_model(model.representation, model.classifier)
        along = Similar(similar.directions.numpy()).along(balls.margins(1), None)
        start = along.start(z[0].numpy())
        reduced = Reduced.of(along, start, 1.0)
        values = np.array([[float(value) for value in row] for row in along.at(start, points.T)])
        low = rng.uniform(-1, 0, n)
        for region in (Ball(1.0), Box(low, low + 0.8, 1.0)):
            inside = np.ones(len(points), bool)
            if isinstance(region, Box):
                inside = ((region.low <= points) & (points <= region.high)).all(1)
            bounds, has_tie = reduced.least(region)
            assert not has_tie
            if inside.any():
                assert (np.array([float(bound) for bound in bounds]) <= values[:, inside].min(1)).all()


def test_a_relu_lies_between_its_lines() -> None:
    unstable = Range(arb(-1), arb(3))
    chord, lift, slope = unstable.lines
    for x in np.linspace(-1, 3, 41):
        assert float(slope) * x <= max(x, 0.0) <= float(chord) * x + float(lift) + 1e-15
    assert float(slope) == 1
    assert float(Range(arb(-3), arb(1)).lines[2]) == 0
    assert [float(number) for number in Range(arb(1), arb(3)).lines] == [1, 0, 1]
    assert [float(number) for number in Range(arb(-3), arb(-1)).lines] == [0, 0, 0]


def test_a_tie_is_where_rounding_may_choose_the_line() -> None:
    assert Range(arb(-1), arb(1 + 1e-12)).is_tie
    assert not Range(arb(-1), arb(1.001)).is_tie


def test_a_search_finds_what_boxes_show_and_points_that_refute() -> None:
    model, z, similar = random_model(1), random_people(1, 12), random_set(1, 2, length=3.0)
    points = in_ball(2, 1.0).numpy()
    kinds = set()
    with precisely():
        balls = ball_model(model.representation, model.classifier)
        along = Similar(similar.directions.numpy()).along(balls.margins(0), None)
        for person in z.numpy():
            place = Place(along, along.start(person), 1.0)
            least = min(float(value) for value in along.at(place.start, points.T)[0])
            low, refuting = place.prove([place.cube], arb(0.05), 500)
            kinds.add((low is None, refuting is None))
            if low is not None:
                assert 0.05 <= float(low) <= least
            if refuting is not None:
                assert float(place.margin_at(refuting)) < 0.05
                assert np.linalg.norm(refuting) <= 1
            assert float(place.margin_at(place.low_point())) <= least + 0.01
    assert kinds == {(False, True), (True, False)}
