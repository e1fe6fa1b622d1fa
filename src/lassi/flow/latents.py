"""Latents on disk: z = E(x) of many people, encoded once and mapped into memory."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lassi.base.artefact import Artefact
from lassi.base.compute import Compute
from lassi.base.draft import Draft
from lassi.base.errors import UserError
from lassi.base.files import cache_folder
from lassi.base.identity import Identity, array_hash
from lassi.base.progress import SILENT, Progress
from lassi.base.sealed import Damaged
from lassi.base.stage import load, make
from lassi.base.streams import Stream
from lassi.base.workers import map_chunks
from lassi.data.dataset import Dataset, Images, Integers

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 3
LATENTS, LOG_PROB, PEOPLE = "z.npy", "log_prob.npy", "people.npy"

Encode = Callable[[Images], tuple[NDArray[np.float32], NDArray[np.float32]]]


@dataclass(frozen=True)
class Latents:
    """The latents ``z (people, q)``, float32, of some people of a dataset, and what they were made of.

    Args:
        log_prob: log p(x) of their pictures, ``(people,)``, as they are encoded, without noise.
    """

    dataset: Dataset
    people: Integers
    z: NDArray[np.float32]
    log_prob: NDArray[np.float32]
    artefact: Artefact

    def labels_of(self, attribute: str) -> Integers:
        """The labels of an attribute, ``(people,)``."""
        return self.dataset.labels(attribute, self.people)

    def labelled(self, attribute: str) -> "Labelled":
        """The latents with the labels of an attribute."""
        return Labelled(self.z, self.labels_of(attribute))


@dataclass(frozen=True)
class Labelled:
    """Latents ``(people, q)``, a memory map or in memory, and a label for each of their people ``(people,)``.

    Args:
        copies: latents of copies of their pictures that look the same, ``(people, copies, q)``, if there are any.
    """

    z: NDArray[np.float32]
    labels: Integers
    copies: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        assert len(self.z) == len(self.labels), "everybody has a latent and a label"
        assert self.copies is None or len(self.z) == len(self.copies), "everybody has copies, or nobody"

    def redrawn(self, rows: Integers, *, like: "Tensor", stream: Stream) -> "Tensor":
        """For each of some people the latent of their picture or of one of its copies, each equally likely."""
        import torch

        assert self.copies is not None, "there are copies"
        drawn = stream.numpy().integers(0, self.copies.shape[1] + 1, len(rows))
        z = np.array(self.z[rows])
        is_copy = drawn > 0
        z[is_copy] = self.copies[rows[is_copy], drawn[is_copy] - 1]
        return torch.from_numpy(z).to(like)

    def tensors(self, rows: Integers, *, like: "Tensor") -> "tuple[Tensor, Tensor]":
        """Some people's latents and labels, in memory; type and place of the latents as ``like``."""
        import torch

        z = torch.from_numpy(np.array(self.z[rows])).to(like)
        return z, torch.from_numpy(self.labels[rows]).to(like.device)


@dataclass(frozen=True, eq=False)
class Encoder:
    """What turns pictures into latents.

    Args:
        encode: pictures ``(B, 3, H, W)`` of uint8 to latents ``(B, latent_dim)`` and log p(x) ``(B,)``.
        flow: the content of the flow behind it.
        latent_dim: q.
    """

    encode: Encode
    flow: str
    latent_dim: int


@dataclass(frozen=True, eq=False)
class LatentsStage:
    """The latents of some people, encoded once and kept.

    Args:
        folder: where to keep them; in the cache unless given.
        chunk: pictures encoded at a time.
    """

    dataset: Dataset
    people: Integers
    encoder: Encoder
    place: Path | None = None
    chunk: int = 256

    @cached_property
    def identity(self) -> Identity:
        settings = {"people": array_hash(self.people), "count": len(self.people)}
        return Identity("latents", VERSION, settings, {"data": self.dataset.fingerprint, "flow": self.encoder.flow})

    @property
    def folder(self) -> Path:
        return self.place or cache_folder() / "latents" / self.identity.fingerprint[:32]

    def write(self, draft: Draft, compute: Compute) -> None:
        people, shape = self.people, (len(self.people), self.encoder.latent_dim)

        def encode(rows: range) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            some = people[rows.start : rows.stop]
            z, log_prob = self.encoder.encode(self.dataset.images(some))
            return finite(z, self.dataset, some), log_prob

        self.dataset.prepare(compute.progress)
        encoded = map_chunks(
            encode,
            len(people),
            chunk=self.chunk,
            what=f"encoding {self.dataset.name}",
            unit="pictures",
            progress=compute.progress,
        )
        with draft.write_rows(PEOPLE, people.shape, np.int64) as numbers:
            numbers.append(people)
        found = []
        with draft.write_rows(LATENTS, shape, np.float32) as kept, closing(encoded) as chunks:
            for z, log_prob in chunks:
                kept.append(z)
                found.append(log_prob)
        with draft.write_rows(LOG_PROB, people.shape, np.float32) as kept:
            kept.append(np.concatenate(found))

    def make(self, compute: Compute | None = None) -> Latents:
        """Encode them, unless they are there already."""
        compute = compute or Compute()
        return self._latents(make(self, compute), compute.progress)

    def load(self, *, progress: Progress = SILENT) -> Latents:
        """The latents that were encoded before."""
        return self._latents(load(self), progress)

    def _latents(self, artefact: Artefact, progress: Progress) -> Latents:
        if not np.array_equal(artefact.rows(PEOPLE), self.people):
            raise Damaged(
                f"The latents in '{self.folder}' are of other people.", hint="Delete the folder and make them again."
            )
        z = artefact.rows(LATENTS, progress=progress)
        log_prob = artefact.rows(LOG_PROB)
        is_whole = z.shape == (len(self.people), self.encoder.latent_dim) and log_prob.shape == self.people.shape
        if not is_whole or z.dtype != np.float32 or log_prob.dtype != np.float32:
            raise Damaged(
                f"The latents in '{self.folder}' have the wrong shape.", hint="Delete the folder and make them again."
            )
        return Latents(self.dataset, self.people, z, log_prob, artefact)


def finite(z: NDArray[np.float32], dataset: Dataset, people: Integers) -> NDArray[np.float32]:
    """The latents themselves; one that is not finite would make every certificate meaningless."""
    wrong = np.flatnonzero(~np.isfinite(z).all(1))
    if len(wrong):
        raise UserError(
            f"The latent of {dataset.describe(int(people[wrong[0]]))} is not finite.",
            hint="The flow is broken: check it with `lassi flow check`, or train it again.",
        )
    return z
