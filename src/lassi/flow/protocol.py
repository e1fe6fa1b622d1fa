"""What the rest of the program needs from a generative model, and the simplest one."""

from typing import Protocol

from torch import Tensor


class Flow(Protocol):
    """A generative model G = (E, D)."""

    @property
    def latent_dim(self) -> int:
        """q, the length of a latent."""

    def encode(self, x: Tensor) -> Tensor:
        """z = E(x): ``(B, …)`` to ``(B, q)``."""

    def decode(self, z: Tensor) -> Tensor:
        """x = D(z): ``(B, q)`` to ``(B, …)``."""


class IdentityFlow:
    """The flow for data that are already latents: embeddings, or the rows of a table.

    Args:
        shape: the shape of one example; its latent is the same numbers, flattened.
    """

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    @property
    def latent_dim(self) -> int:
        dim = 1
        for side in self.shape:
            dim *= side
        return dim

    def encode(self, x: Tensor) -> Tensor:
        assert x.shape[1:] == self.shape, f"examples of shape {tuple(x.shape[1:])}, not {self.shape}"
        return x.flatten(1)

    def decode(self, z: Tensor) -> Tensor:
        return z.reshape(-1, *self.shape)
