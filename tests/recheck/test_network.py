"""Networks as balls, against the plain networks in float64."""

import numpy as np
import pytest
import torch

from lassi.base.errors import UserError
from lassi.recheck.exact.arithmetic import arb, exact, precisely
from lassi.recheck.exact.case import Similar
from lassi.recheck.exact.network import Affine, Along, BallModel, Layer, Norm
from lassi.recheck.stored import ball_model
from networks import in_ball, random_model, random_people, random_set


@pytest.mark.parametrize(("widths", "hidden"), [((12,), ()), ((16, 12), (8,)), ((32, 24, 12), ())])
def test_the_balls_are_small_and_contain_the_network(widths: tuple[int, ...], hidden: tuple[int, ...]) -> None:
    model, z, similar = random_model(4, widths, 3, hidden), random_people(4, 3), random_set(4, 2)
    balls = ball_model(model.representation, model.classifier)
    r, c = model.representation.double(), model.classifier.double()
    t = in_ball(2, 1.0, 5)
    with precisely():
        for person in z:
            along = Similar(similar.directions.numpy()).along(balls.margins(1), None)
            found = along.at(along.start(person.numpy()), t.T.numpy())
            logits = c(r(person.double() + t @ similar.directions.double().T))
            expected = (logits[:, [1]] - logits[:, [0, 2]]).T
            np.testing.assert_allclose([[float(entry) for entry in row] for row in found], expected, rtol=0, atol=1e-12)
            assert all(entry.rad() < 1e-30 for row in found for entry in row)


def test_batchnorm_is_folded_exactly() -> None:
    norm = Norm(np.array([0.5]), np.array([3.0]), 1.0, np.array([6.0]), np.array([0.25]))
    folded = Affine.of(Layer(np.array([[1.0, 2.0]]), np.array([1.5]), norm))
    assert [float(entry) for entry in folded.weight.entries()] == [3.0, 6.0]
    assert float(folded.bias[0, 0]) == 3.25


@pytest.mark.parametrize("twist", [0.0, 1e-9, 0.3])
def test_what_a_span_leaves_out_is_covered_by_the_rest(twist: float) -> None:
    """Whatever the span, however far from orthonormal."""
    model, z = random_model(5), random_people(5, 1)
    directions = random_set(5, 2).directions.double() @ torch.randn(2, 4, dtype=torch.float64)
    _, _, rows = np.linalg.svd(directions.numpy(), full_matrices=False)
    span = rows[:2].T + twist * np.random.default_rng(0).standard_normal((4, 2))
    balls = ball_model(model.representation, model.classifier)
    with precisely():
        maps = balls.margins(0)
        plain = Along.of(maps, maps[0].weight * exact(directions.numpy()), None)
        reduced = Along.of(maps, maps[0].weight * exact(directions.numpy()), exact(span))
        start = plain.start(z[0].numpy())
        for t in in_ball(4, 1.0, 20).numpy():
            longest = np.sqrt(1 + np.linalg.norm(span.T @ span - np.eye(2)))
            (there,), (here,) = plain.at(start, t[:, None]), reduced.at(start, (span.T @ t / longest)[:, None])
            assert abs(there[0] - here[0]) <= reduced.rest[0] + 1e-12
            assert plain.rest == [arb(0)]


@pytest.mark.parametrize(("weight", "variance"), [(np.inf, 1.0), (np.nan, 1.0), (1.0, -2.0)])
def test_weights_that_are_not_finite_are_refused(weight: float, variance: float) -> None:
    layer = Layer(np.array([[weight]]), np.array([0.0]), Norm(np.zeros(1), np.array([variance]), 1.0))
    sentence = r"A weight of the model to check is not finite, or a variance is negative\. Train the model again\."
    with pytest.raises(UserError, match=sentence):
        BallModel([layer], [Layer(np.ones((2, 1)), np.zeros(2))])
