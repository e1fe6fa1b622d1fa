"""The original 3D Shapes: ``3dshapes.h5``, read in parts. (Burgess and Kim, 2018.)

3dshapes.h5                              images (480000, 64, 64, 3) uint8, labels (480000, 6) float
custom_{train,valid,test}_split.npy      rows, from 0 (optional; otherwise scenes are split 64:16:20 at random)
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from lassi.base.array_file import read_array
from lassi.base.errors import UserError
from lassi.base.identity import digest
from lassi.base.outside import shown
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.base.workers import map_chunks
from lassi.data.dataset import Images, Integers
from lassi.data.decode import shrink
from lassi.data.factors import (
    FACTORS,
    NUM_COMBINATIONS,
    NUM_ORIENTATIONS,
    ORIENTATIONS,
    SCALES,
    FactorDataset,
    combination,
    split_scenes,
)
from lassi.data.inside import existing_folder, file_inside, is_given
from lassi.data.kept import VERSION, content_hash, keep_pictures
from lassi.data.shapes3d_file import FILE, OFFICIAL, open_shapes

SPLITS = ("train", "valid", "test")
CHUNK = 1024
HUES = np.arange(10) / 10
# The values of each factor in the file; for the scale there are two conventions.
GRIDS: Mapping[str, list[NDArray[np.float64]]] = {
    "floor_hue": [HUES],
    "wall_hue": [HUES],
    "object_hue": [HUES],
    "scale": [SCALES, np.linspace(0, 1, len(SCALES))],
    "shape": [np.arange(4.0)],
    "orientation": [ORIENTATIONS],
}


class Shapes3D(FactorDataset):
    """The original 3D Shapes, or a file of the same layout with some of its rows.

    Args:
        root: the folder that holds ``3dshapes.h5``.
        size: the working resolution, at most 64.
        seed: the seed of the random split, if there are no split files.
    """

    def __init__(self, root: Path, size: int = 64, *, seed: int = 0) -> None:
        self.root = existing_folder(root, "shapes3d")
        self._pictures, labels = open_shapes(file_inside(root, FILE), size)
        factors = _factors(labels)
        if len(np.unique(combination(factors))) < len(factors):
            raise UserError(f"{FILE} has two pictures with the same factors.", hint=OFFICIAL)
        self._row_of = np.full(NUM_COMBINATIONS, -1)
        self._row_of[combination(factors)] = np.arange(len(factors))
        super().__init__("shapes3d", size, factors, _splits(root, factors, seed))
        self.has_published_splits = all(path.exists() for path in _split_files(root).values())
        self._kept: NDArray[np.uint8] | None = None

    def identify(self, progress: Progress = SILENT) -> str:
        splits = {name: people.tolist() for name, people in self.splits.items()}
        content = content_hash(self.root, [FILE], workers=1, progress=progress)
        return digest(["shapes3d", VERSION, self.size, splits, content])

    def images(self, people: ArrayLike) -> Images:
        chosen = self.rows(people)
        if self._kept is not None:
            return np.asarray(self._kept[chosen])
        rows, back = np.unique(chosen, return_inverse=True)  # h5py only reads ascending rows
        return self._read(rows)[back]

    def prepare(self, progress: Progress = SILENT) -> None:
        """Cache the pictures as a memory map: reading single ones from the compressed file is slow."""
        if self._kept is None:
            self._kept = keep_pictures(
                self,
                len(self.factors),
                lambda rows: self._read(slice(rows.start, rows.stop)),
                chunk=CHUNK,
                workers=1,
                progress=progress,
            )

    def person_of(self, combinations: Integers) -> Integers:
        people = self._row_of[combinations]
        if (people < 0).any():
            raise UserError(
                f"{FILE} lacks some orientations of the requested scenes.",
                hint="Use the complete file of 480,000 pictures.",
            )
        return people

    def unreadable(self, progress: Progress = SILENT) -> list[str]:
        def complaint(rows: range) -> list[str]:
            try:
                self._read(slice(rows.start, rows.stop))
            except UserError as error:
                return [error.sentence]
            return []

        found = map_chunks(
            complaint, len(self), chunk=CHUNK, what="reading shapes3d", unit="pictures", progress=progress
        )
        return [sentence for some in found for sentence in some]

    def _read(self, rows: Integers | slice) -> Images:
        try:
            pictures: NDArray[np.uint8] = self._pictures[rows]
        except Exception as error:  # h5py raises almost any exception for a damaged file
            raise UserError(
                f"{FILE}: pictures cannot be read ({shown(error, 200)}).", hint="Download the file again."
            ) from error
        at_size = np.empty((len(pictures), self.size, self.size, 3), np.uint8)
        for n, picture in enumerate(pictures):
            at_size[n] = np.asarray(shrink(Image.fromarray(picture), self.size))
        return at_size.transpose(0, 3, 1, 2)


def _factors(labels: NDArray[np.float64]) -> Integers:
    """The index of each factor's value, ``(people, 6)``, from the values themselves."""
    columns = (_nearest(labels[:, column], name, GRIDS[name]) for column, name in enumerate(FACTORS))
    return np.stack(list(columns), axis=1)


def _nearest(values: NDArray[np.float64], name: str, grids: list[NDArray[np.float64]]) -> Integers:
    """The index of each value on the first grid that contains all of them."""
    for grid in grids:
        numbers = np.abs(values[:, None] - grid).argmin(1)
        wrong = np.flatnonzero(~np.isclose(values, grid[numbers], atol=1e-4))
        if not len(wrong):
            return np.asarray(numbers, np.int64)
    row = wrong[0]
    raise UserError(
        f"{FILE}, row {row}: '{name}' is {values[row]:g}, but must be one of "
        f"{', '.join(f'{value:.4g}' for value in grids[0])}.",
        hint=OFFICIAL,
    )


def _split_files(root: Path) -> dict[str, Path]:
    return {name: file_inside(root, f"custom_{name}_split.npy") for name in SPLITS}


def _splits(root: Path, factors: Integers, seed: int) -> dict[str, Integers]:
    files = _split_files(root)
    missing = [path.name for path in files.values() if not is_given(path)]
    if not missing:
        return {name: _read_split(path, len(factors)) for name, path in files.items()}
    if len(missing) < len(SPLITS):
        raise UserError(
            f"Some of the three custom split files are missing: {', '.join(missing)}.",
            hint="Add what is missing, or remove the others for a random split by scene.",
        )
    scene = combination(factors) // NUM_ORIENTATIONS
    parts = {name: np.flatnonzero(np.isin(scene, scenes)) for name, scenes in split_scenes(seed).items()}
    # In the file's order, every 320th picture would show only three of the 15 orientations.
    return {name: Stream(seed, f"shapes3d/order/{name}").numpy().permutation(part) for name, part in parts.items()}


def _read_split(path: Path, count: int) -> Integers:
    rows = read_array(path, count)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < count):
        raise UserError(
            f"{path.name}: the entries must be rows of {FILE}, whole numbers from 0 to {count - 1:,}.",
            hint=f"Use the split file that belongs to this {FILE}.",
        )
    return np.asarray(rows, np.int64)
