"""The latent cache: z = E(x) of many people, computed once, on disk, mapped into memory."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lassi.base.artefact import Artefact, Identity, array_hash, find_artefact, new_artefact
from lassi.base.engine import map_chunks
from lassi.base.errors import UserError
from lassi.base.files import cache_folder
from lassi.base.progress import SILENT, Progress
from lassi.data.dataset import Dataset, Images, Integers

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 1
LATENTS = "z.npy"

Encode = Callable[[Images], NDArray[np.float32]]


@dataclass(frozen=True)
class Latents:
    """The latents ``z (people, q)``, float32, of some people of a dataset, and what they were made of."""

    dataset: Dataset
    people: Integers
    z: NDArray[np.float32]
    artefact: Artefact

    def labelled(self, attribute: str) -> "Labelled":
        """The latents with the labels of an attribute."""
        return Labelled(self.z, self.dataset.labels(attribute, self.people))


@dataclass(frozen=True)
class Labelled:
    """Latents ``(people, q)``, a memory map or in memory, and a label for each of their people ``(people,)``."""

    z: NDArray[np.float32]
    labels: Integers

    def __post_init__(self) -> None:
        assert len(self.z) == len(self.labels), "everybody has a latent and a label"

    def tensors(self, rows: Integers, *, like: "Tensor") -> "tuple[Tensor, Tensor]":
        """Some people's latents and labels, in memory; type and place of the latents as ``like``."""
        import torch

        z = torch.from_numpy(np.array(self.z[rows])).to(like)
        return z, torch.from_numpy(self.labels[rows]).to(like.device)


def latents(
    dataset: Dataset,
    people: Integers,
    encode: Encode,
    *,
    flow: str,
    latent_dim: int,
    chunk: int = 256,
    folder: Path | None = None,
    progress: Progress = SILENT,
) -> Latents:
    """The latents of some people, from the cache if they are there, else encoded and kept.

    Args:
        encode: pictures ``(B, 3, H, W)`` of uint8 to latents ``(B, latent_dim)``.
        flow: the fingerprint of what encodes.
        folder: where to keep them; in the cache unless told otherwise.
    """
    identity = Identity(
        "latents",
        VERSION,
        {"people": array_hash(people), "count": len(people)},
        {"data": dataset.identify(progress), "flow": flow},
    )
    folder = folder or cache_folder() / "latents" / identity.fingerprint[:32]
    artefact = find_artefact(folder, identity)
    if artefact is None:
        shape = (len(people), latent_dim)

        def encode_some(rows: range) -> NDArray[np.float32]:
            some = people[rows.start : rows.stop]
            return _finite(encode(dataset.images(some)), dataset, some)

        what = f"encoding {dataset.name}"
        with (
            new_artefact(folder, identity) as draft,
            draft.write_rows(LATENTS, shape, np.float32) as kept,
            closing(
                map_chunks(encode_some, len(people), chunk=chunk, what=what, unit="pictures", progress=progress)
            ) as encoded,
        ):
            for z in encoded:
                kept.append(z)
        artefact = Artefact(folder)
    return Latents(dataset, people, artefact.rows(LATENTS), artefact)


def _finite(z: NDArray[np.float32], dataset: Dataset, people: Integers) -> NDArray[np.float32]:
    """The latents themselves; one that is not finite would make every certificate meaningless."""
    wrong = np.flatnonzero(~np.isfinite(z).all(1))
    if len(wrong):
        raise UserError(
            f"The latent of {dataset.describe(int(people[wrong[0]]))} is not finite.",
            hint="The flow is broken: check it with `lassi flow check`, or train it again.",
        )
    return z
