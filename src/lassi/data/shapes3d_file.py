"""Opening ``3dshapes.h5``: what the file announces is checked before any of it is read."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lassi.base.errors import UserError
from lassi.base.outside import shown, shown_path
from lassi.data.factors import COUNTS, NUM_COMBINATIONS

FILE = "3dshapes.h5"
OFFICIAL = "Use the official 3dshapes.h5."
LARGEST_SIDE = 256  # pixels; the official pictures have 64
LARGEST_CHUNK = 2**26  # bytes, which HDF5 decompresses at once


def open_shapes(path: Path, size: int) -> tuple[Any, NDArray[np.float64]]:
    """The pictures, left on disk, and the labels ``(people, 6)``."""
    try:
        import h5py
    except ImportError:
        raise UserError(
            "Reading 3D Shapes needs the package h5py, which is not installed.",
            hint="Run: pip install 'lassi-fair[data]'",
        ) from None
    if not path.is_file():
        raise UserError(
            f"There is no file '{shown_path(path)}'.", hint=f"Put {FILE} there, or give its folder with --root."
        )
    try:
        file = h5py.File(path, "r")
        pictures, labels = (_array(h5py, file, name) for name in ("images", "labels"))
        _refuse_unfit(pictures, labels, size)
        return pictures, np.asarray(labels, np.float64)
    except UserError:
        raise
    except Exception as error:  # h5py raises almost any exception for a damaged file
        raise UserError(f"{FILE} cannot be read ({shown(error, 200)}).", hint="Download the file again.") from error


def _array(h5py: Any, file: Any, name: str) -> Any:
    """An array of numbers that is inside the file itself; HDF5 would also read it from any other file."""
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise UserError(f"{FILE} has no numeric array '{name}'.", hint=OFFICIAL)
    found = file.get(name)
    if not isinstance(found, h5py.Dataset) or found.dtype.kind not in "uif":
        raise UserError(f"{FILE} has no numeric array '{name}'.", hint=OFFICIAL)
    if found.external or found.is_virtual:
        raise UserError(f"{FILE} takes the array '{name}' from other files.", hint=OFFICIAL)
    if found.chunks and (chunk := math.prod(found.chunks) * found.dtype.itemsize) > LARGEST_CHUNK:
        raise UserError(
            f"{FILE} stores the array '{name}' in parts of {chunk:,} bytes, but at most {LARGEST_CHUNK:,} are read.",
            hint=OFFICIAL,
        )
    return found


def _refuse_unfit(pictures: Any, labels: Any, size: int) -> None:
    """Refuse arrays that do not have the shapes and types of 3D Shapes, as their headers announce them."""
    square = pictures.ndim == 4 and pictures.shape[1] == pictures.shape[2] <= LARGEST_SIDE and pictures.shape[3] == 3
    if not square or pictures.dtype != np.uint8 or not 1 <= len(pictures) <= NUM_COMBINATIONS:
        raise UserError(
            f"{FILE}: the images have shape {pictures.shape} and type {pictures.dtype}, but must be "
            f"(people, 64, 64, 3) and uint8, for at most {NUM_COMBINATIONS:,} people.",
            hint=OFFICIAL,
        )
    if labels.shape != (len(pictures), len(COUNTS)):
        raise UserError(
            f"{FILE}: the labels have shape {labels.shape}, but each of the {len(pictures):,} images needs six.",
            hint=OFFICIAL,
        )
    if (side := pictures.shape[1]) < size:
        raise UserError(
            f"{FILE}: the pictures have {side}×{side} pixels, which is smaller than the working size {size}×{size}.",
            hint=f"Choose a size of at most {side}.",
        )
