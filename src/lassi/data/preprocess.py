"""Converting between 8-bit pictures and a flow's input, in [−0.5, 0.5)."""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.ranges import Either, Number, OneOf, Whole, refuse_unfit
from lassi.base.streams import Stream

LEVEL = "level"
Bits = Annotated[int, Whole(1, 8)]
Noise = Annotated[float | str, Either(Number(0.001, 0.5), OneOf(LEVEL))]


@dataclass(frozen=True)
class Pixels:
    """What a flow sees of 8-bit pictures, and the noise that is added while it is trained.

    A flow explains whatever is below the noise of its training by latents of unit variance, so it encodes two pictures
    that differ by less far apart. With noise well above one grey level, invisible changes hardly move a latent.

    Args:
        bits: of each value that are kept. The paper keeps 5.
        noise: ``level``, uniform within a level of these bits, as in the paper; or the standard deviation of Gaussian
            noise, where 1 is the range from black to white. None is added when pictures are encoded.
    """

    bits: Bits = 5
    noise: Noise = LEVEL

    def __post_init__(self) -> None:
        refuse_unfit(self, "flow.train")

    @property
    def levels(self) -> int:
        """How many values a pixel can have."""
        return 1 << self.bits

    def quantise(self, images: Tensor) -> Tensor:
        r"""What is encoded: :math:`\lfloor v / 2^{8 - b} \rfloor / 2^b - 0.5` for b bits, in [−0.5, 0.5).

        Args:
            images: uint8, any shape.
        Returns:
            float32, the same shape.

        >>> Pixels(bits=5).quantise(torch.tensor([0, 7, 8, 255], dtype=torch.uint8)).tolist()
        [-0.5, -0.5, -0.46875, 0.46875]
        >>> Pixels(bits=8).quantise(torch.tensor([0, 1, 255], dtype=torch.uint8)).tolist()
        [-0.5, -0.49609375, 0.49609375]
        """
        assert images.dtype == torch.uint8, f"pictures are uint8, not {images.dtype}"
        return images.div(256 // self.levels, rounding_mode="floor").float() / self.levels - 0.5

    def flow_input(self, images: Tensor) -> Tensor:
        """What is encoded, from uint8 pictures or from float ones that are quantised already; others are refused.

        >>> Pixels().flow_input(torch.tensor([[-0.5, 0.46875]])).tolist()
        [[-0.5, 0.46875]]
        """
        if images.dtype == torch.uint8:
            return self.quantise(images)
        steps = (images + 0.5) * self.levels
        is_level = (steps == steps.round()) & (steps >= 0) & (steps < self.levels)
        if not images.is_floating_point() or not is_level.all():
            raise UserError(
                f"The pictures hold {images.dtype} from {images.min().item():.3g} to {images.max().item():.3g}, but "
                f"the flow was trained on floor(v / {256 // self.levels}) / {self.levels} - 0.5 of 8-bit values v.",
                hint="Give 8-bit pictures as uint8; they are converted for you.",
            )
        return images.float()

    def noisy(self, x: Tensor, *, stream: Stream) -> Tensor:
        """Quantised pictures with the noise of the training, so that a density can be fitted to them."""
        if not isinstance(self.noise, str):
            return x + self.noise * torch.randn(x.shape, generator=stream.torch()).to(x)
        steps = 1 << (21 - self.bits)  # few enough for the sum to be exact in float32 and to stay within its level
        noise = torch.randint(steps, x.shape, generator=stream.torch()).to(x.device, x.dtype)
        return x + (noise + 0.5) / (steps * self.levels)

    def __str__(self) -> str:
        """In words.

        >>> str(Pixels()), str(Pixels(bits=8, noise=0.05))
        ('5 bits', '8 bits, noise 0.05')
        """
        return f"{self.bits} bits" if isinstance(self.noise, str) else f"{self.bits} bits, noise {self.noise:g}"


AS_PUBLISHED = Pixels()  # as in the paper: what flows with published weights see


def flip(x: Tensor, *, stream: Stream) -> Tensor:
    """Each picture of ``(B, C, H, W)`` mirrored left to right with probability ½."""
    mirrored = torch.rand(len(x), generator=stream.torch()).to(x.device) < 0.5
    return torch.where(mirrored[:, None, None, None], x.flip(-1), x)


def outside_range(x: Tensor) -> Tensor:
    """Which values of decoded pictures are outside the range of real pictures and are clipped for display; bool.

    >>> outside_range(torch.tensor([-0.6, -0.5, 0.0, 0.499, 0.5])).tolist()
    [True, False, False, False, True]
    """
    rounding = 1e-6
    return (x < -0.5 - rounding) | (x >= 0.5)


def to_uint8(x: Tensor) -> Tensor:
    """Viewable pictures from a flow's output: the nearest grey levels; values outside the valid range are clipped.

    >>> to_uint8(torch.tensor([-0.6, -0.5, 0.0, 0.46875, 0.7])).tolist()
    [0, 0, 128, 248, 255]
    """
    return ((x + 0.5) * 256).round().clamp(0, 255).to(torch.uint8)
