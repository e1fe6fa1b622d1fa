"""E of edited copies of people's pictures: where a person is when their picture is made again."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.base.threads import one_thread_each
from lassi.data.dataset import Images
from lassi.data.edits import Edit
from lassi.flow.glow import Glow


@dataclass(frozen=True, eq=False)
class Copier:
    """Encodes edited copies of pictures.

    Args:
        count: copies of each picture; a fixed edit makes just one.
        stream: of the edits' random numbers; each person has their own, by number.
    """

    flow: Glow
    edit: Edit
    count: int
    stream: Stream

    @torch.no_grad()
    def __call__(self, images: Images, numbers: Sequence[int]) -> Tensor:
        """The latents of copies of pictures ``(B, 3, H, W)``, on the host, ``(B, copies, q)``.

        All copies of one person are one batch on one thread, so their last bits depend on nobody else.
        """
        with one_thread_each():
            return torch.stack([self._of(image, number) for image, number in zip(images, numbers, strict=True)])

    def _of(self, image: Images, number: int) -> Tensor:
        copies = self.edit.copies(image, self.count, stream=self.stream.child(self.edit.name).at(number))
        x = self.flow.pixels.quantise(torch.from_numpy(copies)).to(next(self.flow.parameters()).device)
        return self.flow.encode(x).cpu()
