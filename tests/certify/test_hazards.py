"""What would make a certificate wrong: NaN, overflow, short and dropped directions, constant networks."""

import math

import numpy as np
import pytest
import torch

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.along.kinks import with_kinks
from lassi.certify.along.model import Model
from lassi.certify.along.polyline import Polyline
from lassi.certify.along.reduced import Reduced
from lassi.certify.certificate import Outcome
from lassi.certify.exact.balls import decide
from lassi.certify.fair_model import FairModel
from lassi.certify.smoothed.centre import draw_noise, smoothed_centre
from lassi.certify.smoothed.classes import exact_radius
from lassi.certify.smoothed.joint import BlackBox, certify_black_box, certify_joint
from lassi.certify.smoothed.modular import ModularPlan, certify_modular
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.consumer.classifier import from_linear
from lassi.flow.protocol import IdentityFlow
from lassi.representation.network import Representation
from lassi.similarity.sets import SimilaritySet
from networks import plain_model, random_model, random_people, random_set

double = {"dtype": torch.float64}


def test_two_classes_that_are_the_same_have_no_radius() -> None:
    model = from_linear(torch.ones(2, 3), torch.zeros(2))
    assert exact_radius(model, torch.ones(3, **double))[0] == 0


def test_a_change_of_sign_between_tiny_values_is_a_kink() -> None:
    t, values = torch.tensor([0.0, 1.0], **double), torch.tensor([[-1e-200, 1e-200]], **double)
    knots, found, _ = with_kinks(t, values)
    assert len(knots) == 3
    assert found[1].abs().item() <= 1e-200


def test_nan_and_infinity_are_never_a_proof() -> None:
    out = torch.tensor([[math.nan, 1.0, 1.0]], **double)
    assert decide(Reduced(2, 1.0, [], out, torch.zeros(1, **double))).outcome is Outcome.UNDECIDED
    fine = torch.tensor([[1.0, 0.0, 0.0]], **double)
    assert decide(Reduced(2, 1.0, [], fine, torch.zeros(1, **double))).outcome is Outcome.CERTIFIED
    assert decide(Reduced(2, 1.0, [], fine, torch.full((1,), math.inf, **double))).outcome is Outcome.UNDECIDED


def test_a_model_with_broken_weights_is_refused() -> None:
    model = random_model(0)
    model.representation.linears[1].weight.data[0, 0] = math.nan
    with pytest.raises(UserError, match=r"The model's 'linears.1.weight' is not finite"):
        Model(model.representation, model.classifier)


def test_a_piece_without_length_has_its_own_value() -> None:
    line = Polyline(
        torch.tensor([-1.0, -1.0, 0.0, 1.0], **double), torch.zeros(1, **double),
        torch.tensor([[2.0], [2.0], [0.0], [1.0]], **double), torch.zeros(1, **double),
    )  # fmt: skip
    assert line.at(torch.tensor([-1.0, 0.5], **double)).flatten().tolist() == [2.0, 0.5]


def test_a_short_direction_is_a_direction() -> None:
    """3e-4 of the longest is no rounding error, so it stays in the set."""
    a = torch.zeros(3000, 2)
    a[0, 0], a[1, 1] = 1.0, 3e-4
    assert SimilaritySet(a, 1.0).rank == 2


def test_more_directions_than_numbers_are_of_full_rank() -> None:
    similar = SimilaritySet(torch.randn(3, 5, generator=torch.Generator().manual_seed(0)), 1.0)
    assert (similar.rank, similar.dropped) == (3, 0.0)


def test_a_constant_network_is_certified_by_quadrature() -> None:
    model = random_model(1)
    for linear in model.representation.linears:
        linear.weight.zero_()
    dead = Model(model.representation, model.classifier)
    plan = ModularPlan(CentreSmoothing(0.65, quadrature=True), ClassSmoothing(1.0))
    found = certify_modular(dead, random_people(1, 3), range(3), random_set(1), plan, seed=0)
    assert all(certificate.is_certified for certificate in found)


@pytest.mark.parametrize("n", [1, 2])
def test_what_a_dropped_direction_could_do_counts(n: int) -> None:
    """Two directions that differ by 1e-8, along which R moves by 1e9 times as much: it is not in the basis."""
    a = torch.zeros(3, 2 * n)
    a[0] = 1.0
    a[2, 0], a[2, 1] = -5e-9, 5e-9
    if n == 2:
        a[1, 2], a[:, 3] = 1.0, torch.tensor([0.0, 1.0, 0.0])
    similar = SimilaritySet(a, 1.0)
    assert similar.rank == n
    assert similar.dropped > 0
    steep = plain_model([torch.tensor([[0.0, 0.0, 1e9]])], [torch.zeros(1)], offset=-0.5)
    settings = CentreSmoothing(0.65, samples=2000, samples0=5000)
    (modular,) = certify_modular(
        steep, torch.zeros(1, 3), [0], similar, ModularPlan(settings, ClassSmoothing(1.0, samples=2000)), seed=0
    )
    assert not modular.is_certified
    (joint,) = certify_joint(steep, torch.zeros(1, 3), [0], similar, ClassSmoothing(0.65, samples=2000), seed=0)
    assert not joint.is_certified


def test_people_of_one_number_are_not_taken_for_one_another() -> None:
    z = torch.tensor([[-0.01, 0.0, 0.0], [5.0, 0.0, 0.0]])
    similar, settings = SimilaritySet(torch.eye(3)[:, :1], 1.0), CentreSmoothing(0.65)
    model = plain_model([torch.eye(3)], [torch.zeros(3)])
    found = [
        certify_modular(model, z, people, similar, ModularPlan(settings, ClassSmoothing(2.0, samples=5000)), seed=0)
        for people in ([0, 1], [-1, -1])
    ]
    assert [c.outcome for c in found[0]] == [c.outcome for c in found[1]]
    assert found[0][0].outcome is not found[0][1].outcome


class Jump:
    """A classifier with a jump, as a decision tree has."""

    classes_ = (0, 1)
    n_features_in_ = 2

    def predict(self, r):
        return (np.asarray(r)[:, 1] > 2).astype(int)


def test_no_direction_is_dropped_where_a_jump_could_see_it() -> None:
    """6e-7 beside 1 is left out of the basis, but R makes 6 of it, and the classifier asks for more than 2."""
    a = torch.tensor([[1.0, 1.0], [-6e-7, 6e-7]])
    r = Representation(2, [2], stream=Stream(0, "jump"))
    r.linears[0].weight.data, r.linears[0].bias.data = torch.diag(torch.tensor([1.0, 1e7])), torch.zeros(2)
    model = FairModel(IdentityFlow(2), SimilaritySet(a, 1.0), r.eval(), Jump()).model
    similar = SimilaritySet(a, 1.0)
    assert similar.rank == 1
    (found,) = certify_joint(model, torch.zeros(1, 2), [0], similar, ClassSmoothing(0.65, samples=5000), seed=0)
    assert not found.is_certified
    (found,) = certify_black_box(
        BlackBox(lambda x: (x[:, 1] * 1e7 > 2).long(), lambda z: z, 2), torch.zeros(1, 2), [0], similar,
        ClassSmoothing(0.65, samples=5000), seed=0,
    )  # fmt: skip
    assert not found.is_certified


def test_lengths_at_the_end_of_what_numbers_can_say_are_refused() -> None:
    for directions, radius in ((torch.full((2, 1), 1e-35), 1.0), (torch.ones(2, 1), 1e31)):
        with pytest.raises(UserError, match="where numbers lose digits"):
            SimilaritySet(directions, radius)


@pytest.mark.parametrize("centre", ["ball", "median"])
def test_where_numbers_overflow_it_abstains(centre: str) -> None:
    """Half of the draws are mapped beyond all numbers: not a number is in no ball, and no answer is given."""
    settings = CentreSmoothing(0.65, samples=2000, samples0=2000, centre=centre)

    class Overflowing:
        base, off, longest = torch.zeros(2, **double), 0.0, 0.0

        def moves(self, t: torch.Tensor) -> torch.Tensor:
            return torch.where(t > 0, torch.inf, 0.0).expand(-1, 2).double()

        def distances(self, t: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
            return (self.moves(t)[None] - centres[:, None]).norm(dim=2)

    for radius in (None, 1.0):
        draws = draw_noise(settings, 1, stream=Stream(0, "overflow"))
        assert smoothed_centre(Overflowing(), draws, settings, radius) is None
