"""Boxes within a ball: bounds hold at every point, and are tight where the answer is known."""

import numpy as np
import pytest

from lassi.recheck.exact.arithmetic import arb
from lassi.recheck.exact.regions import Ball, Box


@pytest.mark.parametrize("seed", range(10))
def test_no_point_of_the_region_is_below_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 6))
    low = rng.uniform(-1, 0.3, dim)
    box = Box(low, low + rng.uniform(0.2, 1.0, dim), 0.9)
    points = rng.uniform(box.low, box.high, (20_000, dim))
    points = points[np.linalg.norm(points, axis=1) <= 0.9]
    assert box.meets_ball or not len(points)
    rows = rng.standard_normal((5, 1 + dim))
    bounds = [float(bound) for bound in box.least([[arb(entry) for entry in row] for row in rows.tolist()])]
    if len(points):
        assert (bounds <= (rows[:, :1] + rows[:, 1:] @ points.T).min(1) + 1e-12).all()


def test_bounds_are_exact_where_the_answer_is_known() -> None:
    row = [[arb(1), arb(-3), arb(-4)]]
    square = np.ones(2)
    assert float(Ball(2.0).least(row)[0]) == pytest.approx(1 - 10)
    assert float(Box(-square, square, 9.0).least(row)[0]) == pytest.approx(1 - 7), "the ball does not matter"
    assert float(Box(-9 * square, 9 * square, 2.0).least(row)[0]) == pytest.approx(1 - 10), "the box does not matter"
    both = Box(np.array([-1.0, -1.0]), np.array([0.1, 1.0]), 1.0)
    assert float(both.least(row)[0]) == pytest.approx(1 - 0.3 - 4 * np.sqrt(1 - 0.01), abs=1e-3)


def test_a_box_outside_the_ball_is_known_to_be() -> None:
    assert Box(np.array([0.7, 0.7]), np.ones(2), 1.0).meets_ball
    assert not Box(np.array([0.8, 0.8]), np.ones(2), 1.0).meets_ball


def test_halves_make_up_the_box() -> None:
    left, right = Box(np.zeros(2), np.array([1.0, 2.0]), 3.0).halves(np.array([3.0, 1.0]))
    assert (left.high.tolist(), right.low.tolist()) == ([0.5, 2.0], [0.5, 0.0])
    assert (left.low.tolist(), right.high.tolist()) == ([0.0, 0.0], [1.0, 2.0])
