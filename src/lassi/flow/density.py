"""What a flow has learned: its density compared with a model that knows nothing of how pixels depend on each other.

A flow that is hardly better than independent pixels does not know what people look like, so those whom it calls similar
need not be. And a picture far more or less likely than those it has seen is one that it knows nothing about.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.batches import spread
from lassi.base.compute import Compute
from lassi.base.draft import Draft
from lassi.base.identity import Identity, array_hash
from lassi.base.stage import Missing
from lassi.base.streams import Stream
from lassi.base.workers import chunks
from lassi.data.dataset import Dataset, Integers
from lassi.data.preprocess import Pixels
from lassi.flow.check import bounded
from lassi.flow.glow import Glow

STAGE, VERSION = "density", 1
FITTED = 2_000  # pictures, at most
JUDGED = 128  # pictures, at most
MOST_NUMBERS = 2**24  # in memory at a time
FENCES = 3.0  # quartile ranges: where Tukey draws the outer fence


class IndependentPixels:
    """A model of pictures whose values are independent: a histogram for each value of each pixel.

    Args:
        counts: how many pictures have each level there, ``(C H W, levels)``.
    """

    def __init__(self, counts: Tensor, pixels: Pixels) -> None:
        self._pixels = pixels
        weights = counts.double() + 1 / pixels.levels  # so that nothing is impossible
        self._log_shares = (weights / weights.sum(1, keepdim=True)).log()

    @staticmethod
    def fit(dataset: Dataset, people: Integers, pixels: Pixels) -> "IndependentPixels":
        """Fitted to the pictures of some people."""
        dim = 3 * dataset.size**2
        first = pixels.levels * torch.arange(dim)  # of each value's histogram
        counts = torch.zeros(dim * pixels.levels, dtype=torch.int64)
        for rows in chunks(len(people), 1 + MOST_NUMBERS // (8 * dim)):
            x = pixels.quantise(torch.from_numpy(dataset.images(people[rows.start : rows.stop])))
            level = ((x + 0.5) * pixels.levels).long().flatten(1)
            counts += torch.bincount((level + first).flatten(), minlength=len(counts))
        return IndependentPixels(counts.reshape(dim, pixels.levels), pixels)

    def bits_per_dim(self, x: Tensor) -> Tensor:
        """Bits per dimension of noisy pictures ``(B, C, H, W)``, ``(B,)``, as :meth:`Glow.bits_per_dim` counts them."""
        log_prob = self._log_density(x.flatten(1).double()).sum(1)
        return self._pixels.bits - log_prob / (x[0].numel() * math.log(2))

    def _log_density(self, x: Tensor) -> Tensor:
        """The log density of each value ``(B, C H W)``: that of its level, spread by the noise of the training."""
        levels, sigma = self._pixels.levels, self._pixels.noise
        if isinstance(sigma, str):  # uniform within a level
            level = ((x + 0.5) * levels).long().clamp(0, levels - 1)
            shares = self._log_shares.expand(len(x), -1, -1)
            return shares.gather(2, level[:, :, None])[:, :, 0] + math.log(levels)
        centres = torch.arange(levels, dtype=torch.float64) / levels - 0.5
        away = (x[:, :, None] - centres) / sigma
        normal = -0.5 * away**2 - math.log(sigma * math.sqrt(2 * math.pi))
        return (self._log_shares + normal).logsumexp(2)


@dataclass(frozen=True)
class Density:
    """How good a flow is on validation people, and which pictures are like theirs.

    Args:
        bits_per_dim: of the flow.
        independent: bits per dimension of independent pixels, fitted to training pictures, on the same pictures.
        people: how many these are.
        least, most: log p(x) of a picture like those of validation people: within three quartile ranges of their middle
            half.
    """

    bits_per_dim: float
    independent: float
    people: int
    least: float
    most: float

    @property
    def saved(self) -> float:
        """Bits per dimension that the flow saves."""
        return self.independent - self.bits_per_dim


@dataclass(frozen=True, eq=False)
class DensityStage:
    """The density of a flow, measured and kept.

    Args:
        parents: the content of the flow and of the latents of validation people.
        log_prob: log p(x) of validation people, as they are encoded.
    """

    folder: Path
    glow: Glow
    dataset: Dataset
    train: Integers
    valid: Integers
    log_prob: NDArray[np.float32]
    parents: Mapping[str, str]

    @cached_property
    def identity(self) -> Identity:
        settings = {"train": array_hash(self._fitted), "valid": array_hash(self._judged)}
        return Identity(STAGE, VERSION, settings, dict(self.parents))

    @property
    def _fitted(self) -> Integers:
        return self.train[spread(len(self.train), FITTED)]

    @property
    def _judged(self) -> Integers:
        return self.valid[spread(len(self.valid), JUDGED)]

    @torch.no_grad()
    def write(self, draft: Draft, compute: Compute) -> None:  # noqa: ARG002
        glow, pixels = self.glow, self.glow.pixels
        model, judged, like = IndependentPixels.fit(self.dataset, self._fitted, pixels), self._judged, _device(glow)
        mine, theirs = [], []
        for rows in chunks(len(judged), 1 + MOST_NUMBERS // (glow.latent_dim * pixels.levels)):
            images = torch.from_numpy(self.dataset.images(judged[rows.start : rows.stop]))
            x = pixels.noisy(pixels.quantise(images), stream=Stream(0, "density").at(rows.start))
            mine.append(glow.bits_per_dim(x.to(like)).cpu())
            theirs.append(model.bits_per_dim(x))
        low, high = np.quantile(self.log_prob.astype(np.float64), [0.25, 0.75]).tolist()
        reach = FENCES * (high - low)
        bits, independent = (bounded(torch.cat(of).double().mean().item()) for of in (mine, theirs))
        fences = bounded(low - reach), bounded(high + reach)
        draft.figures.update(asdict(Density(bits, independent, len(judged), *fences)))


def load_density(artefact: Artefact) -> Density:
    """The density that was measured."""
    if artefact.identity.stage != STAGE:
        raise Missing(f"'{artefact.folder}' is not the density of a flow.", hint="Run the recipe again.")
    with artefact.understood():
        return Density(**artefact.figures)


def _device(glow: Glow) -> torch.device:
    return next(glow.parameters()).device
