"""Glow: an exactly invertible map between pictures and latents. (Kingma and Dhariwal, NeurIPS 2018.)

This file has, from top to bottom, the settings, a level and the flow; ``step.py`` has the step that a level repeats,
``layers.py`` the layers of a step. Shapes: B pictures, c channels, h×w pixels at the current level.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lassi.base.errors import UserError
from lassi.base.ranges import Either, OneOf, Several, Whole, refuse_unfit
from lassi.base.streams import Stream
from lassi.base.threads import one_thread_each
from lassi.data.preprocess import AS_PUBLISHED, Pixels
from lassi.flow.layers import ZeroConv
from lassi.flow.reversible import run_reversibly
from lassi.flow.step import Step, fuse

if TYPE_CHECKING:
    ModuleList = list  # so that the type checker knows the type of its items
else:
    ModuleList = nn.ModuleList

MOST_LEVELS = 10
Levels = Annotated[int, Whole(1, MOST_LEVELS)]
Flows = Annotated[int, Whole(1, 1000)]
Hidden = Annotated[int, Whole(1, 10_000)]
Coupling = Annotated[str, OneOf("additive", "affine")]
MIXING = OneOf("lu", "plain")


@dataclass(frozen=True)
class GlowSettings:
    """The shape of a Glow.

    Args:
        size: height and width of the pictures.
        levels: how often the picture is squeezed; all levels but the last output half of their channels as latents.
        flows: steps per level.
        hidden: channels inside the couplings' networks.
        channels: channels of the pictures.
        coupling: ``additive`` or ``affine``.
        mixing: the 1×1 convolution, as ``lu`` factors or a ``plain`` matrix; one for all levels, or one per level.
        pixels: what it sees of 8-bit pictures, and the noise of its training.
    """

    size: Annotated[int, Whole(1, 1024)] = 32
    levels: Levels = 3
    flows: Flows = 8
    hidden: Hidden = 64
    channels: Annotated[int, Whole(1, 1000)] = 3
    coupling: Coupling = "additive"
    mixing: Annotated[str | tuple[str, ...], Either(MIXING, Several(MIXING, 1, MOST_LEVELS))] = "lu"
    pixels: Pixels = AS_PUBLISHED

    def __post_init__(self) -> None:
        refuse_unfit(self)
        if self.size % 2**self.levels:
            raise UserError(
                f"Pictures of {self.size}×{self.size} cannot be squeezed {self.levels} times.",
                hint=f"Choose a multiple of {2**self.levels} as the size, or fewer levels.",
            )
        if len(self.mixings) != self.levels:
            raise UserError(
                f"The mixing {self.mixing!r} does not fit {self.levels} levels.",
                hint="Choose lu or plain, once for all levels or once per level.",
            )

    @property
    def mixings(self) -> tuple[str, ...]:
        return (self.mixing,) * self.levels if isinstance(self.mixing, str) else tuple(self.mixing)

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"mixing": list(self.mixings)}

    @staticmethod
    def from_json(settings: Mapping[str, Any]) -> "GlowSettings":
        own = {"mixing": tuple(settings["mixing"]), "pixels": Pixels(**settings["pixels"])}
        return GlowSettings(**{**settings, **own})


class Level(nn.Module):
    """Squeeze, steps, and a Gaussian prior of the latents; all levels but the last split their channels in two.

    The first half of the channels is passed on. The second half is the level's latent, whose prior is conditioned on
    the first half. The last level's latent is all of its channels, with an unconditional prior.
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
        """What is passed on ``(B, 2c, h/2, w/2)``, the latent, and log p + log|det| ``(B,)``, of x ``(B, c, h, w)``."""
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
        """The input ``(B, c, h, w)`` that the level maps to x, which it passes on, and the latent z."""
        y = z if x is None else torch.cat([x, z], 1)
        y = y.contiguous(memory_format=torch.channels_last)
        for step in reversed(self.steps):
            y = step.inverse(y)
        return F.pixel_shuffle(y, 2)

    def conditional(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log standard deviation of the latent, given what is passed on."""
        mean, log_sd = self.prior(x if self.splits else torch.zeros_like(x[:1])).chunk(2, 1)
        return mean, log_sd


class Glow(nn.Module):
    """The flow: ``encode`` maps pictures ``(B, C, H, W)`` in [−0.5, 0.5) to latents ``(B, q)``, ``decode`` maps back.

    What it encodes is ``pixels.quantise`` of 8-bit pictures, without noise. A latent is the raw outputs of the levels,
    flattened, from the first level to the last.

    >>> glow = Glow(GlowSettings(size=8, levels=2, flows=2, hidden=4), stream=Stream(0, "flow"))
    >>> x = torch.rand(2, 3, 8, 8) - 0.5
    >>> torch.allclose(glow.decode(glow.encode(x)), x, atol=1e-5)
    True
    """

    initialised: Tensor
    fingerprint: str | None = None  # of the artefact it was loaded from

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
        """Write the flow to its own folder."""
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
        return f"Glow({shape}, {s.coupling}, {s.pixels}, {count:,} parameters)"

    @property
    def pixels(self) -> Pixels:
        """What the flow sees of 8-bit pictures."""
        return self.settings.pixels

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
        """Bits per dimension of pictures with the noise of the training, ``(B,)``, at the resolution of its bits.

        With uniform noise within a level, an upper bound on the bits that store the quantised picture. Gaussian noise
        has a density of its own, so figures of flows with different noise cannot be compared.
        """
        return self.pixels.bits - self.log_prob(x) / (self.latent_dim * math.log(2))

    def decode(self, z: Tensor) -> Tensor:
        """x = D(z), ``(B, C, H, W)``; not clipped to the valid range."""
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
        """Sample pictures from the flow, ``(count, C, H, W)``; a lower temperature gives more typical ones."""
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
        """Initialise every ActNorm from a batch of noisy pictures; call it once, before training."""
        assert not self.initialised, "a flow is initialised only once"
        for level in self.levels:
            x = squeeze(x)
            for step in level.steps:
                step.initialise(x)
                x = step(x)[0]
            x = x.chunk(2, 1)[0]
        self.initialised.fill_(True)

    def freeze(self) -> "Glow":
        """Fix the weights, and precompute what depends on them: fused weights and inverses."""
        self.requires_grad_(False).eval()
        with one_thread_each():  # the last bits of an inverse depend on the number of threads
            for module in self.modules():
                if isinstance(module, Step):
                    module.freeze()
        return self

    def save_memory(self, wanted: bool = True) -> "Glow":
        """Recompute activations from outputs during training, so that memory does not grow with the number of flows."""
        for level in self.levels:
            level.reversible = wanted
        return self


def squeeze(x: Tensor) -> Tensor:
    """``(B, c, h, w)`` to ``(B, 4c, h/2, w/2)``: by channel, then by the row's parity, then by the column's."""
    return F.pixel_unshuffle(x, 2).contiguous(memory_format=torch.channels_last)
