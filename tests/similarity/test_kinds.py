"""Directions against closed forms: classes that are Gaussians, planes that are known."""

import numpy as np
import pytest
import torch

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.flow.latents import Labelled
from lassi.similarity.hyperplane import Hyperplane, hyperplane
from lassi.similarity.kind import Discovery
from lassi.similarity.kinds.decorrelated import decorrelated
from lassi.similarity.kinds.discovered import Searcher
from lassi.similarity.kinds.pairs import pairs
from lassi.similarity.kinds.perpendicular import perpendicular
from lassi.similarity.moments import class_moments, first_to_last
from lassi.similarity.sets import SimilaritySet

STREAM = Stream(0, "test")
Q = 24


def gaussians(count: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Latents around a mean of each class, with a common offset far from zero."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(classes, Q))
    labels = rng.integers(0, classes, count)
    return (1000 + means[labels] + rng.normal(size=(count, Q))).astype(np.float32), labels, means


@pytest.mark.parametrize("classes", [2, 15])
def test_moments_are_those_of_numpy(classes: int) -> None:
    z, labels, _ = gaussians(9000, classes)
    found = class_moments(z, labels, classes, attribute="x")
    for label in range(classes):
        mine = z[labels == label].astype(np.float64)
        assert found.counts[label] == len(mine)
        assert np.allclose(found.means[label], mine.mean(0), atol=1e-9)
        assert np.allclose(found.variances[label], mine.var(0, ddof=1), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_to_last_finds_the_classes_and_knows_how_sure_it_is(seed: int) -> None:
    z, labels, means = gaussians(4000, 2, seed)
    moments = class_moments(z, labels, 2, attribute="x")
    a = first_to_last(moments)[:, 0].double()
    truth = torch.from_numpy(means[1] - means[0])
    expected_error = np.sqrt(Q * 4 / 4000) / truth.norm().item()
    assert moments.relative_error(0, 1) == pytest.approx(expected_error, rel=0.1)
    assert (a - truth).norm() / truth.norm() < 2 * expected_error


def test_a_rare_attribute_has_a_larger_error() -> None:
    z, labels, _ = gaussians(8000, 2)
    rare = np.where((labels == 1) & (np.arange(8000) > 300), 0, labels)
    usual, few = (class_moments(z, some, 2, attribute="x").relative_error(0, 1) for some in (labels, rare))
    assert few > 3 * usual


def test_pairs_of_15_values_are_49_vectors_of_rank_13() -> None:
    z, labels, means = gaussians(60_000, 15)
    a = pairs(class_moments(z, labels, 15, attribute="orientation"))
    assert a.shape == (Q, 49)
    assert SimilaritySet(a, 1.0).rank == 13
    first = torch.from_numpy(means[8] - means[0]).float()
    assert (a[:, 0] - first).norm() < 0.3 * first.norm()
    last = torch.from_numpy(means[14] - means[6]).float()
    assert (a[:, -1] - last).norm() < 0.3 * last.norm()


def two_planes(count: int = 200_000, seed: int = 0) -> tuple[Labelled, Labelled, torch.Tensor]:
    """People around zero, labelled by a noisy plane with a known normal."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=Q)
    normal /= np.linalg.norm(normal)
    z = rng.normal(size=(count, Q)).astype(np.float32)
    labels = (z @ normal + 0.3 + 0.2 * rng.normal(size=count) > 0).astype(np.int64)
    half = count // 2
    return Labelled(z[:half], labels[:half]), Labelled(z[half:], labels[half:]), torch.from_numpy(normal).float()


@pytest.mark.slow
def test_the_regression_finds_the_plane_and_always_the_same() -> None:
    train_set, valid_set, normal = two_planes()
    plane = hyperplane(train_set, valid_set, stream=STREAM)
    assert plane.normal.norm() == pytest.approx(1, abs=1e-5)
    assert plane.normal @ normal > 0.95
    assert perpendicular(plane).shape == (Q, 1)
    again = hyperplane(train_set, valid_set, stream=STREAM)
    assert torch.equal(plane.normal, again.normal)


def test_the_decorrelated_direction_leaves_the_target_alone_and_mirrors_people_on_average() -> None:
    rng = torch.Generator().manual_seed(0)
    w_s, w_t = (v / v.norm() for v in torch.randn(2, Q, generator=rng))
    sensitive, target = Hyperplane(w_s, 0.4), Hyperplane(w_t, 0.0)
    z = torch.randn(5000, Q, generator=rng)
    a = decorrelated(sensitive, target, z.numpy())[:, 0]
    assert (a @ w_t).abs() < 1e-5
    cosine = w_s @ w_t
    d = w_s - cosine * w_t
    steps = (2 * (z @ w_s + 0.4) / (1 - cosine**2))[:, None] * d
    mirrored = z - steps
    assert torch.allclose(mirrored @ w_s + 0.4, -(z @ w_s + 0.4), atol=1e-4)
    assert torch.allclose(mirrored @ w_t, z @ w_t, atol=1e-4)
    assert a.norm() == pytest.approx(steps.norm(dim=1).mean().item(), rel=1e-4)
    with pytest.raises(UserError, match="same direction"):
        decorrelated(sensitive, sensitive, z.numpy())


@pytest.mark.slow
def test_discovered_directions_are_what_the_classifier_sees_but_the_target() -> None:
    """With an identity decoder and p = sigmoid(v · z) the answer changes most along v without its known part."""
    generator = torch.Generator().manual_seed(1)
    v, t = torch.randn(2, Q, generator=generator)
    target = Hyperplane(t / t.norm(), 0.0)
    v = v / v.norm() * 0.3
    z = torch.randn(500, Q, generator=generator).numpy()
    search = Searcher(z, lambda x: x, lambda x: torch.sigmoid(x @ v), Discovery(steps=3000))
    first = search(target, stream=STREAM)
    second = search(target, [first], stream=STREAM)
    assert torch.allclose(torch.stack([first.norm(), second.norm()]), torch.ones(2), atol=1e-5)
    expected = v - (v @ target.normal) * target.normal
    assert (first @ expected).abs() / expected.norm() > 0.8
    assert (first @ target.normal).abs() < 0.3
    assert (first @ second).abs() < 0.4


def test_an_attribute_of_one_class_has_no_direction() -> None:
    z, labels, _ = gaussians(100, 2)
    with pytest.raises(UserError, match=r"'Bald' has 0 people of class 1 among 100, so it has no direction"):
        class_moments(z, 0 * labels, 2, attribute="Bald")
    with pytest.raises(UserError, match="All people belong to one class"):
        hyperplane(Labelled(z, 0 * labels), Labelled(z, labels), stream=STREAM)
