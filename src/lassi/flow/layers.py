"""The layers of a flow's step with their own weights: the zero convolution and the mixing of channels.

Their weights are fused, for all steps of a level at once, before they are applied to pictures.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ZeroConv(nn.Module):
    """A 3×3 convolution with weights exp(3·scale)·weight; it starts at zero and pads its input with ones."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(channels_out, channels_in, 3, 3))
        self.bias = nn.Parameter(torch.zeros(channels_out))
        self.scale = nn.Parameter(torch.zeros(channels_out))

    def forward(self, x: Tensor) -> Tensor:
        weight, offset = scaled_zero_convs([self], *x.shape[2:])
        return F.conv2d(x, weight[0], padding=1) + offset[0]


def scaled_zero_convs(convs: Sequence[ZeroConv], h: int, w: int) -> tuple[Tensor, Tensor]:
    """The scaled weights of n convolutions ``(n, c, hidden, 3, 3)``, and what bias and padding add, ``(n, c, h, w)``.

    Convolving a picture padded with ones equals convolving it padded with zeros, plus the contribution of the frame of
    ones. That is the same for every picture: at each pixel, the sum of the weights whose taps lie outside.
    """
    factor = torch.exp(3 * torch.stack([conv.scale for conv in convs]))
    weight = torch.stack([conv.weight for conv in convs]) * factor[:, :, None, None, None]
    bias = torch.stack([conv.bias for conv in convs]) * factor
    padding = weight.sum(2).flatten(2) @ _taps_outside(h, w).to(weight)  # (n, c, h·w)
    return weight, padding.view(*bias.shape, h, w) + bias[:, :, None, None]


class LUMixing(nn.Module):
    """The c×c matrix P (L + I) (U + diag(sign·exp(log s))); log|det| is the sum of log s."""

    permutation: Tensor
    sign: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        permutation, lower, upper = torch.linalg.lu(_rotation(channels))
        diagonal = upper.diagonal()
        self.lower, self.upper = nn.Parameter(lower.tril(-1)), nn.Parameter(upper.triu(1))
        self.log_s = nn.Parameter(diagonal.abs().log())
        self.register_buffer("permutation", permutation)
        self.register_buffer("sign", diagonal.sign())

    @staticmethod
    def matrices(mixings: "Sequence[LUMixing]") -> tuple[Tensor, Tensor]:
        lower = torch.stack([m.lower for m in mixings]).tril(-1)
        upper = torch.stack([m.upper for m in mixings]).triu(1)
        log_s = torch.stack([m.log_s for m in mixings])
        sign = torch.stack([m.sign for m in mixings])
        eye = torch.eye(sign.shape[1], device=sign.device, dtype=sign.dtype)
        upper = upper + torch.diag_embed(sign * log_s.exp())
        return torch.stack([m.permutation for m in mixings]) @ (lower + eye) @ upper, log_s.sum(1)


class PlainMixing(nn.Module):
    """A c×c matrix, stored as it is."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(_rotation(channels))

    @staticmethod
    def matrices(mixings: "Sequence[PlainMixing]") -> tuple[Tensor, Tensor]:
        matrices = torch.stack([m.weight for m in mixings])
        return matrices, torch.linalg.slogdet(matrices)[1]


def matrices(mixings: "Sequence[LUMixing | PlainMixing]") -> tuple[Tensor, Tensor]:
    """The matrices ``(n, c, c)`` of n mixings of one kind, and log|det| ``(n,)``."""
    kind: Any = type(mixings[0])
    found: tuple[Tensor, Tensor] = kind.matrices(mixings)
    return found


@cache
def _taps_outside(h: int, w: int) -> Tensor:
    """Which of the nine taps of a 3×3 convolution lie outside the picture at each pixel, ``(9, h·w)``, as 0 or 1."""
    inside = F.unfold(torch.ones(1, 1, h, w), 3, padding=1)[0]
    return 1 - inside


def _rotation(channels: int) -> Tensor:
    return torch.linalg.qr(torch.randn(channels, channels))[0]
