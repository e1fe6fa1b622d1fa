"""What the rest of the program requires of a classifier on representations."""

from typing import Protocol

from torch import Tensor


class Consumer(Protocol):
    """Any classifier on representations: ours or a user's."""

    @property
    def num_classes(self) -> int: ...

    @property
    def dim(self) -> int: ...

    def predict(self, r: Tensor) -> Tensor:
        """The class of each representation ``(B, k)``, ``(B,)``, int64."""
