"""What rounding could make wrong: cancellation, underflow, float32, sums in another order."""

import numpy as np
import pytest
import torch

from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.certificate import Outcome
from lassi.certify.exact.segments import certify_segments
from lassi.certify.method import People
from lassi.certify.methods import METHODS
from lassi.certify.settings import Certification
from lassi.certify.smoothed.classes import exact_radius, predicted_class, smoothed_class, sure_classes
from lassi.certify.smoothed.joint import certify_joint
from lassi.certify.smoothed.modular import ModularPlan, certify_modular
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.consumer.classifier import from_linear
from lassi.representation.network import Representation
from lassi.similarity.sets import SimilaritySet
from networks import certify_some, plain_model, random_model, random_people, random_set

double = {"dtype": torch.float64}


def test_the_radius_of_a_linear_classifier_is_not_lost_beside_large_biases() -> None:
    model = from_linear(torch.tensor([[2.0**-20, 0.0], [0.0, 0.0]]), torch.tensor([1e8, 1e8]))
    radius, _ = exact_radius(model, torch.tensor([0.008, 0.0], **double))
    assert radius <= 0.008


def test_where_rounding_could_decide_a_draw_is_nobodys() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.5, 0.4], [0.0, 1.0]], **double)
    assert sure_classes(logits, torch.tensor([0.1, 0.1], **double)).tolist() == [0, 2, 1]


def test_where_no_draw_is_anybodys_the_model_abstains() -> None:
    def nobody(count: int, stream: Stream) -> torch.Tensor:  # noqa: ARG001
        return torch.zeros(2, dtype=torch.int64)

    assert predicted_class(nobody, 100, 0.001, stream=Stream(0, "p")) is None
    assert smoothed_class(nobody, ClassSmoothing(1.0), stream=Stream(0, "s")).abstains


def test_what_is_nobodys_may_be_the_other_classes() -> None:
    def sample(count: int, stream: Stream) -> torch.Tensor:  # noqa: ARG001
        return torch.tensor([30, 0])

    assert predicted_class(sample, 100, 0.001, stream=Stream(0, "n")) is None
    assert predicted_class(sample, 30, 0.001, stream=Stream(0, "n")) == 0


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


def twins(height: float) -> Model:
    """R(z) = z₀ by way of two neurons of this height whose difference it is: float32 has no digit of it at 1e9."""
    first, second = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), torch.tensor([[1.0, -1.0], [0.0, 0.0]])
    return plain_model([first, second], [torch.full((2,), height), torch.zeros(2)], offset=-0.5)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("height", [10.0, 1e9])
def test_what_float32_would_not_see_counts_in_smoothed_certificates(n: int, height: float) -> None:
    """Everybody moves by as much as t₀, which changes the class at −½; nobody may be certified for ‖t‖ ≤ 1."""
    similar = SimilaritySet(torch.eye(3)[:, :n], 1.0)
    z = torch.zeros(1, 3)
    (modular,) = certify_modular(
        twins(height), z, [0], similar, ModularPlan(CentreSmoothing(0.65), ClassSmoothing(1.0, samples=2000)), seed=0
    )
    assert modular.outcome is Outcome.NOT_CERTIFIED
    assert modular.figures["centre_radius"] == pytest.approx(3 * 2 * 0.65, rel=0.1), "three quantiles"
    (joint,) = certify_joint(twins(height), z, [0], similar, ClassSmoothing(0.65), seed=0)
    assert joint.figures["p_a"] == pytest.approx(torch.special.ndtr(torch.tensor(0.5 / 0.65)).item(), abs=0.03)


def test_an_offset_that_cancels_between_representation_and_classifier_is_within_the_slack() -> None:
    """R's last bias is 1e9, the classifier takes 1e9 away: what their sum loses the slack must hold."""
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(1, 3, generator=generator) / 3
    for z in torch.randn(50, 1, 3, generator=generator):
        model = plain_model([weight], [torch.tensor([1e9 + 64])], offset=1e9)
        (found,) = certify_segments(model, z, [0], SimilaritySet(torch.eye(3)[:, :1], 1e-3))
        norm = model.representation.norms[0]
        scale = 1 / np.sqrt(np.longdouble(norm.running_var.item()) + np.longdouble(norm.eps))
        own = sum(np.longdouble(a) * np.longdouble(b) for a, b in zip(weight[0].tolist(), z[0].tolist(), strict=True))
        exact = (own + np.longdouble(model.representation.linears[0].bias.item())) * scale - np.longdouble(1e9)
        margins = model.joint_tracer(z, SimilaritySet(torch.eye(3)[:, :1], 1e-3).basis64, 1e-3)[0]
        assert abs((margins.base[1] - margins.base[0]).item() - float(exact)) <= found.figures["slack"]


def test_a_bias_that_all_classes_share_does_not_hide_which_is_ahead() -> None:
    """At 2⁶⁰ a logit has no digit left for a lead of 3; a draw that rounding could decide is nobody's."""
    r = Representation(2, [2], stream=Stream(0, "shared"))
    r.linears[0].weight.data, r.linears[0].bias.data = torch.eye(2), torch.zeros(2)
    c = from_linear(torch.eye(2), torch.full((2,), 2.0**60))
    model = Model(r.eval().requires_grad_(False), c.requires_grad_(False))
    similar = SimilaritySet(torch.tensor([[3.0], [-3.0]]), 1.0)
    for centre in ("ball", "median"):
        centres = CentreSmoothing(0.65, centre=centre, samples=5000, samples0=5000)
        (found,) = certify_modular(
            model,
            torch.tensor([[127.0, 130.0]]),
            [0],
            similar,
            ModularPlan(centres, ClassSmoothing(10.0, samples=2000)),
            seed=0,
        )
        assert not found.is_certified


def test_what_underflows_on_the_way_is_within_the_slack() -> None:
    """Two layers of 1e-38 after another leave nothing of float64's digits; what comes after cannot bring them back."""
    tiny = [torch.full((1, 1), 1e-38)] * 9
    weights = [torch.tensor([[1.0, 1.0]]), *tiny]
    found = []
    for value in (0.0, 1.0):
        model = plain_model(weights, [torch.zeros(1)] * 10, offset=0.0)
        found += certify_segments(model, torch.tensor([[value, 0.5]]), [0], SimilaritySet(torch.eye(2)[:, :1], 1.0))
    assert all(c.outcome is Outcome.UNDECIDED for c in found)


@pytest.mark.parametrize(("widths", "q"), [((64, 32), 20), ((65, 33), 20), ((64, 32, 16), 21)])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2])
def test_odd_sizes_do_not_make_a_person_depend_on_who_is_beside(
    widths: tuple[int, ...], q: int, method: str, n: int
) -> None:
    """A processor that adds several numbers at once takes odd sides of a product in another order, row by row."""
    model, z, similar = (
        random_model(1, widths, classes=3, q=q),
        random_people(2, 16, q),
        random_set(3, n, q, length=0.3),
    )
    settings = Certification(n=1500, n0=1500, n_rs=2000, n_rs0=500)

    def lines(people: list[int]) -> dict[int, str]:
        found = certify_some(model, People(z[people], people), similar, method, settings, seed=1)
        return {certificate.person: certificate.line() for certificate in found}

    everybody = lines(list(range(16)))
    assert lines(list(range(16))[::-1]) == everybody
    assert lines([3, 1]) == {3: everybody[3], 1: everybody[1]}
