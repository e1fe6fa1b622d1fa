"""Randomised smoothing of a classifier around a representation, and of any other source of classes.

For a linear classifier the noise is drawn on the logits instead of r: Gaussian, with covariance σ² W Wᵀ. Only
differences of logits matter, so for K classes K − 1 numbers are drawn instead of k. (Cohen et al., 2019.)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import binomtest
from torch import Tensor

from lassi.base.streams import Stream
from lassi.base.workers import chunks
from lassi.certify.along.rounding import ROUND_DOWN, ROUND_UP, gamma_of_product
from lassi.certify.smoothed.settings import ClassSmoothing
from lassi.certify.smoothed.statistics import class_radius, lower_bound, upper_bound
from lassi.consumer.classifier import Classifier
from lassi.consumer.protocol import Consumer

CHUNK = 16_384  # draws at a time
LARGEST = 40.0  # no standard normal draw is farther from 0

Sampler = Callable[[int, Stream], Tensor]


@dataclass(frozen=True)
class SmoothedClass:
    """A class, and the radius within which the smoothed classifier keeps it; zero or less means it abstains.

    Args:
        p_a: the lower bound on the class's probability.
        alpha: the probability that the bound fails.
    """

    label: int
    p_a: float
    radius: float
    alpha: float

    @property
    def abstains(self) -> bool:
        return self.p_a <= 0.5


def noisy_classes(model: Consumer, r: Tensor, sigma: float) -> Sampler:
    """Draws of the class of r + N(0, σ²), as counts of each class."""
    if isinstance(model, Classifier) and model.is_linear:
        return _linear(model, r, sigma)

    def sample(count: int, stream: Stream) -> Tensor:
        generator = stream.numpy()
        totals = torch.zeros(model.num_classes, dtype=torch.int64)
        for part in chunks(count, CHUNK):
            noise = torch.from_numpy(generator.standard_normal((len(part), len(r)), np.float32)).to(r)
            totals += torch.bincount(model.predict((r + sigma * noise).float()), minlength=model.num_classes)
        return totals

    return sample


def _linear(model: Classifier, r: Tensor, sigma: float) -> Sampler:
    weight, bias = model.linears[0].weight.double(), model.linears[0].bias.double()
    steps, offsets = weight[1:] - weight[0], bias[1:] - bias[0]
    differences = steps @ r.double() + offsets  # (K − 1,)
    factor = (
        torch.linalg.qr(steps.T, mode="r").R.T * sigma
    )  # (K − 1, min(k, K − 1)); factor · factorᵀ = σ² steps stepsᵀ

    path = steps.abs() @ r.double().abs() + bias[1:].abs() + bias[0].abs() + LARGEST * sigma * steps.norm(dim=1)
    off = gamma_of_product(len(r)) * path

    def sample(count: int, stream: Stream) -> Tensor:
        generator = stream.numpy()
        totals = torch.zeros(model.num_classes, dtype=torch.int64)
        for part in chunks(count, CHUNK):
            noise = torch.from_numpy(generator.standard_normal((len(part), factor.shape[1])))
            over = torch.addmm(differences, noise, factor.T)  # the first class's logit is 0
            classes = sure_classes(torch.cat([over.new_zeros(len(over), 1), over], 1), off)
            totals += torch.bincount(classes, minlength=model.num_classes + 1)[:-1]
        return totals

    return sample


def sure_classes(logits: Tensor, off: Tensor) -> Tensor:
    """Classes of logits ``(N, K)``, each off by at most max(``off``); K (no class) where that could change it."""
    best = logits.max(1)
    others = logits.scatter(1, best.indices[:, None], -torch.inf)
    is_sure = best.values - others.amax(1) > 2 * off.max()
    return torch.where(is_sure, best.indices, logits.shape[1])


def smoothed_class(
    sample: Sampler, settings: ClassSmoothing, *, stream: Stream, needed: float | None = None
) -> SmoothedClass:
    """The class of the smoothed classifier, with a bound on its probability from fresh draws.

    Args:
        needed: the required radius. If the draws that choose the class show that it is out of reach, only as many again
            are used to bound the probability; their number is fixed before they are drawn, so the bound holds.
    """
    chosen = sample(settings.samples0, stream.child("choose"))
    label = int(chosen.argmax())
    at_most = class_radius(upper_bound(int(chosen[label]), settings.samples0, settings.alpha), settings.sigma)
    draws = settings.samples if needed is None or at_most > needed else min(settings.samples0, settings.samples)
    count = int(sample(draws, stream.child("bound"))[label])
    p_a = lower_bound(count, draws, settings.alpha)
    radius = class_radius(p_a, settings.sigma) if p_a > 0.5 else 0.0
    return SmoothedClass(label, p_a, radius, settings.alpha)


def predicted_class(sample: Sampler, count: int, alpha: float, *, stream: Stream) -> int | None:
    """The class of the smoothed classifier, wrong with probability at most alpha; None where it abstains."""
    counts = sample(count, stream)
    first, second = counts.topk(2).values.tolist()
    second += count - int(counts.sum())  # draws without a class may belong to the runner-up
    if first <= second or binomtest(first, first + second, 0.5).pvalue > alpha:
        return None
    return int(counts.argmax())


def linear_two_classes(model: Consumer, r: Tensor) -> SmoothedClass | None:
    """For a linear classifier with two classes, nothing is estimated: the radius is the distance to the plane."""
    if not (isinstance(model, Classifier) and model.is_linear and model.num_classes == 2):
        return None
    margin, label = exact_radius(model, r)
    return SmoothedClass(label, 1.0 if margin > 0 else 0.5, margin, 0.0)


def exact_radius(model: Classifier, r: Tensor, off: Tensor | None = None) -> tuple[float, int]:
    """A lower bound on the distance from r to where a linear classifier changes its class, and the class.

    Zero where rounding could change the class.

    Args:
        off: how far each number of r can be from the true one, ``(k,)``.
    """
    weight, bias, r = model.linears[0].weight.double(), model.linears[0].bias.double(), r.double()
    label = int((weight @ r + bias).argmax())
    others = [k for k in range(len(bias)) if k != label]
    normals, offsets = weight[label] - weight[others], bias[label] - bias[others]
    path = normals.abs() @ r.abs() + bias[label].abs() + bias[others].abs()
    margins = normals @ r + offsets - gamma_of_product(len(r)) * path
    if off is not None:
        margins = margins - normals.abs() @ off
    lengths = normals.norm(dim=1) * ROUND_UP
    distances = torch.where(
        lengths > 0, margins / lengths.clamp(min=torch.finfo(torch.float64).tiny), margins * torch.inf
    )
    least = distances.nan_to_num(nan=0.0).min().item()
    return max(0.0, least * ROUND_DOWN), label
