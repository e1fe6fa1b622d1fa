"""Looking a dataset over before anything is built on it."""

from dataclasses import dataclass

import numpy as np

from lassi.base.engine import map_chunks
from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.data.dataset import Dataset
from lassi.data.pictures import PictureFiles


@dataclass(frozen=True)
class Check:
    """What a dataset holds and what is wrong with it.

    Args:
        splits: people of each split.
        shares: for each attribute, value and split, the share of people who have that value.
        absent: annotated pictures that are not there.
        unreadable: a sentence for each picture that cannot be used.
    """

    name: str
    size: int
    fingerprint: str
    splits: dict[str, int]
    shares: dict[str, dict[str, dict[str, float]]]
    absent: list[str]
    unreadable: list[str]


def check_dataset(dataset: Dataset, progress: Progress = SILENT) -> Check:
    """Count everybody and read every picture."""
    return Check(
        dataset.name,
        dataset.size,
        dataset.fingerprint,
        {split: len(people) for split, people in dataset.splits.items()},
        {name: _shares(dataset, name) for name in dataset.attributes},
        list(dataset.annotations.absent) if isinstance(dataset, PictureFiles) else [],
        _unreadable(dataset, progress),
    )


def _shares(dataset: Dataset, name: str) -> dict[str, dict[str, float]]:
    filled = {split: people for split, people in dataset.splits.items() if len(people)}
    labels = {split: dataset.labels(name, people) for split, people in filled.items()}
    return {
        value: {split: float(np.mean(found == label)) for split, found in labels.items()}
        for label, value in enumerate(dataset.attributes[name].values)
    }


def _unreadable(dataset: Dataset, progress: Progress) -> list[str]:
    """Read every picture, and go on where one cannot be read."""
    if not isinstance(dataset, PictureFiles):
        dataset.prepare(progress)
        return []

    def complaints(people: range) -> list[str]:
        return [complaint for person in people if (complaint := _complaint(dataset, person))]

    found = map_chunks(
        complaints,
        len(dataset.annotations.files),
        chunk=64,
        workers=dataset.workers,
        what=f"reading {dataset.name}",
        unit="pictures",
        progress=progress,
    )
    return [complaint for some in found for complaint in some]


def _complaint(dataset: PictureFiles, person: int) -> str | None:
    try:
        dataset.decode(person)
    except UserError as error:
        return error.sentence
    return None
