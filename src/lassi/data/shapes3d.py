"""The real 3D Shapes: ``3dshapes.h5``, read without loading it whole. (Burgess and Kim, 2018.)

3dshapes.h5                              images (480000, 64, 64, 3) uint8, labels (480000, 6) float
custom_{train,valid,test}_split.npy      rows, from 0 (optional; else scenes are split 64:16:20 at random)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from lassi.base.artefact import digest
from lassi.base.engine import map_chunks
from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.data.dataset import Images, Integers
from lassi.data.decode import shrink
from lassi.data.factors import (
    COUNTS,
    FACTORS,
    NUM_COMBINATIONS,
    NUM_ORIENTATIONS,
    ORIENTATIONS,
    SCALES,
    FactorDataset,
    combination,
    split_scenes,
)
from lassi.data.kept import VERSION, content_hash, keep_pictures
from lassi.data.pictures import existing_folder

FILE = "3dshapes.h5"
SPLITS = ("train", "valid", "test")
CHUNK = 1024
HUES = np.arange(10) / 10
# The values of each factor in the file; of the scale there are two customs.
GRIDS: Mapping[str, list[NDArray[np.float64]]] = {
    "floor_hue": [HUES],
    "wall_hue": [HUES],
    "object_hue": [HUES],
    "scale": [SCALES, np.linspace(0, 1, len(SCALES))],
    "shape": [np.arange(4.0)],
    "orientation": [ORIENTATIONS],
}


class Shapes3D(FactorDataset):
    """The real 3D Shapes, or a file of the same layout with some of its rows.

    Args:
        root: the folder of ``3dshapes.h5``.
        size: the working resolution, at most 64.
        seed: of the random split, where there are no split files.
    """

    def __init__(self, root: Path, size: int = 64, *, seed: int = 0) -> None:
        self.root = existing_folder(root, "shapes3d")
        self._pictures, labels = _open(root / FILE, size)
        factors = _factors(labels)
        if len(np.unique(combination(factors))) < len(factors):
            raise UserError(f"{FILE} holds two pictures of the same factors.", hint="Use the official file.")
        self._row_of = np.full(NUM_COMBINATIONS, -1)
        self._row_of[combination(factors)] = np.arange(len(factors))
        super().__init__("shapes3d", size, factors, _splits(root, factors, seed))
        self._kept: NDArray[np.uint8] | None = None

    def identify(self, progress: Progress = SILENT) -> str:
        splits = {name: people.tolist() for name, people in self.splits.items()}
        content = content_hash(self.root, [FILE], workers=1, progress=progress)
        return digest(["shapes3d", VERSION, self.size, splits, content])

    def images(self, people: ArrayLike) -> Images:
        chosen = self.rows(people)
        if self._kept is not None:
            return np.asarray(self._kept[chosen])
        rows, back = np.unique(chosen, return_inverse=True)  # h5py reads rising rows only
        return self._read(rows)[back]

    def prepare(self, progress: Progress = SILENT) -> None:
        """Keep the pictures as a memory map: reading single ones from the compressed file is slow."""
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
                f"{FILE} does not hold every orientation of the scenes that were asked for.",
                hint="Use the whole file of 480,000 pictures.",
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
        except OSError as error:
            raise UserError(f"{FILE}: pictures cannot be read ({error}).", hint="Fetch the file again.") from error
        at_size = np.empty((len(pictures), self.size, self.size, 3), np.uint8)
        for n, picture in enumerate(pictures):
            at_size[n] = np.asarray(shrink(Image.fromarray(picture), self.size))
        return at_size.transpose(0, 3, 1, 2)


def _open(path: Path, size: int) -> tuple[Any, NDArray[np.float64]]:
    """The pictures, still on disk, and the labels ``(people, 6)``."""
    try:
        import h5py
    except ImportError:
        raise UserError(
            "The package h5py, which reads 3D Shapes, is not installed.",
            hint="Run pip install 'lassi[data]'.",
        ) from None
    if not path.is_file():
        raise UserError(f"There is no '{path}'.", hint=f"Put {FILE} there, or give its folder with --root.")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error}).", hint="Fetch the file again.") from error
    for name in ("images", "labels"):
        if not isinstance(file.get(name), h5py.Dataset) or file[name].dtype.kind not in "uif":
            raise UserError(f"'{path}' has no numbers '{name}'.", hint="Use the official 3dshapes.h5.")
    pictures, labels = file["images"], np.asarray(file["labels"], np.float64)
    square = pictures.ndim == 4 and pictures.shape[1] == pictures.shape[2] and pictures.shape[3] == 3
    if not square or pictures.dtype != np.uint8 or not len(pictures):
        raise UserError(
            f"'{path}' holds images {pictures.shape} of {pictures.dtype}, not (people, 64, 64, 3) of uint8.",
            hint="Use the official 3dshapes.h5.",
        )
    if labels.shape != (len(pictures), len(COUNTS)):
        raise UserError(
            f"'{path}' holds labels {labels.shape} for {len(pictures):,} images, not six for each.",
            hint="Use the official 3dshapes.h5.",
        )
    if min(pictures.shape[1:3]) < size:
        raise UserError(
            f"'{path}' holds pictures of {pictures.shape[2]}×{pictures.shape[1]} pixels, fewer than the "
            f"working size {size}×{size}.",
            hint=f"Choose a size of at most {min(pictures.shape[1:3])}.",
        )
    return pictures, labels


def _factors(labels: NDArray[np.float64]) -> Integers:
    """The number of each factor's value, ``(people, 6)``, from the values themselves."""
    columns = (_nearest(labels[:, column], name, GRIDS[name]) for column, name in enumerate(FACTORS))
    return np.stack(list(columns), axis=1)


def _nearest(values: NDArray[np.float64], name: str, grids: list[NDArray[np.float64]]) -> Integers:
    """The number of each value on the first grid that holds them all."""
    for grid in grids:
        numbers = np.abs(values[:, None] - grid).argmin(1)
        wrong = np.flatnonzero(~np.isclose(values, grid[numbers], atol=1e-4))
        if not len(wrong):
            return np.asarray(numbers, np.int64)
    row = wrong[0]
    raise UserError(
        f"{FILE}, row {row}: '{name}' is {values[row]:g}, which is none of "
        f"{', '.join(f'{value:.4g}' for value in grids[0])}.",
        hint="Use the official 3dshapes.h5.",
    )


def _splits(root: Path, factors: Integers, seed: int) -> dict[str, Integers]:
    files = {name: root / f"custom_{name}_split.npy" for name in SPLITS}
    missing = [path.name for path in files.values() if not path.exists()]
    if not missing:
        return {name: _read_split(path, len(factors)) for name, path in files.items()}
    if len(missing) < len(SPLITS):
        raise UserError(
            f"Of the three custom split files {', '.join(missing)} is missing.",
            hint="Add it, or remove the others for a random split by scene.",
        )
    scene = combination(factors) // NUM_ORIENTATIONS
    return {name: np.flatnonzero(np.isin(scene, scenes)) for name, scenes in split_scenes(seed).items()}


def _read_split(path: Path, count: int) -> Integers:
    try:
        rows = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"'{path}' cannot be read ({error}).", hint="Save it with numpy.save.") from error
    if not isinstance(rows, np.ndarray):
        raise UserError(f"'{path}' holds several arrays.", hint="Save one with numpy.save.")
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < count):
        raise UserError(
            f"{path.name}: it does not hold rows of {FILE}, whole numbers from 0 to {count - 1:,}.",
            hint="Use the split file that belongs to this file.",
        )
    return np.asarray(rows, np.int64)
