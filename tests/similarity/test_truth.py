"""Coverage, reach and step error against brute force and known truth."""

import numpy as np
import pytest
import torch
from scipy import optimize

from lassi.base.streams import Stream
from lassi.similarity.sets import SimilaritySet
from lassi.similarity.truth import coverage, mean_by_unit, nearest_in_set, pixel_step_errors, step_errors

STREAM = Stream(0, "test")
Q = 20


def a_set(n: int, radius: float = 1.0, seed: int = 0) -> SimilaritySet:
    return SimilaritySet(torch.randn(Q, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), radius)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_the_nearest_point_is_that_of_a_solver(n: int, scale: float) -> None:
    similar = a_set(n)
    d = scale * torch.randn(6, Q, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    v, distances = nearest_in_set(similar, d)
    a = similar.basis.numpy()
    for displacement, found, distance in zip(d.numpy(), v.numpy(), distances.numpy(), strict=True):
        solved = optimize.minimize(
            lambda t, to=displacement: np.square(to - a @ t).sum(),
            np.zeros(n),
            constraints={"type": "ineq", "fun": lambda t: 1 - t @ t},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert distance == pytest.approx(np.sqrt(solved.fun), rel=1e-5)
        assert np.linalg.norm(found) <= 1 + 1e-9
        assert np.linalg.norm(displacement - a @ found) == pytest.approx(distance, rel=1e-9)


def test_people_in_the_set_are_covered_whole_and_those_across_it_not_at_all() -> None:
    similar, z = a_set(3), torch.zeros(50, Q, dtype=torch.float64)
    units = np.arange(50)
    inside = similar.move(z, similar.uniform(50, 1, stream=STREAM))[:, 0]
    found = coverage(similar, z, inside, units, stream=STREAM)
    assert found.of_set.mean == pytest.approx(1, abs=1e-6)
    assert found.reach.mean == 1
    random = torch.randn(50, Q, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    across = random - random @ torch.linalg.pinv(similar.directions).T @ similar.directions.T
    found = coverage(similar, z, across, units, stream=STREAM)
    assert found.of_set.mean == pytest.approx(0, abs=1e-9)
    assert found.of_span.mean == pytest.approx(0, abs=1e-9)


def test_far_along_the_set_the_span_covers_what_the_set_does_not() -> None:
    similar, z = a_set(1), torch.zeros(4, Q, dtype=torch.float64)
    far = 4 * similar.directions.T.repeat(4, 1)
    found = coverage(similar, z, far, np.arange(4), stream=STREAM)
    assert found.of_span.mean == pytest.approx(1, abs=1e-9)
    assert found.of_set.mean == pytest.approx(0.25, abs=1e-9)
    assert found.energy == pytest.approx(1 - 0.75**2, abs=1e-9)
    assert found.reach.mean == 0


def test_random_displacements_are_covered_as_by_chance() -> None:
    similar = a_set(5, radius=100.0)
    d = torch.randn(20_000, Q, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    found = coverage(similar, torch.zeros_like(d), d, np.arange(len(d)), stream=STREAM)
    assert found.of_span.mean == pytest.approx(found.by_chance, abs=0.01)
    assert found.energy == pytest.approx(5 / Q, abs=0.01)


def test_a_perfect_step_has_no_error_and_staying_has_error_one() -> None:
    x, truth = torch.rand(2, 6, 3, 4, 4, generator=STREAM.child("pictures").torch())
    z, other = x.flatten(1), truth.flatten(1)
    decode = lambda latent: latent.view(-1, 3, 4, 4)  # noqa: E731
    assert step_errors(decode, z, other - z, x, truth).abs().max() < 1e-10
    assert torch.allclose(step_errors(decode, z, 0 * z, x, truth), torch.ones(6))
    assert torch.allclose(pixel_step_errors((truth - x) / 2, x, truth), torch.full((6,), 0.25), atol=1e-5)


def test_intervals_go_by_unit() -> None:
    """15 pictures that always agree are one observation: the interval is √15 wider than over pictures."""
    rng = np.random.default_rng(0)
    scenes = rng.integers(0, 2, 400).astype(float)
    values, units = np.repeat(scenes, 15), np.repeat(np.arange(400), 15)
    by_unit = mean_by_unit(values, units, stream=STREAM)
    by_picture = mean_by_unit(values, np.arange(6000), stream=STREAM)
    assert by_unit.mean == by_picture.mean == values.mean()
    ratio = (by_unit.high - by_unit.low) / (by_picture.high - by_picture.low)
    assert ratio == pytest.approx(np.sqrt(15), rel=0.15)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = np.repeat(rng.normal(size=60), 5)
        found = mean_by_unit(values, np.repeat(np.arange(60), 5), stream=STREAM.at(seed))
        hits += found.low <= 0 <= found.high
    assert 175 <= hits <= 200
