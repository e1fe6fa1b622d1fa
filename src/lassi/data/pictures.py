"""Datasets of image files: decoded on demand, in parallel, and cached at the working resolution."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lassi.base.errors import UserError
from lassi.base.identity import digest
from lassi.base.outside import shown, shown_path
from lassi.base.progress import SILENT, Progress
from lassi.base.workers import cores, map_chunks, run_chunks
from lassi.data.dataset import Attribute, Dataset, Images, Integers
from lassi.data.decode import decode
from lassi.data.inside import present, relative_names
from lassi.data.kept import VERSION, content_hash, keep_pictures

CHUNK = 64  # pictures that a thread decodes at a time


@dataclass(frozen=True)
class Annotations:
    """What the annotation files of a dataset say.

    Args:
        files: each person's picture, relative to the dataset's folder.
        rows: where each person is annotated, for messages, such as ``"row 3 of labels.csv"``.
        attributes: the attributes by name.
        labels: the labels ``(people,)`` of each attribute.
        splits: the people of each split.
        units: for each picture, the number of the real person it shows, if known.
        name_unit: what a message calls the unit of a number.
        absent: files that are annotated but missing.
    """

    files: Sequence[str]
    rows: Sequence[str]
    attributes: Mapping[str, Attribute]
    labels: Mapping[str, Integers]
    splits: Mapping[str, Integers]
    units: Integers | None = None
    name_unit: Callable[[int], str] = "unit {}".format
    absent: Sequence[str] = ()

    def of_pictures_in(self, root: Path) -> "Annotations":
        """The same, restricted to the pictures that exist; the other files are ``absent``."""
        files = relative_names(self.files, self.rows)
        found = present(root, files, self.rows)
        if not found:
            raise UserError(
                f"None of the {len(files):,} annotated pictures, such as '{shown(files[0])}', is in "
                f"'{shown_path(root)}'.",
                hint="Unpack the pictures there, or give their folder with --root.",
            )
        there = np.array([file in found for file in files], bool)
        new_number = np.cumsum(there) - 1
        restricted = Annotations(
            [file for file, here in zip(files, there, strict=True) if here],
            [row for row, here in zip(self.rows, there, strict=True) if here],
            self.attributes,
            {name: labels[there] for name, labels in self.labels.items()},
            {name: new_number[people[there[people]]] for name, people in self.splits.items()},
            None if self.units is None else self.units[there],
            self.name_unit,
            [file for file, here in zip(files, there, strict=True) if not here],
        )
        restricted._refuse_units_in_two_splits()
        return restricted

    def _refuse_units_in_two_splits(self) -> None:
        """No real person is trained on in one picture and tested in another."""
        if self.units is None:
            return
        seen: dict[int, tuple[str, int]] = {}
        for split, people in self.splits.items():
            for unit, person in zip(self.units[people].tolist(), people.tolist(), strict=True):
                first_split, first = seen.setdefault(unit, (split, person))
                if first_split != split:
                    raise UserError(
                        f"The pictures of {self.name_unit(unit)} are in two splits: {first_split} "
                        f"({self.rows[first]}) and {split} ({self.rows[person]}).",
                        hint="Move them to one split, so that nobody is both trained on and tested.",
                    )


class PictureFiles(Dataset):
    """A dataset of image files.

    Args:
        name: what the dataset is called.
        root: its folder.
        annotations: what its annotation files say.
        size: the working resolution.
        workers: threads that decode; by default one per core.
    """

    def __init__(
        self, name: str, root: Path, annotations: Annotations, size: int, *, workers: int | None = None
    ) -> None:
        self.annotations = annotations.of_pictures_in(root)
        super().__init__(name, size, annotations.attributes, self.annotations.splits)
        self.root = root
        self.workers = workers or cores()
        self._kept: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.annotations.files)

    def identify(self, progress: Progress = SILENT) -> str:
        notes = self.annotations
        labels = {name: [self.attributes[name].values, _hash(notes.labels[name])] for name in self.attributes}
        splits = {name: _hash(people) for name, people in self.splits.items()}
        content = content_hash(self.root, notes.files, workers=self.workers, progress=progress)
        units = [] if notes.units is None else [_hash(notes.units)]
        return digest([self.name, VERSION, self.size, labels, splits, content, *units])

    def images(self, people: ArrayLike) -> Images:
        chosen = self.rows(people)
        if self._kept is not None:
            return np.asarray(self._kept[chosen])
        if len(chosen):
            self.decode(int(chosen[0]))  # refuses a size that is too large before allocating memory for it
        images = np.empty((len(chosen), 3, self.size, self.size), np.uint8)

        def fill(rows: range) -> None:
            for row in rows:
                images[row] = self.decode(int(chosen[row]))

        run_chunks(fill, len(chosen), chunk=CHUNK, workers=self.workers)
        return images

    def decode(self, person: int) -> Images:
        """One person's picture ``(3, size, size)``, read from its file."""
        notes = self.annotations
        called = f"{shown(notes.files[person])} ({notes.rows[person]})"
        return decode(self.root / notes.files[person], self.size, called=called)

    def prepare(self, progress: Progress = SILENT) -> None:
        """Decode every picture once and cache it at the working resolution, as a memory map on disk."""
        if self._kept is None:
            self._kept = keep_pictures(
                self,
                len(self),
                lambda people: np.stack([self.decode(person) for person in people]),
                chunk=CHUNK,
                workers=self.workers,
                progress=progress,
            )

    def unreadable(self, progress: Progress = SILENT) -> list[str]:
        found = map_chunks(
            lambda people: [complaint for person in people if (complaint := self._complaint(person))],
            len(self),
            chunk=CHUNK,
            workers=self.workers,
            what=f"reading {self.name}",
            unit="pictures",
            progress=progress,
        )
        return [complaint for some in found for complaint in some]

    def _complaint(self, person: int) -> str | None:
        try:
            self.decode(person)
        except UserError as error:
            return error.sentence
        return None

    def units(self, people: ArrayLike) -> Integers:
        units = self.annotations.units
        return super().units(people) if units is None else units[self.rows(people)]

    def _labels(self, attribute: str, people: Integers) -> Integers:
        return self.annotations.labels[attribute][people]

    def describe(self, person: int) -> str:
        return self.annotations.files[person]

    def __repr__(self) -> str:
        absent = len(self.annotations.absent)
        return super().__repr__().removesuffix(")") + (f"; {absent:,} pictures missing)" if absent else ")")


def _hash(array: Integers) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
