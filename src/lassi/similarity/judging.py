"""What a regulator must know about directions before relying on them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

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
        counts: training people of each value; none for vectors without a name.
        is_rare: whether a value has so few people that the direction is uncertain.
        probe: for each vector, the balanced accuracy of separating its two values by position along it, on held-out
            people; None where no held-out person has one of them, and for vectors without a name.
        majority: the share of the more frequent of these two values among them.
        correlations: of the mean position along the vectors with every other attribute, on held-out people.
        relative_error: for differences of means, their approximate angular error in radians.
    """

    norms: list[float]
    counts: dict[str, int]
    is_rare: bool
    probe: list[float | None]
    correlations: dict[str, float]
    relative_error: float | None = None
    majority: list[float | None] = field(default_factory=list)


def judge(
    computed: Computed, attribute: Attribute | None, kind: Kind, train: Split, valid: Split, *, others: Sequence[str]
) -> DirectionFigures:
    """Judge the directions of an attribute on held-out people.

    Args:
        attribute: None for vectors without a name, of which only the correlations with attributes are known.
        others: the attributes to correlate with.
    """
    vectors = computed.vectors
    units = (vectors / vectors.norm(dim=0)).double().numpy()
    there = _places(valid.z, units)  # (people, n)
    counts: dict[str, int] = {}
    probes: list[float | None] = [None] * vectors.shape[1]
    majorities: list[float | None] = [None] * vectors.shape[1]
    if attribute is not None:
        labels = train.labels_of(attribute.name)
        number = np.bincount(labels, minlength=len(attribute.values))
        counts, here = dict(zip(attribute.values, number.tolist(), strict=True)), _places(train.z, units)
        for column, ends in enumerate(kind.ends(len(attribute.values))):
            learned, of_valid = _Threshold.fit(here[:, column], labels, ends), valid.labels_of(attribute.name)
            probes[column] = learned.balanced_accuracy(there[:, column], of_valid)
            majorities[column] = _majority(of_valid, ends)
    return DirectionFigures(
        vectors.norm(dim=0).tolist(),
        counts,
        any(count < RARE for count in counts.values()),
        probes,
        {name: _correlation(there.mean(1), valid.labels_of(name)) for name in others},
        computed.relative_error,
        majorities,
    )


def _majority(labels: Integers, ends: tuple[int, int]) -> float | None:
    """The share of the more frequent of two values; None if nobody has either."""
    counts = [int((labels == value).sum()) for value in ends]
    return max(counts) / sum(counts) if sum(counts) else None


def _places(z: NDArray[np.float32], units: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far along each unit vector everybody is, ``(people, n)``."""
    return np.concatenate([z[start : start + CHUNK].astype(np.float64) @ units for start in range(0, len(z), CHUNK)])


@dataclass(frozen=True)
class _Threshold:
    """The best cut between two values by position along a vector, each value counting the same."""

    low: int
    high: int
    cut: float

    @staticmethod
    def fit(places: NDArray[np.float64], labels: Integers, ends: tuple[int, int]) -> "_Threshold":
        low, high = ends
        mine = (labels == low) | (labels == high)
        order = np.argsort(places[mine])
        is_high = labels[mine][order] == high
        counts = max(1, int((~is_high).sum())), max(1, int(is_high.sum()))
        below = np.concatenate([[0], np.cumsum(~is_high)])  # right if everybody up to here is called low …
        above = is_high.sum() - np.concatenate([[0], np.cumsum(is_high)])  # … and the others high
        best = int((below / counts[0] + above / counts[1]).argmax())
        return _Threshold(low, high, np.inf if best == len(order) else float(places[mine][order][best]))

    def balanced_accuracy(self, places: NDArray[np.float64], labels: Integers) -> float | None:
        """The balanced accuracy on other people; None if nobody has one of the values."""
        low, high = places[labels == self.low], places[labels == self.high]
        if not len(low) or not len(high):
            return None
        return float(((low < self.cut).mean() + (high >= self.cut).mean()) / 2)


def _correlation(places: NDArray[np.float64], labels: Integers) -> float:
    """Pearson's correlation; 0 where everybody has the same label."""
    if labels.min() == labels.max():
        return 0.0
    return float(np.corrcoef(places, labels)[0, 1])
