"""z = E(x) of each picture by itself: the same bits, whoever else is encoded and however many threads there are."""

import torch
from torch import Tensor

from lassi.base.threads import one_thread_each
from lassi.base.workers import cores, map_chunks
from lassi.flow.protocol import Flow

CHUNK = 8  # pictures per worker at a time
BATCH = 256  # pictures on an accelerator at a time


def encode_each(flow: Flow, x: Tensor) -> Tensor:
    """The latents ``(B, q)`` of pictures ``(B, …)``.

    The last bits of a convolution depend on the size of its batch and on the number of threads. So every picture is
    encoded alone and on one thread; several workers keep the cores busy. An accelerator would idle with single
    pictures: there they are encoded in batches, and the last bits depend on the device.
    """
    if x.device.type != "cpu":
        with torch.no_grad():
            return torch.cat([flow.encode(part) for part in torch.split(x, BATCH)])

    def encode(rows: range) -> Tensor:
        with torch.no_grad():
            return torch.cat([flow.encode(x[row : row + 1]) for row in rows])

    with one_thread_each():
        return torch.cat(list(map_chunks(encode, len(x), chunk=CHUNK, workers=min(cores(), len(x)))))
