"""E of edited copies of people's pictures: where a person is when their picture is made again."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.compute import Compute
from lassi.base.draft import Draft
from lassi.base.identity import Identity, array_hash
from lassi.base.sealed import Damaged
from lassi.base.streams import Stream
from lassi.base.threads import one_thread_each
from lassi.base.workers import cores, map_chunks
from lassi.data.dataset import Dataset, Images, Integers
from lassi.data.edits import Edit, edit_named
from lassi.flow.glow import Glow
from lassi.flow.latents import LATENTS, PEOPLE, finite

STAGE, VERSION = "copies", 1
CHUNK = 4  # people at a time


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

    @staticmethod
    def under(flow: Glow, edit: str, count: int, seed: int) -> "Copier":
        """What encodes copies for certificates under an edit, the same wherever a person is certified."""
        return Copier(flow, edit_named(edit), count, Stream(seed, "under"))

    @torch.no_grad()
    def __call__(self, images: Images, numbers: Sequence[int]) -> Tensor:
        """The latents of copies of pictures ``(B, 3, H, W)``, on the host, ``(B, copies, q)``.

        All copies of one person are one batch on one thread, so their last bits depend on nobody else.
        """
        with one_thread_each():
            return torch.stack([self._of(image, number) for image, number in zip(images, numbers, strict=True)])

    def pictures(self, image: Images, number: int) -> Images:
        """The copies themselves, of one person's picture ``(3, H, W)``."""
        return self.edit.copies(image, self.count, stream=self.stream.child(self.edit.name).at(number))

    def _of(self, image: Images, number: int) -> Tensor:
        copies = torch.from_numpy(self.pictures(image, number))
        x = self.flow.pixels.quantise(copies).to(next(self.flow.parameters()).device)
        return self.flow.encode(x).cpu()


class KnownCopies:
    """The latents of copies that several models are certified with, so that each is encoded once.

    Args:
        most: the most numbers that are kept in memory; what comes after them is encoded whenever it is needed.
    """

    def __init__(self, *, most: int) -> None:
        self._known: dict[tuple[str, int, int, int], Tensor] = {}
        self._left, self._lock = most, Lock()

    def of(self, copier: Copier, image: Callable[[], Images], number: int) -> Tensor:
        """The latents of copies of one person's picture ``(3, H, W)``, ``(copies, q)``."""
        key = (copier.edit.name, copier.count, copier.stream.seed, number)
        if (found := self._known.get(key)) is not None:
            return found
        z = copier(image()[None], [number])[0]
        with self._lock:
            if key not in self._known and z.numel() <= self._left:
                self._known[key] = z
                self._left -= z.numel()
        return z


@dataclass(frozen=True, eq=False)
class CopiesStage:
    """The latents of copies of some people's pictures, encoded once and kept.

    Args:
        parents: the content of the flow, and the fingerprint of the data.
    """

    folder: Path
    dataset: Dataset
    people: Integers
    copier: Copier
    parents: dict[str, str]

    @cached_property
    def identity(self) -> Identity:
        edit = self.copier.edit
        settings = {"edit": edit.name, "version": edit.version, "copies": self.count, "people": array_hash(self.people)}
        return Identity(STAGE, VERSION, settings, self.parents, self.copier.stream.seed)

    @property
    def count(self) -> int:
        """Copies per person."""
        return self.copier.count if self.copier.edit.is_random else 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the latents."""
        return len(self.people), self.count, self.copier.flow.latent_dim

    def write(self, draft: Draft, compute: Compute) -> None:
        people, copier = self.people, self.copier

        def encode(rows: range) -> NDArray[np.float32]:
            some = people[rows.start : rows.stop]
            z: NDArray[np.float32] = copier(self.dataset.images(some), some.tolist()).numpy()
            finite(z.reshape(len(some), -1), self.dataset, some)
            return z

        self.dataset.prepare(compute.progress)
        encoded = map_chunks(
            encode,
            len(people),
            chunk=CHUNK,
            workers=cores(),
            what=f"encoding copies: {copier.edit.title}",
            unit="people",
            progress=compute.progress,
        )
        with draft.write_rows(PEOPLE, people.shape, np.int64) as numbers:
            numbers.append(people)
        with draft.write_rows(LATENTS, self.shape, np.float32) as kept, closing(encoded) as parts:
            for z in parts:
                kept.append(z)


def load_copies(artefact: Artefact, stage: CopiesStage) -> NDArray[np.float32]:
    """The latents of copies, ``(people, copies, q)``, a memory map."""
    z = artefact.rows(LATENTS)
    if z.shape != stage.shape or z.dtype != np.float32 or not np.array_equal(artefact.rows(PEOPLE), stage.people):
        raise Damaged(
            f"The copies in '{artefact.folder}' are of other people, or have the wrong shape.",
            hint="Delete the folder and make them again.",
        )
    return z
