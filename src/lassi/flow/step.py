"""A step of a flow: ActNorm, a 1×1 convolution and a coupling.

ActNorm and the convolution are one affine map of a pixel's channels, and the last convolution of the coupling absorbs
its scale; :func:`fuse` combines them before they are applied to pictures. Pictures are stored channels-last. Shapes:
B pictures, c channels, h×w pixels at the current level.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.flow.layers import LUMixing, PlainMixing, ZeroConv, matrices, scaled_zero_convs

AFFINE_SHIFT = 2.0  # the affine coupling multiplies by sigmoid(log s + 2), close to 1 at the start


class StepWeights(NamedTuple):
    """The fused weights of a step, which mixes the channels, then changes half of them by a network of the rest."""

    mix: Tensor  # (c, c)
    mix_bias: Tensor  # (c,)
    unmix: Tensor | None  # (c, c), the inverse of mix
    unmix_bias: Tensor | None  # (c,)
    log_det: Tensor  # (), of mix, at all h·w pixels
    first: Tensor  # (hidden, c/2, 3, 3)
    first_bias: Tensor
    middle: Tensor  # (hidden, hidden)
    middle_bias: Tensor
    last: Tensor  # (c/2 or c, hidden, 3, 3)
    last_offset: Tensor  # (c/2 or c, h, w)


class Step(nn.Module):
    """ActNorm y = s·(x + loc), a 1×1 convolution, and a coupling, on pictures ``(B, c, h, w)``."""

    def __init__(self, channels: int, side: int, hidden: int, affine: bool, lu: bool) -> None:
        super().__init__()
        half = channels // 2
        self.side, self.affine = side, affine
        self.loc = nn.Parameter(torch.zeros(channels))
        self.scale = nn.Parameter(torch.ones(channels))
        self.mixing = LUMixing(channels) if lu else PlainMixing(channels)
        self.first = nn.Parameter(0.05 * torch.randn(hidden, half, 3, 3))
        self.first_bias = nn.Parameter(torch.zeros(hidden))
        self.middle = nn.Parameter(0.05 * torch.randn(hidden, hidden))
        self.middle_bias = nn.Parameter(torch.zeros(hidden))
        self.last = ZeroConv(hidden, channels if affine else half)
        self._frozen: StepWeights | None = None

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Step":
        """Move or convert the weights and everything computed from them."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self._frozen is not None:
            self.freeze()
        return self

    def _load_from_state_dict(self, *arguments: Any, **options: Any) -> None:
        """Discard what was computed from the old weights."""
        super()._load_from_state_dict(*arguments, **options)
        self._frozen = None

    def train(self, mode: bool = True) -> "Step":
        """Training needs gradients of the weights, so it unfreezes them."""
        if mode:
            self._frozen = None
        return super().train(mode)

    @property
    def is_frozen(self) -> bool:
        return self._frozen is not None

    def weights(self, *, inverse: bool = False) -> StepWeights:
        """The fused weights of this step alone."""
        return self._frozen or fuse([self], inverse=inverse)[0]

    def freeze(self) -> None:
        with torch.no_grad():
            self._frozen = fuse([self], inverse=True)[0]

    def forward(self, x: Tensor, w: StepWeights | None = None) -> tuple[Tensor, Tensor]:
        """The output ``(B, c, h, w)`` and log|det| ``(B,)``; w are the fused weights, if already computed."""
        w = w or self.weights()
        a, b = _picture(torch.addmm(w.mix_bias, _pixels(x), w.mix.T), x).chunk(2, 1)
        a = a.contiguous(memory_format=torch.channels_last)
        if not self.affine:
            return torch.cat([a, b + _coupling(a, w)], 1), w.log_det.expand(len(x))
        log_s, t = _coupling(a, w).chunk(2, 1)
        log_s = F.logsigmoid(log_s + AFFINE_SHIFT)
        return torch.cat([a, (b + t) * log_s.exp()], 1), w.log_det + log_s.sum((1, 2, 3))

    def inverse(self, y: Tensor) -> Tensor:
        """The input that :meth:`forward` maps to y."""
        w = self.weights(inverse=True)
        assert w.unmix is not None
        assert w.unmix_bias is not None
        rows, half = _pixels(y), y.shape[1] // 2
        a = _picture(rows[:, :half].contiguous(), y)
        if not self.affine:
            # Unmixing is linear, so the coupling is subtracted afterwards, which avoids a concatenation.
            mixed = torch.addmm(w.unmix_bias, rows, w.unmix.T)
            return _picture(mixed.addmm_(_pixels(_coupling(a, w)), w.unmix[:, half:].T, alpha=-1), y)
        log_s, t = _coupling(a, w).chunk(2, 1)
        b = rows[:, half:] / _pixels(F.logsigmoid(log_s + AFFINE_SHIFT)).exp() - _pixels(t)
        return _picture(torch.addmm(w.unmix_bias, torch.cat([rows[:, :half], b], 1), w.unmix.T), y)

    @torch.no_grad()
    def initialise(self, x: Tensor) -> None:
        """Choose loc and scale so that ActNorm gives every channel of x mean 0 and standard deviation 1."""
        self.loc.copy_(-x.mean((0, 2, 3)))
        self.scale.copy_(1 / (x.std((0, 2, 3)) + 1e-6))


def fuse(steps: Sequence[Step], *, inverse: bool = False) -> list[StepWeights]:
    """The fused weights of all steps of a level, computed together because many small operations are slow.

    Args:
        inverse: also compute the inverse of the mixing.
    """
    side = steps[0].side
    matrix, log_det = matrices([step.mixing for step in steps])
    scale = torch.stack([step.scale for step in steps])
    mix = matrix * scale[:, None]  # scales the columns: ActNorm comes before the convolution
    mix_bias = (mix @ torch.stack([step.loc for step in steps])[:, :, None])[:, :, 0]
    unmix: Sequence[Tensor | None] = [None] * len(steps)
    unmix_bias: Sequence[Tensor | None] = [None] * len(steps)
    if inverse:
        # Invert in float64 the very matrix that encoding uses, so that decoding is its inverse up to rounding.
        inverses = mix.detach().double().inverse()
        unmix = list(inverses.to(mix.dtype))
        unmix_bias = list(-(inverses @ mix_bias.detach().double()[:, :, None])[:, :, 0].to(mix.dtype))
    log_det = side**2 * (log_det + scale.abs().log().sum(1))
    last, offset = scaled_zero_convs([step.last for step in steps], side, side)
    return [
        StepWeights(
            mix[n],
            mix_bias[n],
            unmix[n],
            unmix_bias[n],
            log_det[n],
            step.first,
            step.first_bias,
            step.middle,
            step.middle_bias,
            last[n],
            offset[n],
        )
        for n, step in enumerate(steps)
    ]


def _pixels(x: Tensor) -> Tensor:
    """The channels of every pixel, ``(B·h·w, c)``; a view of a picture that is channels-last."""
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])


def _picture(pixels: Tensor, like: Tensor) -> Tensor:
    """The pixels ``(B·h·w, c)`` as pictures with the height and width of ``like``, channels-last."""
    return pixels.view(len(like), *like.shape[2:], pixels.shape[1]).permute(0, 3, 1, 2)


def _coupling(a: Tensor, w: StepWeights) -> Tensor:
    h = F.conv2d(a, w.first, w.first_bias, padding=1).relu_()  # (B, hidden, h, w)
    h = torch.addmm(w.middle_bias, _pixels(h), w.middle.T).relu_()  # (B·h·w, hidden)
    return F.conv2d(_picture(h, a), w.last, padding=1).add_(w.last_offset)
