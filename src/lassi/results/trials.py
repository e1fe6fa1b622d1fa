"""What came of trying settings on validation people, and which of them to choose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Trial:
    """What came of one combination of values, on validation people.

    Args:
        values: by key.
        accuracy: of the model that is certified, mean over questions and seeds.
        certified: the certified share, mean over questions and seeds.
    """

    values: dict[str, Any]
    accuracy: float
    certified: float


def front(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that no other beats in both accuracy and certified share, by falling accuracy."""
    ordered = sorted(trials, key=lambda trial: (-trial.accuracy, -trial.certified))
    found: list[Trial] = []
    for trial in ordered:
        if not found or trial.certified > found[-1].certified:
            found.append(trial)
    return found


def choose(trials: Sequence[Trial], within: float) -> Trial:
    """The trial with the largest certified share among those whose accuracy is nearly the best.

    Args:
        within: how much accuracy may be lost, as a share.
    """
    best = max(trial.accuracy for trial in trials)
    near = [trial for trial in trials if trial.accuracy >= best - within - 1e-12]
    return max(near, key=lambda trial: (trial.certified, trial.accuracy))
