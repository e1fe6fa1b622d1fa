"""Converting between 8-bit pictures and a flow's input: 5 bits, in [−0.5, 0.5)."""

import torch
from torch import Tensor

from lassi.base.errors import UserError
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


def flow_input(images: Tensor) -> Tensor:
    """What a flow encodes, from uint8 pictures or from float ones that are quantised already; others are refused.

    >>> flow_input(torch.tensor([[-0.5, 0.46875]])).tolist()
    [[-0.5, 0.46875]]
    """
    if images.dtype == torch.uint8:
        return quantise(images)
    steps = (images + 0.5) * LEVELS
    is_level = (steps == steps.round()) & (steps >= 0) & (steps < LEVELS)
    if not images.is_floating_point() or not is_level.all():
        raise UserError(
            f"The pictures hold {images.dtype} from {images.min().item():.3g} to {images.max().item():.3g}, but the "
            "flow was trained on floor(v / 8) / 32 - 0.5 of 8-bit values v.",
            hint="Give 8-bit pictures as uint8; they are converted for you.",
        )
    return images.float()


def dequantise(x: Tensor, *, stream: Stream) -> Tensor:
    """Add uniform noise of one level to quantised pictures, so that a density can be fitted to them.

    The noise has 65,536 steps: few enough for the sum to be exact in float32 and to stay within its level.
    """
    steps = 2**16
    noise = torch.randint(steps, x.shape, generator=stream.torch()).to(x.device, x.dtype)
    return x + (noise + 0.5) / (steps * LEVELS)


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
    """Viewable pictures from a flow's output; values outside the valid range are clipped.

    >>> to_uint8(torch.tensor([-0.6, -0.5, 0.0, 0.46875, 0.7])).tolist()
    [0, 0, 128, 248, 255]
    """
    return ((x + 0.5) * 256).clamp(0, 255).to(torch.uint8)
