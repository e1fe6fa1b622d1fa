"""The six factors of the 3D Shapes world, and datasets whose people are combinations of them.

Every combination exists, so all 15 orientations of every scene are known. They are truly similar people, against whom
a certificate can be checked. (Burgess and Kim, "3D Shapes", 2018.)
"""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from lassi.base.streams import Stream
from lassi.data.dataset import Attribute, Dataset, Integers

HUES = tuple(f"{hue / 10:.1f}" for hue in range(10))
SCALES = np.linspace(0.75, 1.25, 8)
SHAPES = ("cube", "cylinder", "sphere", "capsule")
ORIENTATIONS = np.linspace(-30.0, 30.0, 15)  # degrees

FACTORS: Mapping[str, Attribute] = MappingProxyType(
    {
        attribute.name: attribute
        for attribute in (
            Attribute("floor_hue", HUES),
            Attribute("wall_hue", HUES),
            Attribute("object_hue", HUES),
            Attribute("scale", tuple(f"{scale:.2f}" for scale in SCALES)),
            Attribute("shape", SHAPES),
            Attribute("orientation", tuple(f"{degrees:+.1f}°" for degrees in ORIENTATIONS)),
        )
    }
)
COUNTS = tuple(len(factor.values) for factor in FACTORS.values())
ORIENTATION = "orientation"  # the factor in which truly similar people differ
NUM_ORIENTATIONS = COUNTS[-1]
NUM_COMBINATIONS = int(np.prod(COUNTS))
NUM_SCENES = NUM_COMBINATIONS // NUM_ORIENTATIONS


def combination(factors: ArrayLike) -> Integers:
    """The number of each combination of factors ``(…, 6)``; the last factor varies fastest, as in 3dshapes.h5.

    >>> int(combination([0, 0, 0, 0, 1, 2]))
    17
    """
    digits = np.moveaxis(np.asarray(factors, np.int64), -1, 0)
    return np.asarray(np.ravel_multi_index(tuple(digits), COUNTS), np.int64)


def factors_of(combinations: ArrayLike) -> Integers:
    """The factors ``(…, 6)`` of combinations, given by number.

    >>> factors_of(17).tolist()
    [0, 0, 0, 0, 1, 2]
    """
    return np.stack(np.unravel_index(np.asarray(combinations, np.int64), COUNTS), axis=-1).astype(np.int64)


def is_biased(factors: Integers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Who belongs to the paper's biased training set, in which the orientation predicts the object's hue.

    Hues 0–4 occur with orientations 0–6 only, hues 5–9 with 8–14 only. [Paper, App. F]
    """
    hue, orientation = factors[..., 2], factors[..., 5]
    return np.where(hue < 5, orientation < 7, orientation > 7)


def split_scenes(seed: int) -> dict[str, Integers]:
    """A random split of the scenes into train (64%), valid (16%) and test (20%), each in ascending order."""
    order = Stream(seed, "shapes/split").numpy().permutation(NUM_SCENES)
    parts = np.split(order, [int(0.64 * NUM_SCENES), int(0.8 * NUM_SCENES)])
    return {name: np.sort(part) for name, part in zip(("train", "valid", "test"), parts, strict=True)}


class FactorDataset(Dataset):
    """A dataset whose people are combinations of the six factors.

    In addition to the given splits it has ``train-biased``, the paper's biased part of ``train``.

    Args:
        factors: the factors of every person, ``(people, 6)``.
    """

    def __init__(self, name: str, size: int, factors: Integers, splits: Mapping[str, Integers]) -> None:
        train = splits["train"]
        biased = train[is_biased(factors[train])]
        super().__init__(name, size, FACTORS, {**splits, "train-biased": biased})
        self.factors = factors

    def __len__(self) -> int:
        return len(self.factors)

    def _labels(self, attribute: str, people: Integers) -> Integers:
        return self.factors[people, list(FACTORS).index(attribute)]

    def units(self, people: ArrayLike) -> Integers:
        """The scene of each person: the combination of all factors except the orientation, as one number."""
        return np.asarray(combination(self.factors[self.rows(people)]) // NUM_ORIENTATIONS)

    def similar(self, people: ArrayLike) -> Integers:
        """The people ``(B, 15)`` who differ from each person in orientation only."""
        wanted = self.units(people)[..., None] * NUM_ORIENTATIONS + np.arange(NUM_ORIENTATIONS)
        return self.person_of(wanted)

    @abstractmethod
    def person_of(self, combinations: Integers) -> Integers:
        """The people with these combinations of factors, given by number."""

    def describe(self, person: int) -> str:
        return ", ".join(
            f"{name.replace('_', ' ')} {factor.values[label]}"
            for (name, factor), label in zip(FACTORS.items(), self.factors[person], strict=True)
        )
