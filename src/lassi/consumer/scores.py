"""How good a classifier is, beside one that always says the same."""

from dataclasses import dataclass

import numpy as np

from lassi.base.errors import UserError
from lassi.data.dataset import Integers


@dataclass(frozen=True)
class Scores:
    """Shares of people.

    Args:
        accuracy: who get the right class.
        balanced: the same within each class, averaged over the classes that occur.
        majority: who belong to the most frequent class: what always saying that one would reach.
        people: how many were judged.
    """

    accuracy: float
    balanced: float
    majority: float
    people: int


def score(predicted: Integers, labels: Integers, num_classes: int) -> Scores:
    """Scores of predictions ``(people,)``; a prediction of −1, an abstention, counts as wrong."""
    if not len(labels):
        raise UserError("There is nobody to judge a classifier on.", hint="Choose a split that is not empty.")
    right = predicted == labels
    counts = np.bincount(labels, minlength=num_classes)
    per_class = [right[labels == label].mean() for label in range(num_classes) if counts[label]]
    return Scores(float(right.mean()), float(np.mean(per_class)), float(counts.max() / len(labels)), len(labels))
