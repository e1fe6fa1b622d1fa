"""Remembering the last few things that were slow to compute or load."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Memo(Generic[Value]):
    """At most ``limit`` values, by key; the least recently used is dropped first.

    >>> memo = Memo[str](limit=2)
    >>> memo.get(1, lambda: "one"), memo.get(1, lambda: "never computed")
    ('one', 'one')
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: dict[Hashable, Value] = {}

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The value of a key, computed if it is not remembered."""
        value = self._values.pop(key) if key in self._values else compute()
        self._values[key] = value  # the newest is last
        while len(self._values) > self._limit:
            self._values.pop(next(iter(self._values)))
        return value
