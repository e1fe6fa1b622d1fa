"""Empirical fairness against a linear model, of which the truth is known."""

import pytest
import torch

from lassi.base.streams import Stream
from lassi.consumer.fairness import fair_on_points
from lassi.similarity.sets import SimilaritySet

Q = 15


def linear(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(Q, generator=generator), torch.randn(200, Q, generator=generator)


@pytest.mark.parametrize("chunk", [7, 64, 1000])
def test_on_a_segment_the_grid_finds_just_those_whose_margin_is_too_small(chunk: int) -> None:
    """A linear margin is least at an end, and the ends are on the grid."""
    w, z = linear()
    a = torch.randn(Q, 1, generator=torch.Generator().manual_seed(5))
    similar = SimilaritySet(a, 0.8)
    fair = fair_on_points(lambda x: (x @ w > 0).long(), z, similar, similar.grid(), chunk=chunk)
    expected = (z @ w).abs() > 0.8 * (w @ a[:, 0]).abs()
    assert torch.equal(fair, expected)
    assert 0.05 < fair.double().mean() < 0.95


def test_in_a_ball_a_grid_that_fails_proves_unfairness_and_one_that_passes_proves_nothing() -> None:
    w, z = linear(1)
    a = torch.randn(Q, 3, generator=torch.Generator().manual_seed(6))
    similar = SimilaritySet(a, 1.0)
    classify = lambda x: (x @ w > 0).long()  # noqa: E731
    fair = fair_on_points(classify, z, similar, similar.grid())
    truly = (z @ w).abs() > (w @ a).norm()
    assert not (truly & ~fair).any()
    assert (fair & ~truly).any(), "the worst point of the ball is seldom on the grid"
    sampled = similar.uniform(2000, stream=Stream(0, "try"))
    denser = fair_on_points(classify, z, similar, sampled)
    assert (denser & ~truly).sum() <= (fair & ~truly).sum()


def test_a_persons_own_directions_are_tried_for_that_person() -> None:
    w, z = linear(2)
    own = torch.randn(200, Q, 1, generator=torch.Generator().manual_seed(7))
    similar = SimilaritySet(own, 0.5)
    fair = fair_on_points(lambda x: (x @ w > 0).long(), z, similar, similar.end_points(), chunk=30)
    assert torch.equal(fair, (z @ w).abs() > 0.5 * (own[:, :, 0] @ w).abs())


def test_nobody_is_judged_in_no_time() -> None:
    w, z = linear()
    similar = SimilaritySet(torch.ones(Q, 1), 1.0)
    assert fair_on_points(lambda x: (x @ w > 0).long(), z[:0], similar, similar.grid()).shape == (0,)
