"""Glow: an exactly invertible map between pictures and latents. (Kingma and Dhariwal, NeurIPS 2018.)

Top to bottom: settings, a step, a level, the flow; the layers with weights of their own are in ``layers.py``. A step is
ActNorm, a 1×1 convolution and a coupling. ActNorm and the convolution are one affine map of a pixel's channels, and the
last convolution of the coupling absorbs its scale; :func:`fuse` joins them before anything touches a picture. Pictures
travel channels-last. Shapes: B pictures, c channels, h×w pixels at the level in hand.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.data.preprocess import LEVELS
from lassi.flow.layers import LUMixing, PlainMixing, ZeroConv, matrices, scaled_zero_convs
from lassi.flow.reversible import run_reversibly

if TYPE_CHECKING:
    ModuleList = list  # what it is to a reader
else:
    ModuleList = nn.ModuleList

AFFINE_SHIFT = 2.0  # the affine coupling multiplies by sigmoid(log s + 2), close to 1 at the start


@dataclass(frozen=True)
class GlowSettings:
    """The shape of a Glow.

    Args:
        size: side of the pictures.
        levels: how often the picture is squeezed; all but the last level give half of their channels away.
        flows: steps a level.
        hidden: channels inside the couplings' networks.
        channels: of the pictures.
        coupling: ``additive`` or ``affine``.
        mixing: the 1×1 convolution as ``lu`` factors or a ``plain`` matrix; one for all levels or one a level.
    """

    size: int = 32
    levels: int = 3
    flows: int = 8
    hidden: int = 64
    channels: int = 3
    coupling: str = "additive"
    mixing: str | tuple[str, ...] = "lu"

    def __post_init__(self) -> None:
        for name, most in (("size", 1024), ("levels", 10), ("flows", 1000), ("hidden", 10_000), ("channels", 1000)):
            if not 1 <= getattr(self, name) <= most:
                raise UserError(
                    f"A flow cannot have {name} = {getattr(self, name)}.", hint=f"Choose a number from 1 to {most:,}."
                )
        if self.size % 2**self.levels:
            raise UserError(
                f"Pictures of {self.size}×{self.size} cannot be squeezed {self.levels} times.",
                hint=f"Choose a size that {2**self.levels} divides, or fewer levels.",
            )
        if self.coupling not in ("additive", "affine"):
            raise UserError(f"There is no coupling '{self.coupling}'.", hint="Choose additive or affine.")
        if len(self.mixings) != self.levels or not set(self.mixings) <= {"lu", "plain"}:
            raise UserError(
                f"The mixing {self.mixing!r} does not suit {self.levels} levels.",
                hint="Choose lu or plain, for all levels or one for each.",
            )

    @property
    def mixings(self) -> tuple[str, ...]:
        return (self.mixing,) * self.levels if isinstance(self.mixing, str) else tuple(self.mixing)

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"mixing": list(self.mixings)}


class StepWeights(NamedTuple):
    """What a step does to a picture: mix the channels, then change half of them by what a network says of the rest."""

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
        """Move or convert the weights, and what follows from them."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self._frozen is not None:
            self.freeze()
        return self

    def _load_from_state_dict(self, *arguments: Any, **options: Any) -> None:
        """Other weights: what followed from the old ones is forgotten."""
        super()._load_from_state_dict(*arguments, **options)
        self._frozen = None

    def train(self, mode: bool = True) -> "Step":
        """Whoever trains wants gradients of the weights, so they are no longer frozen."""
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
        """The next picture ``(B, c, h, w)`` and log|det| ``(B,)``; w are the fused weights, if they are at hand."""
        w = w or self.weights()
        a, b = _picture(torch.addmm(w.mix_bias, _pixels(x), w.mix.T), x).chunk(2, 1)
        a = a.contiguous(memory_format=torch.channels_last)
        if not self.affine:
            return torch.cat([a, b + _coupling(a, w)], 1), w.log_det.expand(len(x))
        log_s, t = _coupling(a, w).chunk(2, 1)
        log_s = F.logsigmoid(log_s + AFFINE_SHIFT)
        return torch.cat([a, (b + t) * log_s.exp()], 1), w.log_det + log_s.sum((1, 2, 3))

    def inverse(self, y: Tensor) -> Tensor:
        """The picture that :meth:`forward` maps to y."""
        w = self.weights(inverse=True)
        a, b = y.chunk(2, 1)
        a = a.contiguous(memory_format=torch.channels_last)
        if not self.affine:
            b = b - _coupling(a, w)
        else:
            log_s, t = _coupling(a, w).chunk(2, 1)
            b = b / F.logsigmoid(log_s + AFFINE_SHIFT).exp() - t
        assert w.unmix is not None
        assert w.unmix_bias is not None
        return _picture(torch.addmm(w.unmix_bias, torch.cat([_pixels(a), _pixels(b)], 1), w.unmix.T), y)

    @torch.no_grad()
    def initialise(self, x: Tensor) -> None:
        """Choose loc and scale such that ActNorm gives every channel of x mean 0 and deviation 1."""
        self.loc.copy_(-x.mean((0, 2, 3)))
        self.scale.copy_(1 / (x.std((0, 2, 3)) + 1e-6))


def fuse(steps: Sequence[Step], *, inverse: bool = False) -> list[StepWeights]:
    """The fused weights of the steps of a level, all at once because many small operations take long.

    Args:
        inverse: also compute what undoes the mixing.
    """
    side = steps[0].side
    matrix, log_det = matrices([step.mixing for step in steps])
    scale = torch.stack([step.scale for step in steps])
    mix = matrix * scale[:, None]  # columns scaled: first ActNorm, then the convolution
    mix_bias = (mix @ torch.stack([step.loc for step in steps])[:, :, None])[:, :, 0]
    unmix: Sequence[Tensor | None] = [None] * len(steps)
    unmix_bias: Sequence[Tensor | None] = [None] * len(steps)
    if inverse:
        # In float64, of the matrix that the other way uses: so the two ways are inverse to rounding.
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


class Level(nn.Module):
    """Squeeze, steps, and a Gaussian prior of the latents; all but the last level split their channels in two.

    The first half of the channels goes on, the second is the level's latent, with a prior that the first half
    conditions. The last level's latent is everything, with a prior of its own.
    """

    def __init__(self, channels: int, side: int, settings: GlowSettings, mixing: str, splits: bool) -> None:
        super().__init__()
        affine, lu = settings.coupling == "affine", mixing == "lu"
        self.steps: Sequence[Step] = ModuleList(
            Step(4 * channels, side // 2, settings.hidden, affine, lu) for _ in range(settings.flows)
        )
        self.splits = splits
        seen = 2 * channels if splits else 4 * channels
        self.prior = ZeroConv(seen, 2 * seen)
        self.latent_shape = (seen, side // 2, side // 2)
        self.reversible = False

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What goes on ``(B, 2c, h/2, w/2)``, the latent, and log p + log|det| ``(B,)``, of x ``(B, c, h, w)``."""
        x, log_det = self.run_steps(squeeze(x))
        x, z = x.chunk(2, 1) if self.splits else (x, x)
        mean, log_sd = self.conditional(x)
        log_p = -0.5 * math.log(2 * math.pi) - log_sd - 0.5 * (z - mean) ** 2 * torch.exp(-2 * log_sd)
        return x, z, log_det + log_p.expand_as(z).sum((1, 2, 3))

    def run_steps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.reversible and torch.is_grad_enabled() and not self.steps[0].is_frozen:
            return run_reversibly(list(self.steps), x)
        log_det = x.new_zeros(len(x))
        frozen = self.steps[0].is_frozen
        for step, w in zip(self.steps, [None] * len(self.steps) if frozen else fuse(self.steps), strict=True):
            x, more = step(x, w)
            log_det = log_det + more
        return x, log_det

    def inverse(self, x: Tensor | None, z: Tensor) -> Tensor:
        """The picture ``(B, c, h, w)`` that the level maps to what goes on and the latent."""
        y = z if x is None else torch.cat([x, z], 1)
        y = y.contiguous(memory_format=torch.channels_last)
        for step in reversed(self.steps):
            y = step.inverse(y)
        return F.pixel_shuffle(y, 2)

    def conditional(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log standard deviation of the latent, given what goes on."""
        mean, log_sd = self.prior(x if self.splits else torch.zeros_like(x[:1])).chunk(2, 1)
        return mean, log_sd


class Glow(nn.Module):
    """The whole flow: ``encode`` pictures ``(B, C, H, W)`` in [−0.5, 0.5) to latents ``(B, q)``, ``decode`` them back.

    A latent is the levels' raw outputs, flattened, from the first split to the last.

    >>> glow = Glow(GlowSettings(size=8, levels=2, flows=2, hidden=4), stream=Stream(0, "flow"))
    >>> x = torch.rand(2, 3, 8, 8) - 0.5
    >>> torch.allclose(glow.decode(glow.encode(x)), x, atol=1e-5)
    True
    """

    initialised: Tensor
    fingerprint: str | None = None  # of the artefact that it was loaded from

    def __init__(self, settings: GlowSettings, *, stream: Stream) -> None:
        super().__init__()
        self.settings = settings
        with stream.global_torch():
            self.levels: Sequence[Level] = ModuleList(
                Level(
                    settings.channels * 2**level,
                    settings.size // 2**level,
                    settings,
                    settings.mixings[level],
                    splits=level < settings.levels - 1,
                )
                for level in range(settings.levels)
            )
        self.register_buffer("initialised", torch.tensor(False))

    def save(self, folder: Path) -> None:
        """Write the flow into a folder of its own."""
        from lassi.flow.store import save_glow

        save_glow(self, folder)

    @staticmethod
    def load(folder: Path) -> "Glow":
        """Read a flow, frozen; it never initialises itself again."""
        from lassi.flow.store import load_glow

        return load_glow(folder)

    def __repr__(self) -> str:
        s, count = self.settings, sum(parameter.numel() for parameter in self.parameters())
        shape = f"{s.size}×{s.size}×{s.channels}, {s.levels} levels × {s.flows} flows, {s.hidden} hidden channels"
        return f"Glow({shape}, {s.coupling}, {count:,} parameters)"

    @property
    def latent_dim(self) -> int:
        return self.settings.channels * self.settings.size**2

    @property
    def latent_shapes(self) -> list[tuple[int, int, int]]:
        """The shape of each level's part of a latent."""
        return [level.latent_shape for level in self.levels]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The latents ``(B, q)`` and log p(x) ``(B,)``."""
        latents, log_prob = [], x.new_zeros(len(x))
        for level in self.levels:
            x, z, more = level(x)
            latents.append(z.flatten(1))
            log_prob = log_prob + more
        return torch.cat(latents, 1), log_prob

    def encode(self, x: Tensor) -> Tensor:
        """z = E(x), ``(B, q)``."""
        return self(x)[0]

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x) ``(B,)``, by the change of variables."""
        return self(x)[1]

    def bits_per_dim(self, x: Tensor) -> Tensor:
        """Bits that a code of the 5-bit pictures would need for a pixel's channel, ``(B,)``; x is dequantised."""
        return math.log2(LEVELS) - self.log_prob(x) / (self.latent_dim * math.log(2))

    def decode(self, z: Tensor) -> Tensor:
        """x = D(z), ``(B, C, H, W)``; not clipped to the range of pictures."""
        parts = torch.split(z, [math.prod(shape) for shape in self.latent_shapes], 1)
        x: Tensor | None = None
        for level, part, shape in zip(
            reversed(self.levels), reversed(parts), reversed(self.latent_shapes), strict=True
        ):
            x = level.inverse(x, part.reshape(-1, *shape))
        assert x is not None
        return x

    @torch.no_grad()
    def sample(self, count: int, temperature: float = 0.7, *, stream: Stream) -> Tensor:
        """Pictures drawn from the flow, ``(count, C, H, W)``; a lower temperature gives tamer ones."""
        x: Tensor | None = None
        generator, like = stream.torch(), next(self.parameters())
        for level in reversed(self.levels):
            noise = torch.randn(count, *level.latent_shape, generator=generator).to(like)
            mean, log_sd = level.conditional(noise if x is None else x)
            x = level.inverse(x, mean + temperature * log_sd.exp() * noise)
        assert x is not None
        return x

    @torch.no_grad()
    def initialise(self, x: Tensor) -> None:
        """Set every ActNorm from a batch of dequantised pictures; once, before training."""
        assert not self.initialised, "a flow is initialised once"
        for level in self.levels:
            x = squeeze(x)
            for step in level.steps:
                step.initialise(x)
                x = step(x)[0]
            x = x.chunk(2, 1)[0]
        self.initialised.fill_(True)

    def freeze(self) -> "Glow":
        """Fix the weights and compute once all that follows from them: fused weights and inverses."""
        self.requires_grad_(False).eval()
        for module in self.modules():
            if isinstance(module, Step):
                module.freeze()
        return self

    def save_memory(self, wanted: bool = True) -> "Glow":
        """Train by recomputing activations from outputs: memory does not grow with the number of flows."""
        for level in self.levels:
            level.reversible = wanted
        return self


def squeeze(x: Tensor) -> Tensor:
    """``(B, c, h, w)`` to ``(B, 4c, h/2, w/2)``: channel slowest, then the row's parity, then the column's."""
    return F.pixel_unshuffle(x, 2).contiguous(memory_format=torch.channels_last)


def _pixels(x: Tensor) -> Tensor:
    """The channels of every pixel, ``(B·h·w, c)``; a view of a picture that is channels-last."""
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])


def _picture(pixels: Tensor, like: Tensor) -> Tensor:
    """The pixels ``(B·h·w, c)`` as pictures of the same height and width as ``like``, channels-last."""
    return pixels.view(len(like), *like.shape[2:], pixels.shape[1]).permute(0, 3, 1, 2)


def _coupling(a: Tensor, w: StepWeights) -> Tensor:
    h = F.conv2d(a, w.first, w.first_bias, padding=1).relu_()  # (B, hidden, h, w)
    h = torch.addmm(w.middle_bias, _pixels(h), w.middle.T).relu_()  # (B·h·w, hidden)
    return F.conv2d(_picture(h, a), w.last, padding=1) + w.last_offset
