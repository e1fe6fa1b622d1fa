"""Shuffled batches, indexed by step."""

import math

import numpy as np
from numpy.typing import NDArray

from lassi.base.streams import Stream

HELD_OUT = 0.1  # of the people, where no validation people are given


def spread(count: int, most: int) -> NDArray[np.int64]:
    """At most so many rows of ``count``, evenly over all of them.

    >>> spread(7, 3).tolist(), spread(2, 5).tolist()
    ([0, 3, 6], [0, 1])
    """
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)


class Batches:
    """The rows in the batch of each step: every row once per epoch, in a new order each epoch.

    If the last batch would have a single row, it is merged with the previous one, because BatchNorm needs two rows.

    >>> batches = Batches(7, 3, stream=Stream(0, "order"))
    >>> batches.per_epoch, [len(batches(step)) for step in range(2)]
    (2, [3, 4])
    """

    def __init__(self, count: int, size: int, *, stream: Stream) -> None:
        assert count >= 1, "training needs at least one row"
        assert size >= 1, "a batch has at least one row"
        self._cuts = [*range(0, count, size), count]
        if len(self._cuts) > 2 and self._cuts[-1] - self._cuts[-2] == 1:
            del self._cuts[-2]
        self._count, self._stream = count, stream
        self._epoch, self._order = -1, np.empty(0, np.int64)

    @property
    def per_epoch(self) -> int:
        return len(self._cuts) - 1

    def steps(self, epochs: float) -> int:
        """The number of steps in a number of epochs."""
        return math.ceil(epochs * self.per_epoch)

    def __call__(self, step: int) -> NDArray[np.int64]:
        """The rows of a step, in ascending order, which is the fastest way to read a memory map."""
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._stream.at(epoch).numpy().permutation(self._count)
        return np.sort(self._order[self._cuts[place] : self._cuts[place + 1]])


def held_out(count: int, *, stream: Stream) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to train on, and a random tenth of all rows, at least one, to choose the best epoch on.

    >>> rest, valid = held_out(50, stream=Stream(0, "held out"))
    >>> len(rest), len(valid), sorted({*rest, *valid}) == list(range(50))
    (45, 5, True)
    """
    order = stream.numpy().permutation(count)
    valid, rest = np.split(order, [max(1, int(HELD_OUT * count))])
    return rest, valid
