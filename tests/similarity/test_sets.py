"""Similarity sets: what they contain, how they are drawn from, and their rank."""

import math

import pytest
import torch
from scipy import stats

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.similarity.sets import SimilaritySet

STREAM = Stream(0, "test")


def directions(q: int = 40, n: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randn(q, n, generator=torch.Generator().manual_seed(seed))


def people(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 40, generator=Stream(seed, "people").torch())


def coefficients(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=Stream(0, "coefficients").torch())


def pairs_like(q: int = 60) -> torch.Tensor:
    """49 differences of 14 means: rank 13, as for the orientations of the shapes."""
    means = torch.randn(q, 14, generator=torch.Generator().manual_seed(1))
    return torch.stack([means[:, j] - means[:, i] for i in range(7) for j in range(7, 14)], 1)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_uniform_draws_fill_the_ball_evenly(n: int, seed: int) -> None:
    """‖t‖/ε to the power n is uniform, and every coordinate is symmetric."""
    similar = SimilaritySet(directions(n=n), 1.7)
    t = similar.uniform(5000, stream=STREAM.at(seed))
    assert t.shape == (5000, n)
    lengths = t.norm(dim=1) / 1.7
    assert lengths.max() <= 1 + 1e-6
    assert stats.kstest(lengths.double().numpy() ** n, "uniform").pvalue > 1e-6
    assert t.mean(0).abs().max() < 5 * 1.7 / math.sqrt(5000)


def test_49_directions_have_the_rank_of_their_span() -> None:
    similar = SimilaritySet(pairs_like(), 1.0)
    assert (similar.num_directions, similar.rank) == (49, 13)
    assert similar.dropped < 1e-4
    assert repr(similar) == "SimilaritySet(49 directions of rank 13, radius 1)"


def test_at_the_rank_the_set_is_the_same() -> None:
    """Every A t with ‖t‖ ≤ ε is a basis · v with ‖v‖ ≤ ε, and the other way round."""
    a = pairs_like().double()
    similar = SimilaritySet(a, 1.0)
    t = torch.randn(200, 49, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    t = t / t.norm(dim=1, keepdim=True)
    v = torch.linalg.lstsq(similar.basis, (t @ a.T).T).solution.T
    assert torch.allclose(v @ similar.basis.T, t @ a.T, atol=2 * similar.dropped + 1e-12)
    assert (v.norm(dim=1) <= 1 + 1e-6).all()
    back = similar.uniform(200, stream=STREAM) @ similar.basis.T
    least, residual = similar.coefficients_of(back)
    assert residual.max() < 1e-9
    assert (least.norm(dim=1) <= 1 + 1e-9).all()


def test_at_the_rank_gaussian_noise_has_the_same_law() -> None:
    a = pairs_like()
    similar = SimilaritySet(a, 1.0)
    drawn = similar.gaussian(100_000, sigma=0.65, stream=STREAM) @ similar.basis.T
    expected = 0.65**2 * a.double() @ a.double().T
    assert ((drawn.double().T @ drawn.double() / len(drawn)) - expected).norm() < 0.02 * expected.norm()


def test_few_directions_stay_as_they_are() -> None:
    a = directions()
    similar = SimilaritySet(a, 2.0)
    assert similar.basis is a
    z, t = people(4), coefficients(4, 5, 3)
    assert torch.allclose(similar.move(z, t), z[:, None] + torch.einsum("qn,bsn->bsq", a, t), atol=1e-5)


def test_directions_of_a_persons_own_move_that_person() -> None:
    own = torch.stack([directions(seed=person) for person in range(4)])
    similar = SimilaritySet(own, 1.0)
    assert not similar.is_shared
    z, t = people(4), coefficients(4, 5, 3)
    for person in range(4):
        alone = SimilaritySet(own[person], 1.0)
        assert torch.allclose(similar.move(z, t)[person], alone.move(z, t)[person], atol=1e-5)
    others = similar.move(z, similar.uniform(4, 1, stream=STREAM))[:, 0]
    assert similar.contains(z, others).all()
    assert not SimilaritySet(own.flip(0), 1.0).contains(z, others).any()


@pytest.mark.parametrize("a", [directions(), directions(n=1), pairs_like(40)], ids=["three", "one", "many"])
def test_a_set_contains_what_is_drawn_from_it_and_nothing_else(a: torch.Tensor) -> None:
    similar, z = SimilaritySet(a, 1.0), people(300)
    inside = similar.move(z, similar.uniform(300, 1, stream=STREAM))[:, 0]
    assert similar.contains(z, inside).all()
    assert similar.contains(z, z).all()
    v = similar.gaussian(300, sigma=1.0, stream=STREAM)
    outside = similar.move(z, 1.01 * (v / v.norm(dim=1, keepdim=True))[:, None])[:, 0]
    assert not similar.contains(z, outside).any()
    assert not similar.contains(z, inside + 0.01 * people(300, seed=1)).any()


def test_grids_and_end_points_are_the_papers() -> None:
    one, two, three = (SimilaritySet(directions(n=n), 2.0) for n in (1, 2, 3))
    assert one.grid()[:, 0].tolist() == [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2]
    assert (len(two.grid()), len(three.grid())) == (9, 15)
    for similar in (two, three):
        lengths = similar.grid().norm(dim=1)
        assert lengths[0] == 0
        assert torch.allclose(lengths[1:], torch.tensor(2.0))
        assert len({tuple(point) for point in similar.grid().round(decimals=4).tolist()}) == len(lengths)
    assert two.end_points().tolist() == [[2, 0], [0, 2], [-2, 0], [0, -2]]
    moved = two.move_along(torch.zeros(1, 40), two.end_points())
    assert torch.allclose(moved[0, 1], 2 * two.directions[:, 1])
    with pytest.raises(UserError, match="no grid for 49 directions"):
        SimilaritySet(pairs_like(), 1.0).grid()


def test_duplicate_directions_count_once() -> None:
    a = directions(n=1)
    similar = SimilaritySet(torch.cat([a, a], 1), 1.0)
    assert similar.rank == 1
    longest = similar.basis.norm()
    assert torch.allclose(longest, math.sqrt(2) * a.norm(), rtol=1e-5)  # t = (1, 1)/√2


@pytest.mark.parametrize(
    ("a", "radius", "message"),
    [
        (directions(), 0.0, "The radius is 0.0. Choose a value above 0"),
        (directions(), -1.0, "The radius is -1.0"),
        (directions(), math.nan, "The radius is nan"),
        (directions() * torch.tensor([1.0, 0.0, 1.0]), 1.0, "A direction is zero"),
        (directions() * torch.tensor([1.0, torch.nan, 1.0]), 1.0, "A direction holds values that are not finite"),
        (torch.zeros(5), 1.0, r"The directions have shape \(5,\)"),
    ],
)
def test_impossible_sets_are_refused(a: torch.Tensor, radius: float, message: str) -> None:
    with pytest.raises(UserError, match=message):
        SimilaritySet(a, radius)


def test_a_draw_of_exactly_zero_is_a_point_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32 a normal number is 0 once in some million draws; nobody may become NaN by it."""
    similar = SimilaritySet(torch.ones(3, 1), 1.0)
    monkeypatch.setattr(torch, "randn", lambda *shape, **_: torch.zeros(shape))
    drawn = similar.uniform(2, 5, stream=Stream(0, "t"))
    assert torch.equal(drawn, torch.zeros(2, 5, 1))
