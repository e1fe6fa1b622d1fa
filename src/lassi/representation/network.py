"""The representation R, and its folded form along similarity sets.

In evaluation mode R is affine, ReLU, affine, ReLU, affine: BatchNorm folds into the affine maps. On z + A t its first
layer is W₁(z + A t) + b₁ = c + B t, with c = W₁ z + b₁ once per person and B = W₁ A once per model, so the largest
layer drops out of every computation over many t.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lassi.base.errors import UserError
from lassi.base.streams import Stream

WIDTHS = (2048, 1024, 512)  # the paper's


class Representation(nn.Module):
    """R: latents ``(B, q)`` to representations ``(B, k)``.

    Hidden layers are Linear, BatchNorm, ReLU; the last is Linear, then BatchNorm without scale and shift, so that all
    components have the same range when noise is added to them.

    Args:
        latent_dim: q.
        widths: of the hidden layers and, last, k.
    """

    def __init__(self, latent_dim: int, widths: Sequence[int] = WIDTHS, *, stream: Stream) -> None:
        super().__init__()
        if len(widths) < 1 or min(widths) < 1 or latent_dim < 1:
            raise UserError(
                f"A representation cannot have widths {tuple(widths)}.", hint="Choose widths of at least 1."
            )
        self.latent_dim, self.widths = latent_dim, tuple(widths)
        sizes = [latent_dim, *widths]
        with stream.global_torch():
            self.linears: Sequence[nn.Linear] = nn.ModuleList(  # type: ignore[assignment]
                nn.Linear(before, after) for before, after in itertools.pairwise(sizes)
            )
        last = len(widths) - 1
        self.norms: Sequence[nn.BatchNorm1d] = nn.ModuleList(  # type: ignore[assignment]
            nn.BatchNorm1d(width, affine=layer < last) for layer, width in enumerate(widths)
        )

    def forward(self, z: Tensor) -> Tensor:
        return self.from_first(self.linears[0](z))

    def from_first(self, u: Tensor) -> Tensor:
        """R from the first layer's output (before BatchNorm, ``(B, widths[0])``) onwards, in either mode."""
        last = len(self.linears) - 1
        for layer, (linear, norm) in enumerate(zip(self.linears, self.norms, strict=True)):
            u = norm(linear(u) if layer else u)
            u = u.relu() if layer < last else u
        return u

    def folded(self, dtype: torch.dtype | None = None) -> "Folded":
        """R in evaluation mode as affine maps with ReLUs between them, without gradients."""
        with torch.no_grad():
            return Folded(*self._fold_from(0, dtype))

    def later_layers(self) -> "Later":
        """What comes after the first layer and its BatchNorm, in evaluation mode, without gradients."""
        with torch.no_grad():
            return Later(*self._fold_from(1, None))

    def _fold_from(self, first: int, dtype: torch.dtype | None) -> tuple[list[Tensor], list[Tensor]]:
        pairs = zip(self.linears[first:], self.norms[first:], strict=True)
        layers = [_fold(linear, norm, dtype) for linear, norm in pairs]
        return [weight for weight, _ in layers], [bias for _, bias in layers]

    def bias_paths(self) -> list[Tensor]:
        """The sums of absolute values behind the folded biases, one ``(width,)`` per layer, float64."""
        found = []
        for linear, norm in zip(self.linears, self.norms, strict=True):
            scale, _ = norm_affine(norm)
            assert norm.running_mean is not None
            path = (linear.bias.detach().double() - norm.running_mean.double()).abs() * scale.abs()
            found.append(path + norm.bias.detach().double().abs() if norm.affine else path)
        return found

    def along(self, z: Tensor, directions: Tensor) -> "Along":
        """g_z(t) = R(z + A t) in evaluation mode; see :meth:`Folded.along`."""
        return self.folded(z.dtype).along(z, directions)

    def __repr__(self) -> str:
        return f"Representation({' → '.join(map(str, (self.latent_dim, *self.widths)))})"


def _fold(linear: nn.Linear, norm: nn.BatchNorm1d, dtype: torch.dtype | None) -> tuple[Tensor, Tensor]:
    """W and b of BatchNorm(linear(x)) = W x + b, computed in float64."""
    scale, _ = norm_affine(norm)
    weight = linear.weight.double() * scale[:, None]
    assert norm.running_mean is not None
    centred = linear.bias.double() - norm.running_mean.double()  # first, because bias and mean may nearly cancel
    bias = centred * scale + (norm.bias.detach().double() if norm.affine else 0.0)
    dtype = dtype or linear.weight.dtype
    return weight.to(dtype), bias.to(dtype)


def norm_affine(norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Scale and shift of a BatchNorm in evaluation mode, ``(c,)`` each, in float64."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = 1 / (norm.running_var.double() + norm.eps).sqrt()
    if norm.affine:
        scale = scale * norm.weight.detach().double()
    shift = -norm.running_mean.double() * scale
    return scale, shift + norm.bias.detach().double() if norm.affine else shift


@dataclass(frozen=True, eq=False)
class Later:
    """Affine maps, each after a ReLU."""

    weights: list[Tensor]
    biases: list[Tensor]

    def __call__(self, u: Tensor) -> Tensor:
        for weight, bias in zip(self.weights, self.biases, strict=True):
            u = torch.nn.functional.linear(torch.relu(u), weight, bias)
        return u


@dataclass(frozen=True, eq=False)
class Folded:
    """Affine maps x ↦ W x + b with ReLUs between them: the representation, or with C's layer, the whole model."""

    weights: list[Tensor]
    biases: list[Tensor]

    def __call__(self, z: Tensor) -> Tensor:
        return self.after_first(z @ self.weights[0].T + self.biases[0])

    @property
    def after_first(self) -> "Later":
        """The rest of the network, from the first layer's output ``(…, widths[0])`` onwards."""
        return Later(self.weights[1:], self.biases[1:])

    def then(self, weight: Tensor, bias: Tensor) -> "Folded":
        """These maps followed by a linear one, such as a linear classifier, merged into the last layer."""
        last, offset = weight @ self.weights[-1], weight @ self.biases[-1] + bias
        return Folded([*self.weights[:-1], last], [*self.biases[:-1], offset])

    def along(self, z: Tensor, directions: Tensor) -> "Along":
        """t ↦ self(z + A t) for B people.

        Args:
            z: ``(B, q)``.
            directions: A, shared ``(q, n)`` or one set per person ``(B, q, n)``.
        """
        c = z @ self.weights[0].T + self.biases[0]
        return Along(self, c, self.weights[0] @ directions)


@dataclass(frozen=True, eq=False)
class Along:
    """g_z along similarity sets: nothing after this ever forms z + A t.

    Args:
        maps: the folded network.
        c: its first layer at z, ``(B, h)``.
        b: how the first layer changes with t, ``(h, n)``, or per person ``(B, h, n)``.
    """

    maps: Folded
    c: Tensor
    b: Tensor

    def __call__(self, t: Tensor) -> Tensor:
        """g_z at coefficients ``(B, samples, n)``: ``(B, samples, k)``."""
        return self.maps.after_first(self.c[:, None] + t @ self.b.transpose(-1, -2))

    def of(self, person: int) -> "Along":
        """The same for one of the people."""
        own = self.b if self.b.ndim == 2 else self.b[person : person + 1]
        return Along(self.maps, self.c[person : person + 1], own)
