"""z = E(x) of each picture by itself: the same bits, whoever else is encoded and however many threads there are."""

from collections.abc import Callable

import torch
from torch import Tensor

from lassi.base.threads import one_thread_each
from lassi.base.workers import cores, map_chunks
from lassi.flow.glow import Glow
from lassi.flow.protocol import Flow

CHUNK = 8  # pictures per worker at a time
BATCH = 256  # pictures on an accelerator at a time


def encode_each(flow: Flow, x: Tensor) -> Tensor:
    """The latents ``(B, q)`` of pictures ``(B, …)``."""
    return _each(lambda part: (flow.encode(part),), x)[0]


def encode_with_density(glow: Glow, x: Tensor) -> tuple[Tensor, Tensor]:
    """The latents ``(B, q)`` of pictures, and log p(x) ``(B,)``, from one pass; without noise, as they are encoded."""
    z, log_prob = _each(glow, x)
    return z, log_prob


def _each(measure: Callable[[Tensor], tuple[Tensor, ...]], x: Tensor) -> tuple[Tensor, ...]:
    """What is measured of each picture.

    The last bits of a convolution depend on the size of its batch and on the number of threads. So every picture is
    encoded alone and on one thread; several workers keep the cores busy. An accelerator would idle with single
    pictures: there they are encoded in batches, and the last bits depend on the device.
    """
    if x.device.type != "cpu":
        with torch.no_grad():
            return _joined([measure(part) for part in torch.split(x, BATCH)])

    def measured(rows: range) -> tuple[Tensor, ...]:
        with torch.no_grad():
            return _joined([measure(x[row : row + 1]) for row in rows])

    with one_thread_each():
        return _joined(list(map_chunks(measured, len(x), chunk=CHUNK, workers=min(cores(), len(x)))))


def _joined(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(torch.cat(values) for values in zip(*parts, strict=True))
