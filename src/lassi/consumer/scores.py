"""How good a classifier is, compared with always predicting the same class."""

from dataclasses import dataclass

import numpy as np

from lassi.base.errors import UserError
from lassi.data.dataset import Integers


@dataclass(frozen=True)
class Scores:
    """Shares of people.

    Args:
        accuracy: those who get the right class.
        balanced: the same within each class, averaged over the classes that occur.
        majority: those in the most common class: the accuracy of always predicting it.
        people: how many were evaluated.
    """

    accuracy: float
    balanced: float
    majority: float
    people: int


def score(predicted: Integers, labels: Integers, num_classes: int) -> Scores:
    """Scores of predictions ``(people,)``; a prediction of −1, an abstention, counts as wrong."""
    if not len(labels):
        raise UserError("There is nobody to evaluate a classifier on.", hint="Choose a split that is not empty.")
    right = predicted == labels
    counts = np.bincount(labels, minlength=num_classes)
    per_class = [right[labels == label].mean() for label in range(num_classes) if counts[label]]
    return Scores(float(right.mean()), float(np.mean(per_class)), float(counts.max() / len(labels)), len(labels))
