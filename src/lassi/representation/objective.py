"""What a representation is trained to do: predict a target, treat similar people alike, preserve other information.

λ₁ · classification + λ₂ · adversarial + λ₃ · reconstruction. [Paper, Sec. 4.2]
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.errors import UserError
from lassi.base.ranges import Number, OneOf, Whole, refuse_unfit
from lassi.base.streams import Stream
from lassi.representation.network import Representation, norm_affine
from lassi.similarity.sets import SimilaritySet

LOSS_WEIGHT = Number(0, 1_000_000)
LossWeight = Annotated[float, LOSS_WEIGHT]
Samples = Annotated[int, Whole(1, 10_000)]
Region = Annotated[str, OneOf("ball", "cube")]


@dataclass(frozen=True)
class Objective:
    """The weights of the losses.

    Args:
        lambda1: of the classification loss.
        lambda2: of the adversarial loss, the distance to the farthest of several similar people.
        lambda3: of the reconstruction loss.
        samples: similar people drawn per person (s) by the attack or the augmentation.
        augments: train on similar people as extra examples instead of attacking (DataAug).
        region: where the attack draws from: the ``ball`` S(x), or the far larger ``cube`` of coefficients, which the
            published program uses for many vectors.
    """

    lambda1: LossWeight = 1.0
    lambda2: LossWeight = 0.0
    lambda3: LossWeight = 0.0
    samples: Samples = 10
    augments: bool = False
    region: Region = "ball"

    def __post_init__(self) -> None:
        refuse_unfit(self)
        if not any((self.lambda1, self.lambda2, self.lambda3)):
            raise UserError(
                "The weights of the losses (lambda1, lambda2, lambda3) are all 0.", hint="Make at least one positive."
            )
        if self.augments and self.lambda2:
            raise UserError("Data augmentation has no adversarial loss.", hint="Set lambda2 to 0, or do not augment.")

    @property
    def is_judged_by_loss(self) -> bool:
        """Whether to keep the epoch with the lowest loss rather than the one with the fewest mistakes."""
        return self.lambda2 + self.lambda3 > 0


class Producer(nn.Module):
    """R with its training aids: an auxiliary classifier, and Q, which reconstructs z from R(z)."""

    def __init__(self, representation: Representation, num_classes: int, *, reconstructs: bool, stream: Stream) -> None:
        super().__init__()
        self.representation = representation
        widths = representation.widths
        with stream.global_torch():
            self.aux = nn.Linear(widths[-1], num_classes)
            self.decoder = _decoder([*reversed(widths), representation.latent_dim]) if reconstructs else None

    def losses(
        self,
        z: Tensor,
        labels: Tensor,
        objective: Objective,
        similar: SimilaritySet | None,
        *,
        stream: Stream,
        other: Tensor | None = None,
    ) -> Tensor:
        """The total loss of a batch ``(B, q)`` with labels ``(B,)``, in the modules' current modes.

        Args:
            other: the latents of other pictures of the same people, which look the same, ``(B, q)``: similar people
                are drawn around these instead of around z.
        """
        u = self.representation.linears[0](z)
        start = u if other is None else self.representation.linears[0](other)
        # The attack comes first: it uses the running statistics, which the passes below change.
        attacked = self._attack(u, start, objective, similar, stream) if objective.lambda2 and similar else None
        r = self.representation.from_first(u)
        total = z.new_zeros(())
        if objective.lambda1:
            logits, targets = self._classified(start, r, labels, objective, similar, stream)
            total = total + objective.lambda1 * F.cross_entropy(logits, targets)
        if objective.lambda2:
            assert attacked is not None
            distances = (r - self.representation.from_first(attacked)).norm(dim=1)
            total = total + objective.lambda2 * distances.mean()
        if objective.lambda3:
            assert self.decoder is not None
            total = total + objective.lambda3 * (z - self.decoder(r)).norm(dim=1).mean()
        return total

    def mistakes(
        self,
        z: Tensor,
        labels: Tensor,
        objective: Objective,
        similar: SimilaritySet | None,
        *,
        stream: Stream,
        other: Tensor | None = None,
    ) -> Tensor:
        """The share of people ``(B, q)`` misclassified by the auxiliary classifier, augmented as the objective says."""
        u = self.representation.linears[0](z)
        start = u if other is None else self.representation.linears[0](other)
        logits, targets = self._classified(start, self.representation.from_first(u), labels, objective, similar, stream)
        return (logits.argmax(1) != targets).double().mean()

    def _classified(
        self,
        start: Tensor,
        r: Tensor,
        labels: Tensor,
        objective: Objective,
        similar: SimilaritySet | None,
        stream: Stream,
    ) -> tuple[Tensor, Tensor]:
        """Logits and labels of everybody, and of their similar people where the objective augments."""
        logits = self.aux(r)
        if not objective.augments:
            return logits, labels
        assert similar is not None
        return self._augmented(start, logits, labels, objective, similar, stream)

    def _attack(self, u: Tensor, start: Tensor, objective: Objective, similar: SimilaritySet, stream: Stream) -> Tensor:
        """The first layer's output at z′, the drawn similar person that R maps farthest from R(z), ``(B, h)``.

        W₁ z′ = W₁ z + B t also holds in training mode, so the largest layer is not computed again.

        Args:
            start: the first layer's output where similar people are drawn.
        """
        b = self.representation.linears[0].weight @ similar.basis  # (h, n)
        t = draw(similar, len(u), objective, stream)
        return start + farthest(self.representation, u.detach(), b.detach(), t, start=start.detach()) @ b.T

    def _augmented(
        self, u: Tensor, logits: Tensor, labels: Tensor, objective: Objective, similar: SimilaritySet, stream: Stream
    ) -> tuple[Tensor, Tensor]:
        """Logits and labels of everybody and of their similar people, who form a separate batch for BatchNorm."""
        b = self.representation.linears[0].weight @ similar.basis
        t = draw(similar, len(u), objective, stream)  # (B, s, n)
        others = self.representation.from_first((u[:, None] + t @ b.T).flatten(0, 1))
        return torch.cat([logits, self.aux(others)]), torch.cat([labels, labels.repeat_interleave(t.shape[1])])


def draw(similar: SimilaritySet, people: int, objective: Objective, stream: Stream) -> Tensor:
    """Coefficients of similar people, ``(B, s, rank)``."""
    if objective.region == "ball":
        return similar.uniform(people, objective.samples, stream=stream)
    cube = torch.rand(people, objective.samples, similar.num_directions, generator=stream.torch())
    t = (similar.radius * (2 * cube - 1)).to(similar.directions)
    return t @ torch.linalg.lstsq(similar.basis, similar.directions).solution.T  # from t to v


@torch.no_grad()
def farthest(representation: Representation, u: Tensor, b: Tensor, t: Tensor, *, start: Tensor | None = None) -> Tensor:
    """The coefficients among ``(B, s, n)`` that lead farthest from R(z), in evaluation mode, ``(B, n)``.

    Args:
        u: the first layer's output at z, before its BatchNorm, ``(B, h)``.
        b: how it changes with t, ``(h, n)``.
        start: the same where t = 0, if that is not at z.
    """
    later = representation.later_layers()
    scale, shift = (x.to(u.dtype) for x in norm_affine(representation.norms[0]))
    slope = b * scale[:, None]
    c = (u if start is None else start) * scale + shift
    centre = later(u * scale + shift)  # (B, k)
    distances = (later(c[:, None] + t @ slope.T) - centre[:, None]).norm(dim=2)
    return t[torch.arange(len(t), device=t.device), distances.argmax(1)]


def _decoder(widths: Sequence[int]) -> nn.Sequential:
    """Q: hidden layers as in R, the last one plain."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(widths[:-1]):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-2], widths[-1]))
