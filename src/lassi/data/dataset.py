"""What a dataset is to the rest of the program.

A *person* is a row of a dataset, even where the picture shows a cube. People are numbered from 0. A split is an array
of these numbers, and they are what :meth:`Dataset.images` and :meth:`Dataset.labels` take.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lassi.base.errors import UserError, unknown
from lassi.base.progress import SILENT, Progress

Integers = NDArray[np.int64]
Images = NDArray[np.uint8]


@dataclass(frozen=True)
class Attribute:
    """A named attribute and the meaning of its labels 0 … K − 1.

    >>> Attribute("shape", ("cube", "sphere", "capsule")).label("sphere")
    1
    """

    name: str
    values: tuple[str, ...]

    @property
    def is_binary(self) -> bool:
        return len(self.values) == 2

    def label(self, value: str) -> int:
        """The label of a value; spaces and underscores are interchangeable."""
        if (label := self.find_label(value)) is None:
            raise unknown(f"value of '{self.name}' called", value, self.values)
        return label

    def find_label(self, value: str) -> int | None:
        """The label of a value, or None; an exact match takes precedence over one that swaps spaces and underscores."""
        if value in self.values:
            return self.values.index(value)
        spaced = [known.replace("_", " ") for known in self.values]
        plain = value.replace("_", " ")
        return spaced.index(plain) if plain in spaced else None


class Dataset(ABC):
    """Images with splits and named attributes.

    Args:
        name: what the dataset is called.
        size: the working resolution; images come as ``(B, 3, size, size)``.
        attributes: the attributes by name.
        splits: the people of each split, by the split's name.
    """

    def __init__(
        self, name: str, size: int, attributes: Mapping[str, Attribute], splits: Mapping[str, Integers]
    ) -> None:
        self.name = name
        self.size = size
        self.attributes = dict(attributes)
        self.splits = dict(splits)
        self.has_published_splits = False  # whether they were published with it, and may divide the pictures of a unit
        _refuse_overlaps(name, self.splits)
        for people in self.splits.values():
            people.flags.writeable = False  # callers that shuffle must copy first

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that the images, labels, splits and units depend on."""
        return self.identify()

    @abstractmethod
    def identify(self, progress: Progress = SILENT) -> str:
        """Compute the fingerprint; this may read every file."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of people."""

    @abstractmethod
    def images(self, people: ArrayLike) -> Images:
        """The pictures of some people, ``(B, 3, size, size)``, uint8."""

    @abstractmethod
    def _labels(self, attribute: str, people: Integers) -> Integers: ...

    @abstractmethod
    def describe(self, person: int) -> str:
        """A short description of a person: the file's name, or the factors of the scene."""

    def units(self, people: ArrayLike) -> Integers:
        """The unit of each picture, ``(B,)``: pictures of one scene, or of one real person, share a unit."""
        return self.rows(people)

    def prepare(self, progress: Progress = SILENT) -> None:  # noqa: B027
        """Do one-off work that makes later calls of :meth:`images` fast; by default there is none."""

    def unreadable(self, progress: Progress = SILENT) -> list[str]:  # noqa: ARG002
        """Read every picture and return one sentence for each that cannot be used; rendered pictures never fail."""
        return []

    def people(self, split: str, *, every: int = 1, first: int = 0) -> Integers:
        """The people of a split; optionally every n-th, as in the paper's evaluation, starting at ``first``."""
        if split not in self.splits:
            raise unknown(f"split of {self.name} called", split, self.splits)
        if every < 1:
            raise UserError(f"'every' is {every}, but must be at least 1.", hint="Choose 1 to take everybody.")
        people = self.splits[split][first::every]
        if not len(people):
            raise UserError(
                f"The split '{split}' of {self.name} is empty.",
                hint="Add pictures to it, or choose another split: " + self._sizes() + ".",
            )
        return people

    def attribute(self, name: str) -> Attribute:
        """An attribute by name; ``NAME=VALUE`` is the binary attribute that says whether NAME has that VALUE."""
        if name in self.attributes:
            return self.attributes[name]
        base, equals, value = name.partition("=")
        if base not in self.attributes:
            raise unknown(f"attribute of {self.name} called", base, self.attributes)
        assert equals, "an unknown name without = has been refused above"
        self.attributes[base].label(value)
        return Attribute(name, ("no", "yes"))

    def labels(self, attribute: str, people: ArrayLike) -> Integers:
        """The labels of some people, ``(B,)``; ``attribute`` is any name that :meth:`attribute` accepts."""
        self.attribute(attribute)
        rows = self.rows(people)
        if attribute in self.attributes:
            return self._labels(attribute, rows)
        base, _, value = attribute.partition("=")
        return np.asarray(self._labels(base, rows) == self.attributes[base].label(value), np.int64)

    def rows(self, people: ArrayLike) -> Integers:
        """People as an array of their numbers; lookalikes, such as a mask or −1, are refused."""
        rows = np.asarray(people)
        if rows.size and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(self)):
            raise UserError(
                f"The people of {self.name} are whole numbers from 0 to {len(self) - 1:,}, not "
                f"{rows.reshape(-1)[:3]} of type {rows.dtype}.",
                hint="Use numbers that people() returns.",
            )
        return rows.astype(np.int64)

    def _sizes(self) -> str:
        return ", ".join(f"{name} ({len(people):,})" for name, people in self.splits.items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.size}×{self.size}, {self._sizes()})"


def _refuse_overlaps(name: str, splits: Mapping[str, Integers]) -> None:
    """Nobody may be in a split twice, or be both trained on and tested."""
    parts = {split: splits[split] for split in ("train", "valid", "test") if split in splits}
    everybody, counts = np.unique(np.concatenate(list(parts.values())), return_counts=True)
    if (counts > 1).any():
        person = everybody[counts > 1][0]
        places = [split for split, people in parts.items() for _ in np.flatnonzero(people == person)]
        raise UserError(
            f"Person {person} (counted from 0) of {name} is in the splits {' and '.join(places)}.",
            hint="Put each person in one split, once.",
        )
