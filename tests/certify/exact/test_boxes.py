"""Boxes within the ball: their bounds against SciPy and samples, and that halves leave nothing out."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

from lassi.certify.exact.boxes import LONGEST_EVERY, Boxes
from networks import in_ball


def random_boxes(seed: int, n: int, radius: float, cuts: int = 6) -> Boxes:
    """Boxes that a search meets with: of all depths, some across the rim of the ball."""
    generator = torch.Generator().manual_seed(seed)
    found = boxes = Boxes.around_ball(n, radius)
    for _ in range(cuts):
        boxes = boxes.halves(torch.rand(n, generator=generator, dtype=torch.float64))
        found = found.and_(boxes)
    return found


def random_functions(seed: int, count: int, n: int) -> torch.Tensor:
    return torch.randn(count, 1 + n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def true_least(function: np.ndarray, middle: np.ndarray, half: np.ndarray, radius: float) -> float:
    """At the point that Karush, Kuhn and Tucker ask for, −s k clipped to the box and of length R, found by SciPy."""
    slopes = function[1:]

    def point(s: float) -> np.ndarray:
        return np.clip(-s * slopes, middle - half, middle + half)

    corner = middle - np.sign(slopes) * half
    if np.linalg.norm(corner) <= radius:
        return function[0] + slopes @ corner
    far = 4 * radius / np.abs(slopes).min()
    return function[0] + slopes @ point(brentq(lambda s: np.linalg.norm(point(s)) - radius, 0.0, far, xtol=1e-15))


@pytest.mark.parametrize("n", [1, 2, 5, 13])
def test_the_bound_is_the_least_value_or_a_little_below(n: int) -> None:
    boxes, functions = random_boxes(n, n, 0.7), random_functions(n, 3, n)
    bounds = boxes.least(functions)
    losses, simple = [], []
    for row in range(0, len(boxes), max(1, len(boxes) // 20)):
        middle, half = boxes.middle[row].numpy(), boxes.half[row].numpy()
        if np.linalg.norm(np.clip(0.0, middle - half, middle + half)) >= 0.7:
            continue  # it meets the ball in a point
        for function, bound in zip(functions.numpy(), bounds[row].tolist(), strict=True):
            least, length = true_least(function, middle, half, 0.7), 0.7 * np.linalg.norm(function[1:])
            assert bound <= least + 1e-12
            losses.append((least - bound) / length)
            corner = function[0] + function[1:] @ middle - np.abs(function[1:]) @ half
            simple.append((least - max(corner, function[0] - length)) / length)
    assert len(losses) >= (9 if n == 1 else 30)
    assert np.mean(losses) < 0.03
    if n > 2:
        assert np.mean(losses) < np.mean(simple) / 5, "far better than the box or the ball alone"


@pytest.mark.parametrize("n", [2, 13])
def test_no_point_of_a_box_within_the_ball_is_below_its_bound(n: int) -> None:
    boxes, functions, t = random_boxes(20 + n, n, 1.0), random_functions(20 + n, 50, n), in_ball(n, 1.0)
    inside = ((t[:, None] - boxes.middle).abs() <= boxes.half).all(2)  # (N, b)
    values = functions[:, 0] + t @ functions[:, 1:].T
    bounds = boxes.least(functions)
    assert inside.any(0).float().mean() > 0.3
    for box in range(len(boxes)):
        assert (values[inside[:, box]] >= bounds[box] - 1e-12).all()


@pytest.mark.parametrize("power", [-90, -20, 20, 90])
def test_another_unit_of_length_changes_nothing(power: int) -> None:
    functions = random_functions(5, 8, 6)
    functions[:4, 3] = 0.0
    functions[4, 1:] = 0.0
    boxes, scaled = (random_boxes(5, 6, radius) for radius in (0.7, 0.7 * 2.0**power))
    assert scaled.half.tolist() == (boxes.half * 2.0**power).tolist(), "cut across the same sides"
    rescaled = torch.cat([functions[:, :1], functions[:, 1:] / 2.0**power], 1)
    torch.testing.assert_close(scaled.least(rescaled), boxes.least(functions), rtol=0, atol=1e-13)


def test_the_box_around_the_ball_holds_it_and_is_cut_exactly() -> None:
    for radius in (0.1, 1.0, 1 / 3, 1e-12, 7e9):
        box = Boxes.around_ball(1, radius)
        assert radius <= box.half.item() <= radius * (1 + 1e-6)
        for _ in range(29):
            halves = box.halves(torch.ones(1, dtype=torch.float64))
            ends = [[Fraction(end.item()) for end in side[:, 0, 0]] for side in halves.sides]
            assert max(ends[0]) == min(ends[1]), "they have the cut in common"
            assert (min(ends[0]), max(ends[1])) == tuple(Fraction(end.item()) for end in box.sides)
            box = halves[slice(1, 2) if halves.middle.mean() < 0.3 * radius else slice(0, 1)]


def test_functions_of_each_box_are_those_of_that_box() -> None:
    boxes, functions = random_boxes(3, 4, 1.0), random_functions(3, 6, 4)
    own = functions[torch.arange(len(boxes)) % 6][:, None]
    expected = boxes.least(functions)[torch.arange(len(boxes)), torch.arange(len(boxes)) % 6]
    torch.testing.assert_close(boxes.least(own)[:, 0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 3, 13])
def test_halves_leave_no_point_of_the_ball_out(n: int) -> None:
    influence = torch.linspace(5.0, 1.0, n, dtype=torch.float64)
    boxes, t = Boxes.around_ball(n, 1.0), (1 - 1e-12) * in_ball(n, 1.0)
    for _ in range(8):
        boxes = boxes.halves(influence)
        distance = ((t[:, None] - boxes.middle).abs() - boxes.half).amax(2).amin(1)
        assert (distance <= 0).all()
    assert boxes.meets_ball.all()


def test_what_matters_is_cut_and_every_side_has_its_turn() -> None:
    influence = torch.tensor([8.0, 1.0, 0.0], dtype=torch.float64)
    boxes = Boxes.around_ball(3, 1.0)
    assert boxes.halves(influence).half.tolist() == [[0.5, 1.0, 1.0]] * 2
    for _ in range(LONGEST_EVERY):
        boxes = boxes.halves(influence)[:1]
    assert boxes.half[0, 2] == 0.5, "which moves nothing"
    assert boxes.half[0, 0] < boxes.half[0, 1] < 1e-2


@pytest.mark.parametrize("radius", [1e-8, 1.0, 1e8, 1e25])
def test_functions_without_slopes_and_infinite_ones_prove_nothing_wrong(radius: float) -> None:
    boxes = random_boxes(4, 3, radius)
    functions = torch.zeros(4, 4, dtype=torch.float64)
    functions[0, 0] = 1.0
    functions[1, 1] = 1e-200
    functions[2, 1] = torch.inf
    functions[3, 2] = torch.nan
    bounds = boxes.least(functions)
    assert (bounds[:, 0] == 1).all()
    assert (bounds[:, 1].abs() <= 2e-200 * radius).all(), "squares that underflow are far below the least slack"
    assert not (bounds[:, 2] > 0).any()
    assert bounds[:, 3].isnan().all()
