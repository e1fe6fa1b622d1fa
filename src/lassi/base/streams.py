"""Random numbers by name.

A stream is named by (seed, purpose, index), and its numbers depend on that name only. So a person's result does not
depend on the batch, the order or the number of workers, and two purposes never share numbers. A :class:`Stream` is a
value without state: its generator always starts from the beginning, so code that needs two sets of numbers names two
purposes with :meth:`Stream.child`.
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
        index: the person, step or epoch they are for.

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
        """The stream with the same seed and purpose for another person, step or epoch."""
        return replace(self, index=int(index))

    def child(self, purpose: str) -> "Stream":
        """The stream with the same seed and index for a purpose within this one."""
        return replace(self, purpose=f"{self.purpose}/{purpose}")

    def numpy(self) -> np.random.Generator:
        """A NumPy generator at the start of this stream."""
        return np.random.Generator(np.random.Philox(key=self._key(16)))

    def torch(self) -> "torch.Generator":
        """A PyTorch generator on the CPU, at the start of this stream."""
        import torch

        return torch.Generator().manual_seed(self._key(8) >> 1)

    @contextmanager
    def global_torch(self) -> Iterator[None]:
        """Set PyTorch's global generator to this stream within the block, for code that takes no other generator."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._key(8) >> 1)
            yield

    def _key(self, size: int) -> int:
        # The index comes first and has no slash, so different names never give the same text.
        name = f"{self.seed}/{self.index}/{self.purpose}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=size).digest(), "big")
