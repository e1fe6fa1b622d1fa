"""Whether boxes cover a ball, decided exactly."""

import numpy as np
import pytest

from lassi.certify.proof import Leaf
from lassi.recheck.exact.cover import Cover, TooManyCells


def split(low: np.ndarray, high: np.ndarray, depth: int, rng: np.random.Generator) -> list[Leaf]:
    """Leaves of a random tree of cuts; those outside the unit ball are dropped."""
    if np.linalg.norm(np.maximum(np.maximum(low, -high), 0)) > 1 + 1e-9:
        return []
    if depth == 0 or (depth < 4 and rng.random() < 0.1):
        return [Leaf(tuple(low.tolist()), tuple(high.tolist()))]
    axis = int(rng.integers(len(low)))
    middle = (low[axis] + high[axis]) / 2
    lower, upper = high.copy(), low.copy()
    lower[axis] = upper[axis] = middle
    return split(low, lower, depth - 1, rng) + split(upper, high, depth - 1, rng)


@pytest.mark.parametrize("dim", [2, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_the_leaves_of_a_tree_cover_and_any_of_them_is_missed(seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    leaves = split(-np.ones(dim), np.ones(dim), 6, rng)
    assert len(leaves) > 4
    assert Cover.of(leaves, 1.0).gap() is None
    for gone in range(len(leaves)):
        gap = Cover.of([leaf for i, leaf in enumerate(leaves) if i != gone], 1.0).gap()
        assert gap is not None
        missing = leaves[gone]
        inside = [low <= place <= high for low, place, high in zip(missing.low, gap, missing.high, strict=True)]
        assert all(inside)


def test_a_gap_of_the_last_digit_is_found() -> None:
    left, right = Leaf((-1.0, -1.0), (0.0, 1.0)), Leaf((0.0, -1.0), (1.0, 1.0))
    assert Cover.of([left, right], 1.0).gap() is None
    apart = Leaf((2.0**-40, -1.0), (1.0, 1.0))
    assert Cover.of([left, apart], 1.0).gap() is not None


def test_only_the_ball_needs_to_be_covered() -> None:
    cross = [Leaf((-1.0, -0.8), (1.0, 0.8)), Leaf((-0.8, -1.0), (0.8, 1.0))]
    assert Cover.of(cross, 1.0).gap() is None, "the corners are outside"
    assert Cover.of(cross, 1.2).gap() is not None


def test_corners_are_rounded_outwards() -> None:
    cover = Cover.of([Leaf((-0.1, -1e9), (0.1, 1e9))], 1.0)
    assert (cover.low[0, 0] * cover.unit, cover.high[0, 0] * cover.unit) != (-0.1, 0.1)
    assert cover.low[0, 0] * cover.unit <= -0.1 < 0.1 <= cover.high[0, 0] * cover.unit


def test_boxes_that_overlap_wildly_are_given_up() -> None:
    middles = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    leaves = [Leaf(tuple((middle - 0.6).tolist()), tuple((middle + 0.6).tolist())) for middle in middles]
    with pytest.raises(TooManyCells):
        Cover.of(leaves, 1.0).gap()
