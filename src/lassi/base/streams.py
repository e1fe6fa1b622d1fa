"""Random numbers by name.

A stream is named by (seed, purpose, index) and its numbers depend on that name alone. So a person's
result depends on neither the batch, the order nor the number of workers, and two purposes never share
numbers. A :class:`Stream` is a value, not a state: asked twice for its generator it begins anew, so
whatever needs two sets of numbers names two purposes with :meth:`Stream.child`.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Stream:
    """The name of a sequence of random numbers.

    Args:
        seed: the seed of the whole run.
        purpose: what the numbers are for, such as ``"certify/centre"``.
        index: whom they are for: a person, a step, an epoch.

    >>> noise = Stream(42, "noise")
    >>> bool((noise.at(7).numpy().random(3) == noise.at(7).numpy().random(3)).all())
    True
    >>> noise.child("flips").purpose
    'noise/flips'
    """

    seed: int
    purpose: str
    index: int = 0

    def at(self, index: int) -> "Stream":
        """The stream of the same seed and purpose for another person, step or epoch."""
        return replace(self, index=int(index))

    def child(self, purpose: str) -> "Stream":
        """The stream of the same seed and index for a purpose within this one."""
        return replace(self, purpose=f"{self.purpose}/{purpose}")

    def numpy(self) -> np.random.Generator:
        """A NumPy generator at the beginning of this stream."""
        return np.random.Generator(np.random.Philox(key=self._key(16)))

    def torch(self) -> "torch.Generator":
        """A PyTorch generator, on the host, at the beginning of this stream."""
        import torch

        return torch.Generator().manual_seed(self._key(8) >> 1)

    @contextmanager
    def global_torch(self) -> Iterator[None]:
        """PyTorch's global generator set to this stream, for what takes no other, and as it was afterwards."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._key(8) >> 1)
            yield

    def _key(self, size: int) -> int:
        # The index comes first and holds no slash, so no two names are spelled alike.
        name = f"{self.seed}/{self.index}/{self.purpose}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=size).digest(), "big")
