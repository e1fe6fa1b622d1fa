"""Between pictures of 8 bits and what a flow sees: 5 bits, in [−0.5, 0.5)."""

import torch
from torch import Tensor

from lassi.base.streams import Stream

LEVELS = 32  # 5 bits


def quantise(images: Tensor) -> Tensor:
    r"""What a flow encodes: :math:`\lfloor v / 8 \rfloor / 32 - 0.5`, in {−0.5, …, 0.46875}.

    Args:
        images: uint8, any shape.
    Returns:
        float32, the same shape.

    >>> quantise(torch.tensor([0, 7, 8, 255], dtype=torch.uint8)).tolist()
    [-0.5, -0.5, -0.46875, 0.46875]
    """
    assert images.dtype == torch.uint8, f"pictures are uint8, not {images.dtype}"
    return images.div(256 // LEVELS, rounding_mode="floor").float() / LEVELS - 0.5


def dequantise(x: Tensor, *, stream: Stream) -> Tensor:
    """Quantised pictures with uniform noise of one level, so that a density can be fitted to them.

    The noise has 65,536 steps, few enough that the sum is exact in float32 and never leaves its level.
    """
    steps = 2**16
    noise = torch.randint(steps, x.shape, generator=stream.torch()).to(x.device, x.dtype)
    return x + (noise + 0.5) / (steps * LEVELS)


def flip(x: Tensor, *, stream: Stream) -> Tensor:
    """Each picture of ``(B, C, H, W)`` mirrored left to right with probability ½."""
    mirrored = torch.rand(len(x), generator=stream.torch()).to(x.device) < 0.5
    return torch.where(mirrored[:, None, None, None], x.flip(-1), x)


def outside_range(x: Tensor) -> Tensor:
    """Which values of decoded pictures no picture of the data has, and are cut off where they are shown; bool.

    >>> outside_range(torch.tensor([-0.6, -0.5, 0.0, 0.499, 0.5])).tolist()
    [True, False, False, False, True]
    """
    rounding = 1e-6
    return (x < -0.5 - rounding) | (x >= 0.5)


def to_uint8(x: Tensor) -> Tensor:
    """Pictures to look at, from what a flow decodes; values outside the valid range are clipped.

    >>> to_uint8(torch.tensor([-0.6, -0.5, 0.0, 0.46875, 0.7])).tolist()
    [0, 0, 128, 248, 255]
    """
    return ((x + 0.5) * 256).clamp(0, 255).to(torch.uint8)
