"""What a regulator must know about directions before relying on them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lassi.data.dataset import Attribute, Integers
from lassi.similarity.kind import Computed, Kind, Split

CHUNK = 4096  # latents at a time
RARE = 200  # a direction is uncertain if a class has fewer people than this


@dataclass(frozen=True)
class DirectionFigures:
    """How good the directions of an attribute are.

    Args:
        norms: the lengths of the vectors.
        counts: training people of each value.
        is_rare: whether a value has so few people that the direction is uncertain.
        probe: for each vector, the accuracy of telling its two values apart by position along it, on held-out people;
            None where no held-out person has either value.
        correlations: of the mean position along the vectors with every other attribute, on held-out people.
        relative_error: for differences of means, their approximate angular error in radians.
    """

    norms: list[float]
    counts: dict[str, int]
    is_rare: bool
    probe: list[float | None]
    correlations: dict[str, float]
    relative_error: float | None = None


def judge(
    computed: Computed, attribute: Attribute, kind: Kind, train: Split, valid: Split, *, others: Sequence[str]
) -> DirectionFigures:
    """Judge the directions of an attribute on held-out people.

    Args:
        others: the attributes to correlate with.
    """
    vectors = computed.vectors
    units = (vectors / vectors.norm(dim=0)).double().numpy()
    places = {"train": _places(train.z, units), "valid": _places(valid.z, units)}  # (people, n)
    labels = {"train": train.labels_of(attribute.name), "valid": valid.labels_of(attribute.name)}
    counts = np.bincount(labels["train"], minlength=len(attribute.values))
    middle = places["valid"].mean(1)
    probes: list[float | None] = []
    for column, ends in enumerate(kind.ends(len(attribute.values))):
        learned = _Threshold.fit(places["train"][:, column], labels["train"], ends)
        probes.append(learned.accuracy(places["valid"][:, column], labels["valid"]))
    return DirectionFigures(
        vectors.norm(dim=0).tolist(),
        dict(zip(attribute.values, counts.tolist(), strict=True)),
        bool(counts.min() < RARE),
        probes,
        {name: _correlation(middle, valid.labels_of(name)) for name in others},
        computed.relative_error,
    )


def _places(z: NDArray[np.float32], units: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far along each unit vector everybody is, ``(people, n)``."""
    return np.concatenate([z[start : start + CHUNK].astype(np.float64) @ units for start in range(0, len(z), CHUNK)])


@dataclass(frozen=True)
class _Threshold:
    """The best cut between two values by position along a vector."""

    low: int
    high: int
    cut: float

    @staticmethod
    def fit(places: NDArray[np.float64], labels: Integers, ends: tuple[int, int]) -> "_Threshold":
        low, high = ends
        mine = (labels == low) | (labels == high)
        order = np.argsort(places[mine])
        is_high = (labels[mine][order] == high).astype(int)
        below = np.concatenate([[0], np.cumsum(1 - is_high)])  # right if everybody up to here is called low …
        above = is_high.sum() - np.concatenate([[0], np.cumsum(is_high)])  # … and the others high
        best = int((below + above).argmax())
        return _Threshold(low, high, np.inf if best == len(order) else float(places[mine][order][best]))

    def accuracy(self, places: NDArray[np.float64], labels: Integers) -> float | None:
        """The accuracy on other people; None if nobody has either value."""
        mine = (labels == self.low) | (labels == self.high)
        return float(((places[mine] >= self.cut) == (labels[mine] == self.high)).mean()) if mine.any() else None


def _correlation(places: NDArray[np.float64], labels: Integers) -> float:
    """Pearson's correlation; 0 where everybody has the same label."""
    if labels.min() == labels.max():
        return 0.0
    return float(np.corrcoef(places, labels)[0, 1])
