"""Checking a dataset before using it."""

from dataclasses import dataclass

import numpy as np

from lassi.base.progress import SILENT, Progress
from lassi.data.dataset import Dataset
from lassi.data.pictures import PictureFiles


@dataclass(frozen=True)
class Check:
    """What a dataset holds and what is wrong with it.

    Args:
        splits: the number of people in each split.
        units: the number of units in each split: of scenes, or of real people, where these are known.
        shares: for each attribute, value and split, the share of people with that value.
        absent: annotated pictures that are missing.
        unreadable: one sentence for each picture that cannot be used.
    """

    name: str
    size: int
    fingerprint: str
    splits: dict[str, int]
    units: dict[str, int]
    shares: dict[str, dict[str, dict[str, float]]]
    absent: list[str]
    unreadable: list[str]


def check_dataset(dataset: Dataset, progress: Progress = SILENT) -> Check:
    """Count the people and read every picture."""
    return Check(
        dataset.name,
        dataset.size,
        dataset.identify(progress),
        {split: len(people) for split, people in dataset.splits.items()},
        {split: len(np.unique(dataset.units(people))) for split, people in dataset.splits.items()},
        {name: _shares(dataset, name) for name in dataset.attributes},
        list(dataset.annotations.absent) if isinstance(dataset, PictureFiles) else [],
        dataset.unreadable(progress),
    )


def _shares(dataset: Dataset, name: str) -> dict[str, dict[str, float]]:
    filled = {split: people for split, people in dataset.splits.items() if len(people)}
    labels = {split: dataset.labels(name, people) for split, people in filled.items()}
    return {
        value: {split: float(np.mean(found == label)) for split, found in labels.items()}
        for label, value in enumerate(dataset.attributes[name].values)
    }
