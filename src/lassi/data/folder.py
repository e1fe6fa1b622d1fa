"""Any folder of pictures with a CSV file of labels.

The CSV file is ``labels.csv``. Its column ``file`` names the pictures relative to the folder; ``split``,
if there is one, says train, valid or test (else it is 70:10:20 at random); every other column is an
attribute, whose values are numbered in their order.
"""

import math
from pathlib import Path

import numpy as np

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.data.annotation_files import labels_of, read_csv
from lassi.data.dataset import Attribute, Integers
from lassi.data.pictures import Annotations, PictureFiles, existing_folder

LABELS = "labels.csv"
SPLITS = ("train", "valid", "test")
MOST_VALUES = 200  # a column with more is no attribute: a name, a measurement


def open_folder(root: Path, size: int, *, seed: int = 0, workers: int | None = None) -> PictureFiles:
    """Read the labels of a folder of pictures; the pictures are read when asked for."""
    existing_folder(root, "folder")
    path = root / LABELS
    table = read_csv(path, ["file"])
    columns = {name: [row[name] for row in table] for name in table[0] if name not in ("file", "split")}
    attributes = {name: Attribute(name, _values(path, name, cells)) for name, cells in columns.items()}
    if not attributes:
        raise UserError(f"{LABELS}: there is no attribute beside 'file'.", hint="Add a column of labels.")
    annotations = Annotations(
        files=[row["file"] for row in table],
        rows=[f"row {number} of {LABELS}" for number in range(1, len(table) + 1)],
        attributes=attributes,
        labels={name: labels_of(path, attributes[name], name, columns[name]) for name in columns},
        splits=_split(path, table, seed),
    )
    return PictureFiles("folder", root, annotations, size, workers=workers)


def _values(path: Path, column: str, cells: list[str]) -> tuple[str, ...]:
    """The values of a column in their order: by number where all are numbers, else by name."""
    if "" in cells:
        raise UserError(
            f"{path.name}, row {cells.index('') + 1}: '{column}' is empty.",
            hint="Fill it, or take the row out.",
        )
    values = set(cells)
    if len(values) > MOST_VALUES:
        raise UserError(
            f"{path.name}: '{column}' has {len(values):,} different values, more than the {MOST_VALUES} "
            "that an attribute may have.",
            hint="Sort them into groups, or take the column out.",
        )
    try:
        numbers = {value: float(value) for value in values}
    except ValueError:
        return tuple(sorted(values))
    if not all(map(math.isfinite, numbers.values())):
        return tuple(sorted(values))
    return tuple(sorted(values, key=lambda value: (numbers[value], value)))


def _split(path: Path, table: list[dict[str, str]], seed: int) -> dict[str, Integers]:
    if "split" in table[0]:
        numbers = labels_of(path, Attribute("split", SPLITS), "split", (row["split"] for row in table))
        return {split: np.flatnonzero(numbers == number) for number, split in enumerate(SPLITS)}
    order = Stream(seed, "folder/split").numpy().permutation(len(table))
    parts = np.split(order, [int(0.7 * len(table)), int(0.8 * len(table))])
    return {split: np.sort(part) for split, part in zip(SPLITS, parts, strict=True)}
