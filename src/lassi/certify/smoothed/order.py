"""Order statistics of values that arrive block by block and are never all in memory at once.

As the values arrive in no particular order, the value with a given rank is soon known to lie in a narrow window. Values
inside it are kept, those below it are counted. The result is the exact order statistic: if it turns out to be outside
the window, a second pass searches the side where it must be.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK = 16_384  # values of a row processed at once
KEPT = 8_192  # at most this many distinct values of a row are kept from block to block
SPREAD = 6  # standard deviations to search on either side of a rank

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Blocks = Callable[[], Iterable[Tensor]]


def ordered(blocks: Blocks, shape: tuple[int, int], *ranks: int) -> Tensor:
    """The values with the given ranks, counted from 1, in each of m rows of N values: ``(ranks, m)``, uninterpolated.

    They are given on the host, wherever the values are.

    Args:
        blocks: the same values each time it is called, as blocks ``(m, at most BLOCK)`` in any order.
        shape: m and N.
    """
    rows, total = shape
    if total <= BLOCK:
        whole = torch.cat(list(blocks()), 1)
        if whole.device.type != "cpu":
            return torch.stack([whole.kthvalue(rank, dim=1).values.cpu() for rank in ranks])
        at = [rank - 1 for rank in ranks]
        values = np.partition(whole.numpy(), at, axis=1)
        return torch.from_numpy(values[:, at].T.copy())
    found = torch.empty(len(ranks), rows, dtype=torch.float64)
    searched = [(i, row, Window(rank, total)) for i, rank in enumerate(ranks) for row in range(rows)]
    while searched:
        for block in blocks():
            values = block.cpu().numpy()
            for _, row, window in searched:
                window.add(values[row])
        for i, row, window in searched:
            found[i, row] = window.value
        searched = [(i, row, window.elsewhere()) for i, row, window in searched if not window.holds]
    return found


class Window:
    """Finds the value with a given rank among ``total`` values, or those strictly between limits, keeping only few."""

    def __init__(self, rank: int, total: int, low: float | None = None, high: float | None = None) -> None:
        self._rank, self._total, self._low, self._high = rank, total, low, high
        self._first, self._last = -math.inf, math.inf  # the range of what is kept
        self._seen = self._below = 0
        self._values: Values = np.empty(0)  # those kept: distinct, increasing; with the count of each
        self._counts: Counts = np.empty(0, np.int64)

    def add(self, values: Values) -> None:
        if self._low is not None:
            values = values[values > self._low]
        if self._high is not None:
            values = values[values < self._high]
        self._seen += len(values)
        self._below += int((values < self._first).sum())
        self._merge(values[(values >= self._first) & (values <= self._last)])
        self._narrow()

    @property
    def holds(self) -> bool:
        """Whether the value is among those kept, once all have been added."""
        return self._below < self._rank <= self._up_to_last

    @property
    def value(self) -> float:
        """The value; NaN where it is not among those kept."""
        if self._seen != self._total:
            raise ValueError(f"{self._total:,} numbers were expected, but {self._seen:,} were seen.")
        place = np.searchsorted(self._counts.cumsum(), self._rank - self._below)
        return float(self._values[place]) if self.holds else math.nan

    def elsewhere(self) -> "Window":
        """A window on the side where the value is, if this one does not hold it."""
        if self._rank <= self._below:
            return Window(self._rank, self._below, self._low, self._first)
        return Window(self._rank - self._up_to_last, self._total - self._up_to_last, self._last, self._high)

    @property
    def _up_to_last(self) -> int:
        return self._below + int(self._counts.sum())

    def _merge(self, values: Values) -> None:
        together = np.concatenate([self._values, values])
        counts = np.concatenate([self._counts, np.ones(len(values), np.int64)])
        self._values, place = np.unique(together, return_inverse=True)
        self._counts = np.bincount(place, weights=counts, minlength=len(self._values)).astype(np.int64)

    def _narrow(self) -> None:
        """Keep what may still be the value: its rank among the values seen so far is hypergeometric."""
        share, part = self._rank / self._total, self._seen / self._total
        spread = SPREAD * (math.sqrt(self._seen * share * (1 - share) * max(0.0, 1 - part)) + 1)
        rank = self._rank * part - self._below
        low, middle, high = np.searchsorted(self._counts.cumsum(), [rank - spread, rank, rank + spread]).tolist()
        last = max(1, min(high + 1, middle + KEPT // 2))
        first = min(max(low, middle - KEPT // 2), last - 1, max(0, len(self._values) - 1))
        if last < len(self._values):
            self._last = float(self._values[last - 1])
        if first > 0:
            self._first = float(self._values[first])
            self._below += int(self._counts[:first].sum())
        self._values, self._counts = self._values[first:last], self._counts[first:last]
