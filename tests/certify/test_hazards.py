"""What would make a certificate wrong: cancellation, underflow, NaN, short directions, constant networks."""

import math

import pytest
import torch

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.branch import decide
from lassi.certify.certificate import Outcome
from lassi.certify.classes import exact_radius, predicted_class, smoothed_class
from lassi.certify.exact import certify_segments
from lassi.certify.joint import sure_classes
from lassi.certify.model import Model
from lassi.certify.modular import certify_modular
from lassi.certify.polyline import Polyline, with_kinks
from lassi.certify.reduced import Reduced
from lassi.certify.settings import CentreSmoothing, ClassSmoothing
from lassi.consumer.classifier import from_linear
from lassi.representation.network import Representation
from lassi.similarity.sets import SimilaritySet
from networks import random_model, random_people, random_set

double = {"dtype": torch.float64}


def test_the_radius_of_a_linear_classifier_is_not_lost_beside_large_biases() -> None:
    model = from_linear(torch.tensor([[2.0**-20, 0.0], [0.0, 0.0]]), torch.tensor([1e8, 1e8]))
    radius, _ = exact_radius(model, torch.tensor([0.008, 0.0], **double))
    assert radius <= 0.008


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
    with pytest.raises(UserError, match=r"'linears.1.weight' of the model is not finite"):
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


def test_where_rounding_could_decide_a_draw_is_nobodys() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.5, 0.4], [0.0, 1.0]], **double)
    assert sure_classes(logits, torch.tensor([0.1, 0.1], **double)).tolist() == [0, 2, 1]


def test_where_no_draw_is_anybodys_the_model_abstains() -> None:
    def nobody(count: int, stream: Stream) -> torch.Tensor:  # noqa: ARG001
        return torch.zeros(2, dtype=torch.int64)

    assert predicted_class(nobody, 100, 0.001, stream=Stream(0, "p")) is None
    assert smoothed_class(nobody, ClassSmoothing(1.0), stream=Stream(0, "s")).abstains


def test_a_constant_network_is_certified_by_quadrature() -> None:
    model = random_model(1)
    for linear in model.representation.linears:
        linear.weight.zero_()
    dead = Model(model.representation, model.classifier)
    found = certify_modular(
        dead, random_people(1, 3), range(3), random_set(1), CentreSmoothing(0.65, quadrature=True),
        ClassSmoothing(1.0), seed=0,
    )  # fmt: skip
    assert all(certificate.is_certified for certificate in found)


def test_a_bias_that_nearly_cancels_with_a_mean_is_folded_exactly() -> None:
    """bias − mean is exact in float64; scaled first, digits would be lost."""
    model = random_model(2)
    r: Representation = model.representation
    r.linears[0].bias.data += 6.5e7
    r.norms[0].running_mean += 6.5e7
    maps = Model(r, model.classifier).folded_representation
    scale = 1 / (r.norms[0].running_var.double() + r.norms[0].eps).sqrt() * r.norms[0].weight.double()
    exact = (r.linears[0].bias.double() - r.norms[0].running_mean.double()) * scale + r.norms[0].bias.double()
    assert torch.equal(maps.biases[0], exact)
    assert len(certify_segments(Model(r, model.classifier), random_people(2, 2), range(2), random_set(2))) == 2
