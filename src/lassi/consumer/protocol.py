"""What the rest of the program asks of a classifier of representations."""

from typing import Protocol

from torch import Tensor


class Consumer(Protocol):
    """Whatever classifies representations: ours, or a user's."""

    @property
    def num_classes(self) -> int: ...

    @property
    def dim(self) -> int: ...

    def predict(self, r: Tensor) -> Tensor:
        """The class of each representation ``(B, k)``, ``(B,)``, int64."""
