"""A small 3dshapes.h5: the layout of the official file, with rendered scenes."""

from pathlib import Path

import h5py
import numpy as np

from lassi.data.factors import NUM_ORIENTATIONS, ORIENTATIONS, SCALES, factors_of
from lassi.data.shapes import render


def labels_of(factors: np.ndarray) -> np.ndarray:
    """The labels as the official file holds them."""
    hues = factors[:, :3] / 10
    return np.column_stack([hues, SCALES[factors[:, 3]], factors[:, 4], ORIENTATIONS[factors[:, 5]]])


def write_file(root: Path, labels: np.ndarray, images: np.ndarray) -> Path:
    with h5py.File(root / "3dshapes.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(10, 16, 16, 1), compression="gzip")
        file.create_dataset("labels", data=labels)
    return root


def factors_of_scenes(scenes: np.ndarray) -> np.ndarray:
    """The factors of all orientations of some scenes, one scene after the other."""
    return factors_of((scenes[:, None] * NUM_ORIENTATIONS + np.arange(NUM_ORIENTATIONS)).reshape(-1))


def write_scenes(root: Path, scenes: np.ndarray) -> Path:
    """A file with all orientations of some scenes, 64×64."""
    factors = factors_of_scenes(scenes)
    return write_file(root, labels_of(factors), render(factors, 64).transpose(0, 2, 3, 1))
