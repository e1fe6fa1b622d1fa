"""One direction: bounds between knots hold for any knots, and good knots make them tight."""

import numpy as np
import pytest

from lassi.recheck.exact.arithmetic import precisely
from lassi.recheck.exact.case import Similar
from lassi.recheck.exact.network import BallModel, Layer
from lassi.recheck.exact.segments import Traced, find_knots, trace
from lassi.recheck.stored import ball_model
from networks import random_model, random_people, random_set


def absolute_value() -> BallModel:
    """Logits (|t| + 0.5, 0), with a representation of two ReLUs."""
    first = Layer(np.array([[1.0], [-1.0]]), np.zeros(2))
    second = Layer(np.array([[1.0, 1.0]]), np.zeros(1))
    return BallModel([first, second], [Layer(np.array([[1.0], [0.0]]), np.array([0.5, 0.0]))])


@pytest.mark.parametrize(("knots", "low"), [((-1.0, 0.0, 1.0), 0.5), ((-1.0, 1.0), 0.5), ((-1.0, 0.5, 1.0), 1 / 3)])
def test_a_missing_kink_costs_what_it_can_hide(knots: tuple[float, ...], low: float) -> None:
    """Without a knot at 0, |t| is within 1 of its chord on [−1, 1], and within 2/3 of that on [−1, 0.5]."""
    with precisely():
        along = Similar(np.ones((1, 1))).along(absolute_value().margins(0), None)
        found = trace(along, along.start(np.zeros(1)), knots).least(1.0)
    assert float(found.low) == pytest.approx(low)


def outputs_between(traced: Traced, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first output on the straight lines between knots, and how far it can be from it."""
    values = np.array([float(value) for value in traced.values[0]])
    errors = np.array([float(error) for error in traced.errors[0]])
    piece = np.searchsorted(traced.knots, t, side="right").clip(1, len(traced.knots) - 1) - 1
    return np.interp(t, traced.knots, values), errors[piece]


@pytest.mark.parametrize("seed", range(4))
def test_for_any_knots_the_network_stays_within_its_errors(seed: int) -> None:
    model, z, similar = random_model(seed), random_people(seed, 1), random_set(seed, length=3.0)
    rng = np.random.default_rng(seed)
    t = np.linspace(-1, 1, 2001)
    with precisely():
        along = Similar(similar.directions.numpy()).along(
            ball_model(model.representation, model.classifier).margins(0), None
        )
        start = along.start(z[0].numpy())
        expected = np.array([float(value) for value in along.at(start, t[None])[0]])
        good = find_knots(along, start, 1.0)
        for knots in (good, [*good[::2], 1.0], sorted([-1.0, 1.0, *rng.uniform(-1, 1, 5)])):
            line, error = outputs_between(trace(along, start, sorted(set(knots))), t)
            assert (np.abs(expected - line) <= error + 1e-12).all()
        _, error = outputs_between(trace(along, start, good), t)
    assert len(good) > 5
    assert error.max() < 1e-12
