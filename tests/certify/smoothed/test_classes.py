"""Smoothed classes: closed forms, laws of the noise, and rates of failure."""

import pytest
import torch
from scipy.stats import binom, chi2_contingency, norm
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.smoothed.classes import exact_radius, noisy_classes, predicted_class, smoothed_class
from lassi.certify.smoothed.settings import ClassSmoothing
from lassi.consumer.classifier import Classifier, from_linear
from networks import random_model


class Plain:
    """A linear classifier that does not say so: its noise is drawn in all dimensions."""

    def __init__(self, model: Classifier) -> None:
        self._model, self.num_classes, self.dim = model, model.num_classes, model.dim

    def predict(self, r: Tensor) -> Tensor:
        return self._model.predict(r)


def test_noise_on_logits_has_the_law_of_noise_on_representations() -> None:
    for classes in (2, 3, 10):
        model = random_model(classes, classes=classes)
        r = torch.randn(12, generator=Stream(classes, "r").torch(), dtype=torch.float64)
        few = noisy_classes(model.classifier, r, 2.0)(200_000, Stream(0, "few"))
        many = noisy_classes(Plain(model.classifier), r, 2.0)(200_000, Stream(1, "many"))
        seen = (few + many) > 10
        assert chi2_contingency(torch.stack([few, many])[:, seen].numpy()).pvalue > 1e-4


def test_a_linear_classifier_of_two_classes_has_its_closed_form() -> None:
    model = random_model(1)
    r = torch.randn(12, generator=Stream(4, "r").torch(), dtype=torch.float64)
    weight, bias = (x.double() for x in (model.classifier.linears[0].weight, model.classifier.linears[0].bias))
    margin = ((weight[1] - weight[0]) @ r + bias[1] - bias[0]).abs().item()
    radius, label = exact_radius(model.classifier, r)
    assert radius == pytest.approx(margin / (weight[1] - weight[0]).norm().item(), rel=1e-8)
    sigma = radius
    sampled = smoothed_class(noisy_classes(model.classifier, r, sigma), ClassSmoothing(sigma), stream=Stream(0, "c"))
    assert sampled.label == label
    assert 0.97 * radius < sampled.radius < radius


def test_for_three_classes_the_margin_is_no_radius_of_the_smoothed_classifier() -> None:
    """Logits (1, −r, r) with unit noise: the margin's radius is 1, but the smoothed class flips at .969."""
    weight = torch.tensor([[0.0], [-1.0], [1.0]])
    model = from_linear(weight, torch.tensor([1.0, 0.0, 0.0]))
    plain, label = exact_radius(model, torch.zeros(1, dtype=torch.float64))
    assert (label, plain) == (0, pytest.approx(1.0))
    at = {
        place: noisy_classes(model, torch.tensor([place], dtype=torch.float64), 1.0)(400_000, Stream(0, "k")).argmax()
        for place in (0.9, 1.02)
    }
    assert at[0.9] == 0
    assert at[1.02] == 2
    smoothed = smoothed_class(
        noisy_classes(model, torch.zeros(1, dtype=torch.float64), 1.0), ClassSmoothing(1.0), stream=Stream(0, "s")
    )
    assert smoothed.radius < 0.969


def test_for_three_classes_the_plain_and_the_smoothed_class_may_differ() -> None:
    model = from_linear(torch.tensor([[0.0], [-1.0], [1.0]]), torch.tensor([0.1, 0.0, 0.0]))
    r = torch.tensor([0.01], dtype=torch.float64)
    assert model.predict(r[None].float()).item() == 0
    assert noisy_classes(model, r, 1.0)(100_000, Stream(0, "k")).argmax() == 2


@pytest.mark.slow
def test_wrong_classes_are_certified_as_rarely_as_promised() -> None:
    """A class whose probability is just below ½ + what the radius needs: certified no more often than alpha."""
    settings = ClassSmoothing(1.0, samples0=50, samples=300, alpha=0.05)
    margin = 0.3  # the true radius
    wrong = empirical = 0
    model = from_linear(torch.tensor([[0.0], [1.0]]), torch.tensor([0.0, margin]))
    for seed in range(2000):
        sample = noisy_classes(model, torch.zeros(1, dtype=torch.float64), 1.0)
        found = smoothed_class(sample, settings, stream=Stream(seed, "c"))
        wrong += found.label == 1 and found.radius > margin
        count = sample(300, Stream(seed, "c").child("bound"))[1].item()
        empirical += norm.ppf(count / 300) > margin
    assert binom.sf(wrong - 1, 2000, 0.05) > 1e-6
    assert binom.sf(empirical - 1, 2000, 0.05) < 1e-6, "p_A without its bound would be wrong far more often"


def test_predictions_abstain_where_classes_are_even() -> None:
    even = from_linear(torch.tensor([[0.0], [1.0]]), torch.zeros(2))
    sample = noisy_classes(even, torch.zeros(1, dtype=torch.float64), 1.0)
    assert predicted_class(sample, 1000, 0.001, stream=Stream(0, "p")) is None
    sure = noisy_classes(even, torch.full((1,), 3.0, dtype=torch.float64), 1.0)
    assert predicted_class(sure, 1000, 0.001, stream=Stream(0, "p")) == 1


@pytest.mark.parametrize(("p", "draws"), [(0.5, 200), (0.93, 20_000), (0.999, 20_000)])
def test_what_is_out_of_reach_costs_few_draws(p: float, draws: int) -> None:
    """The radius 1 at noise 0.65 needs p_A > 0.938: 200 draws of a class of 0.5 show that it has not."""
    asked = []

    def sample(count: int, stream: Stream) -> torch.Tensor:
        asked.append(count)
        hits = int(stream.numpy().binomial(count, p))
        return torch.tensor([hits, count - hits])

    settings = ClassSmoothing(0.65, samples0=200, samples=20_000)
    found = smoothed_class(sample, settings, stream=Stream(0, "few"), needed=1.0)
    assert asked == [200, draws]
    if p > 0.5:
        assert found.label == 0
    assert found.p_a < (p if found.label == 0 else 1 - p)
    asked.clear()
    smoothed_class(sample, settings, stream=Stream(0, "few"))
    assert asked == [200, 20_000]
