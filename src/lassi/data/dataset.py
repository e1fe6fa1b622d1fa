"""What a dataset is to the rest of the program.

A *person* is a row of a dataset, also where the picture shows a cube. People are numbered from 0; a split
is an array of such numbers, and images and labels are asked for by them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lassi.base.errors import UserError, unknown
from lassi.base.progress import SILENT, Progress

Integers = NDArray[np.int64]
Images = NDArray[np.uint8]


@dataclass(frozen=True)
class Attribute:
    """A named attribute and what its labels 0 … K − 1 mean.

    >>> Attribute("shape", ("cube", "sphere", "capsule")).label("sphere")
    1
    """

    name: str
    values: tuple[str, ...]

    @property
    def is_binary(self) -> bool:
        return len(self.values) == 2

    def label(self, value: str) -> int:
        """The label of a value, by its name; a space and an underscore are the same."""
        spellings = [known.replace("_", " ") for known in self.values]
        if value.replace("_", " ") not in spellings:
            raise unknown(f"value of '{self.name}' called", value, self.values)
        return spellings.index(value.replace("_", " "))


class Dataset(ABC):
    """Images with splits and named attributes.

    Args:
        name: what the dataset is called.
        size: the working resolution; images come as ``(B, 3, size, size)``.
        attributes: the attributes by name.
        splits: the people of each split, by its name.
    """

    def __init__(
        self, name: str, size: int, attributes: Mapping[str, Attribute], splits: Mapping[str, Integers]
    ) -> None:
        self.name = name
        self.size = size
        self.attributes = dict(attributes)
        self.splits = dict(splits)

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything that images and labels depend on."""

    @abstractmethod
    def images(self, people: ArrayLike) -> Images:
        """The pictures of some people, ``(B, 3, size, size)``, uint8."""

    @abstractmethod
    def _labels(self, attribute: str, people: Integers) -> Integers: ...

    @abstractmethod
    def describe(self, person: int) -> str:
        """A person in a few words: the file's name, or the factors of a scene."""

    def units(self, people: ArrayLike) -> Integers:
        """Which pictures are one unit in statistics, ``(B,)``: those of one scene, or of one real person."""
        return np.asarray(people, np.int64)

    def prepare(self, progress: Progress = SILENT) -> None:  # noqa: B027
        """Do once what makes every later :meth:`images` fast; a dataset that needs nothing does nothing."""

    def people(self, split: str, *, every: int = 1) -> Integers:
        """The people of a split, or every n-th of them as in the paper's evaluation."""
        if split not in self.splits:
            raise unknown(f"split of {self.name} called", split, self.splits)
        if every < 1:
            raise UserError(f"Every {every}-th person was asked for.", hint="Ask for every n-th with n ≥ 1.")
        people = self.splits[split][::every]
        if not len(people):
            raise UserError(
                f"The split '{split}' of {self.name} is empty.",
                hint="Add pictures to it, or choose a split that has some: " + self._sizes() + ".",
            )
        return people

    def attribute(self, name: str) -> Attribute:
        """An attribute by its name; ``NAME=VALUE`` is the binary question whether NAME has that VALUE."""
        base, equals, value = name.partition("=")
        if base not in self.attributes:
            raise unknown(f"attribute of {self.name} called", base, self.attributes)
        whole = self.attributes[base]
        if not equals:
            return whole
        whole.label(value)
        return Attribute(name, ("no", "yes"))

    def labels(self, attribute: str, people: ArrayLike) -> Integers:
        """The labels of some people, ``(B,)``; see :meth:`attribute` for what may be asked for."""
        self.attribute(attribute)
        base, equals, value = attribute.partition("=")
        labels = self._labels(base, np.asarray(people, np.int64))
        if equals:
            return np.asarray(labels == self.attributes[base].label(value), np.int64)
        return labels

    def _sizes(self) -> str:
        return ", ".join(f"{name} ({len(people):,})" for name, people in self.splits.items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.size}×{self.size}, {self._sizes()})"
