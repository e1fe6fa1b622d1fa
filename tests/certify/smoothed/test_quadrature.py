"""Quadrature along one direction: closed forms, a fine grid, and what it certifies."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from lassi.base.errors import UserError
from lassi.certify.exact.modular import certify_exact_modular
from lassi.certify.exact.segments import certify_segments
from lassi.certify.smoothed.modular import ModularPlan, certify_modular
from lassi.certify.smoothed.quadrature import Masses, mass_radius
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.certify.smoothed.walk import PolylineWalk
from networks import random_model, random_people, random_set
from walks import AFFINE, QUICK, polyline_of


def test_quadrature_of_an_affine_map_is_exact() -> None:
    walk = polyline_of(AFFINE, knots=5)
    for mass in (0.1, 0.5, 0.938, 0.99):
        found = mass_radius(walk, torch.zeros(2, dtype=torch.float64), 0.65, mass)
        assert found == pytest.approx(5 * 0.65 * norm.ppf((1 + mass) / 2), rel=1e-9)
    assert mass_radius(walk, torch.zeros(2, dtype=torch.float64), 0.65, 1 - 1e-12) == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_masses_are_those_of_a_fine_grid(seed: int) -> None:
    model, z, similar = random_model(seed), random_people(seed, 1), random_set(seed, length=3.0)
    (line,) = model.tracer(z, similar.basis, 3.9)
    walk = PolylineWalk(line)
    t = torch.from_numpy(norm.ppf((np.arange(400_000) + 0.5) / 400_000) * 0.65)
    t = t[t.abs() < 3.9]
    centres = line.moves[:: len(line.t) // 3]
    radii = torch.linspace(0.05, 2.0, len(centres), dtype=torch.float64)
    by_grid = (walk.distances(t[:, None], centres[:1])[0] <= radii[0]).double().mean()
    found = Masses(walk, walk.squares_at_knots(centres), 0.65)(radii)
    assert found[0] == pytest.approx(by_grid.item(), abs=1e-4)
    for row in range(len(centres)):
        distances = (line.at(t) - centres[row]).norm(dim=1)
        assert found[row] == pytest.approx((distances <= radii[row]).double().mean().item(), abs=1e-4)


def test_quadrature_certifies_no_fewer_than_sampling_and_exact_joint_no_fewer_than_exact_modular() -> None:
    model, z, similar = random_model(30), random_people(30, 80), random_set(30, length=0.3)
    classes = ClassSmoothing(0.5, samples=10_000)
    counts = {}
    for name, settings in (
        ("sampled", CentreSmoothing(0.65, **QUICK)),
        ("computed", CentreSmoothing(0.65, quadrature=True)),
    ):
        found = certify_modular(model, z, range(80), similar, ModularPlan(settings, classes), seed=0)
        counts[name] = sum(c.is_certified for c in found)
        assert all(c.alpha == pytest.approx(0.0 if name == "computed" else 0.006) for c in found)
    exact = certify_segments(model, z, range(80), similar)
    modular = certify_exact_modular(model, z, range(80), similar)
    counts["joint"], counts["modular"] = (sum(c.is_certified for c in found) for found in (exact, modular))
    assert counts["computed"] >= counts["sampled"] > 0
    assert counts["joint"] >= counts["modular"] >= counts["computed"]
    assert {c.person for c in modular if c.is_certified} <= {c.person for c in exact if c.is_certified}


def test_quadrature_is_along_one_direction() -> None:
    with pytest.raises(UserError, match="along one direction"):
        certify_modular(
            random_model(1), random_people(1, 1), [0], random_set(1, 2),
            ModularPlan(CentreSmoothing(0.65, quadrature=True), ClassSmoothing(1.0)), seed=0,
        )  # fmt: skip
