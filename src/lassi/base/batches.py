"""Shuffled batches, by the number of the step."""

import math

import numpy as np
from numpy.typing import NDArray

from lassi.base.streams import Stream


class Batches:
    """Which rows are in the batch of a step: everybody once an epoch, in an order of the epoch's own.

    A last batch of a single row is joined to the one before, because BatchNorm cannot use it.

    >>> batches = Batches(7, 3, stream=Stream(0, "order"))
    >>> batches.per_epoch, [len(batches(step)) for step in range(2)]
    (2, [3, 4])
    """

    def __init__(self, count: int, size: int, *, stream: Stream) -> None:
        assert count >= 1, "there is somebody to train on"
        assert size >= 1, "a batch holds somebody"
        self._cuts = [*range(0, count, size), count]
        if len(self._cuts) > 2 and self._cuts[-1] - self._cuts[-2] == 1:
            del self._cuts[-2]
        self._count, self._stream = count, stream
        self._epoch, self._order = -1, np.empty(0, np.int64)

    @property
    def per_epoch(self) -> int:
        return len(self._cuts) - 1

    def steps(self, epochs: float) -> int:
        """How many steps some epochs take."""
        return math.ceil(epochs * self.per_epoch)

    def __call__(self, step: int) -> NDArray[np.int64]:
        """The rows of a step, in rising order: a memory map is read fastest so."""
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._stream.at(epoch).numpy().permutation(self._count)
        return np.sort(self._order[self._cuts[place] : self._cuts[place + 1]])
