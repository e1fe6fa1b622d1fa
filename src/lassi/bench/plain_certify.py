"""The published procedure, implemented directly: our certificates are measured against it.

Every sample is built as z + A t and goes through all of R; all samples are candidate centres; the noise on
representations has their full dimension. The constants are the paper's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from scipy.stats import norm
from torch import Tensor

from lassi.certify.along.model import Model
from lassi.certify.smoothed.statistics import lower_bound
from lassi.consumer.classifier import Classifier
from lassi.similarity.sets import SimilaritySet

BATCH = 1000  # samples per pass


@dataclass(frozen=True)
class PlainSettings:
    """Samples and noise of the published procedure."""

    sigma_cs: float
    sigma_rs: float
    samples: int = 10_000
    samples_rs0: int = 2_000
    samples_rs: int = 100_000
    alpha_cs: float = 0.01
    alpha_rs: float = 0.001
    delta: float = 0.05


@dataclass(frozen=True)
class PlainCertificate:
    """Centre and class radius of one person; None where it abstains."""

    centre_radius: float | None
    class_radius: float | None

    @property
    def is_certified(self) -> bool:
        return (
            self.centre_radius is not None and self.class_radius is not None and self.centre_radius < self.class_radius
        )


@torch.no_grad()
def plain_modular(
    model: Model,
    z: Tensor,
    similar: SimilaritySet,
    settings: PlainSettings,
    *,
    generator: torch.Generator,
    force: bool = False,
) -> PlainCertificate:
    """Certify one person ``(q,)``.

    Args:
        force: go through every stage, even if an earlier one abstains.
    """
    r, a = model.representation, similar.directions

    def samples() -> Tensor:
        t = settings.sigma_cs * torch.randn(settings.samples, a.shape[1], generator=generator)
        return torch.cat([r(z + part @ a.T) for part in torch.split(t, BATCH)])

    centre_radius = _centre(samples, similar.radius, settings, force)
    if centre_radius is None:
        return PlainCertificate(None, None)
    centre, d_cs = centre_radius
    return PlainCertificate(d_cs, _class_radius(_network(model), centre, settings, generator))


def _centre(
    samples: Callable[[], Tensor], radius: float, settings: PlainSettings, force: bool
) -> tuple[Tensor, float] | None:
    first = samples()
    medians = torch.cat([torch.cdist(part, first).median(1).values for part in torch.split(first, BATCH)])
    best = medians.argmin()
    centre, ball = first[best], medians[best]
    alpha = settings.alpha_cs / 2
    deviation = math.sqrt(math.log(2 / alpha) / (2 * settings.samples))
    inside = ((samples() - centre).norm(dim=1) <= ball).double().mean().item()
    if not force and (deviation > settings.delta or inside < 0.5 - settings.delta + deviation):
        return None
    p = norm.cdf(norm.ppf(0.5 + settings.delta) + radius / settings.sigma_cs)
    level = p + math.sqrt(math.log(1 / alpha) / (2 * settings.samples))
    if level > 1:
        return None
    distances = (samples() - centre).norm(dim=1)
    return centre, 3 * torch.quantile(distances, level).item()


def _class_radius(c: Classifier, centre: Tensor, settings: PlainSettings, generator: torch.Generator) -> float | None:
    def counts(number: int) -> Tensor:
        totals = torch.zeros(c.num_classes, dtype=torch.int64)
        for start in range(0, number, BATCH):
            size = min(BATCH, number - start)
            noisy = centre + settings.sigma_rs * torch.randn(size, len(centre), generator=generator)
            totals += torch.bincount(c(noisy).argmax(1), minlength=c.num_classes)
        return totals

    label = counts(settings.samples_rs0).argmax()
    p_a = lower_bound(int(counts(settings.samples_rs)[label]), settings.samples_rs, settings.alpha_rs)
    return None if p_a < 0.5 else settings.sigma_rs * float(norm.ppf(p_a))


@torch.no_grad()
def plain_joint(
    model: Model, z: Tensor, similar: SimilaritySet, settings: PlainSettings, *, generator: torch.Generator
) -> float:
    """The radius of the class of C(R(z + A t)), t ~ N(0, σ_cs²): all samples go through all of R and C."""
    r, c, a, sigma = model.representation, _network(model), similar.directions, settings.sigma_cs

    def counts(number: int) -> Tensor:
        totals = torch.zeros(c.num_classes, dtype=torch.int64)
        for start in range(0, number, BATCH):
            t = sigma * torch.randn(min(BATCH, number - start), a.shape[1], generator=generator)
            totals += torch.bincount(c(r(z + t @ a.T)).argmax(1), minlength=c.num_classes)
        return totals

    label = counts(settings.samples_rs0).argmax()
    p_a = lower_bound(int(counts(settings.samples_rs)[label]), settings.samples_rs, settings.alpha_rs)
    return sigma * float(norm.ppf(p_a))


def _network(model: Model) -> Classifier:
    assert isinstance(model.classifier, Classifier), "only networks are measured"
    return model.classifier
